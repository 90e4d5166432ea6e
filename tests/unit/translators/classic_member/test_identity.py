"""The decision tables for member ids and instance ids (K1.44, K4.5-4.9, K4.20, K4.40)."""

import pytest

from tests.support.classic_members import INSTANCE, MEMBER, NOBODY
from translators.classic_member.identity import (
    JoinIdentity,
    Known,
    Newcomer,
    Successor,
    identify_join,
    identify_leaver,
    identify_request,
)
from translators.dialects.errors import ErrorCode, Refusal
from translators.dialects.ids import InstanceId, MemberId

OTHER = MemberId("member-2")
NO_SEAT = Refusal(ErrorCode.UNKNOWN_MEMBER_ID, "instance id 'seat-1' has no member")
TAKEN = Refusal(ErrorCode.FENCED_INSTANCE_ID, "instance id 'seat-1' belongs to member 'member-2', not 'member-1'")


@pytest.mark.parametrize(
    ("member_id", "instance_id", "holder", "identity"),
    [
        (NOBODY, None, None, Newcomer()),
        (MEMBER, None, None, Known(MEMBER)),
        (NOBODY, INSTANCE, None, Newcomer()),
        (NOBODY, INSTANCE, OTHER, Successor(OTHER)),
        (MEMBER, INSTANCE, None, NO_SEAT),
        (MEMBER, INSTANCE, MEMBER, Known(MEMBER)),
        (MEMBER, INSTANCE, OTHER, TAKEN),
    ],
)
def test_join_concerns(
    member_id: MemberId, instance_id: InstanceId | None, holder: MemberId | None, identity: JoinIdentity
) -> None:
    """Row by row of K1.44, with K4.7 for ids that nobody has."""
    assert identify_join(member_id, instance_id, holder) == identity


@pytest.mark.parametrize(
    ("member_id", "instance_id", "holder", "identity"),
    [
        (MEMBER, None, None, MEMBER),
        (MEMBER, INSTANCE, MEMBER, MEMBER),
        (MEMBER, INSTANCE, None, NO_SEAT),
        (MEMBER, INSTANCE, OTHER, TAKEN),
    ],
)
def test_request_concerns(
    member_id: MemberId, instance_id: InstanceId | None, holder: MemberId | None, identity: MemberId | Refusal
) -> None:
    """A wrong instance id is refused before anything else (K1.24)."""
    assert identify_request(member_id, instance_id, holder) == identity
    assert identify_leaver(member_id, instance_id, holder) == identity


def test_leaver_may_be_named_by_its_seat() -> None:
    """An admin removes a static member by instance id alone (K1.59)."""
    assert identify_leaver(NOBODY, INSTANCE, OTHER) == OTHER
    assert identify_leaver(NOBODY, INSTANCE, None) == NO_SEAT
