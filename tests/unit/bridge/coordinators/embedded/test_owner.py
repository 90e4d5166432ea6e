"""What is asked of the engine alone."""

from bridge.engine.outcome import GroupEmptied
from tests.support.owned_group import GROUP, ConsumerClient, OwnedGroup
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import GroupId


def test_only_an_empty_group_is_deleted() -> None:
    """NON_EMPTY_GROUP while somebody is in it, GROUP_ID_NOT_FOUND if there never was one (K6.7)."""
    group = OwnedGroup()
    native = ConsumerClient(group, "n")
    native.beat()
    assert group.owner.delete_group(GROUP, group.now_ms) is ErrorCode.NON_EMPTY_GROUP
    native.beat(-1)
    assert group.owner.delete_group(GROUP, group.now_ms) is ErrorCode.NONE
    assert group.owner.delete_group(GroupId("never"), group.now_ms) is ErrorCode.GROUP_ID_NOT_FOUND


def test_notices_are_told_once() -> None:
    """Whoever takes them tells people."""
    group = OwnedGroup()
    native = ConsumerClient(group, "n")
    native.beat()
    native.beat(-1)
    assert GroupEmptied(GROUP) in group.owner.take_notices()
    assert group.owner.take_notices() == ()
    assert group.owner.take_verdicts() == ()
