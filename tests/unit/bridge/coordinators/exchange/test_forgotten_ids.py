"""Who may have forgotten its id."""

from bridge.coordinators.exchange import FORGETTING_MAX_MS, ForgottenIds
from tests.support.owned_group import CLIENT, GROUP
from translators.dialects.ids import ClientIdentity, GroupId, MemberId, MemberRef

A, B = MemberRef(GROUP, MemberId("a")), MemberRef(GROUP, MemberId("b"))
OTHER = ClientIdentity(client_id="other", client_host="/127.0.0.1")


def test_newcomer_is_known_by_connection_or_by_client_and_host() -> None:
    """The connection is the better sign; each suspect is given once."""
    ghosts = ForgottenIds()
    ghosts.note(A, 1, CLIENT, 0)
    ghosts.note(B, 2, CLIENT, 0)
    assert ghosts.take(GROUP, 2, OTHER, 0) == B
    assert ghosts.take(GroupId("else"), 1, CLIENT, 0) is None
    assert ghosts.take(GROUP, 9, OTHER, 0) is None
    assert ghosts.take(GROUP, 9, CLIENT, 0) == A
    assert ghosts.take(GROUP, 9, CLIENT, 0) is None


def test_suspicion_is_short_and_ends_with_the_members_own_word() -> None:
    """A client that forgets joins again at once."""
    ghosts = ForgottenIds()
    ghosts.note(A, 1, CLIENT, 0)
    assert ghosts.take(GROUP, 1, CLIENT, FORGETTING_MAX_MS + 1) is None
    ghosts.note(B, 1, CLIENT, 0)
    ghosts.forget(B)
    assert ghosts.take(GROUP, 1, CLIENT, 0) is None


def test_suspects_are_bounded() -> None:
    """The oldest is dropped."""
    ghosts = ForgottenIds(remembered_max=1)
    ghosts.note(A, 1, CLIENT, 0)
    ghosts.note(B, 2, CLIENT, 0)
    assert ghosts.take(GROUP, 1, OTHER, 0) is None
    assert ghosts.take(GROUP, 2, OTHER, 0) == B
