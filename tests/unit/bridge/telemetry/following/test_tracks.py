"""What is remembered of members says what they are."""

import pytest

from bridge.telemetry.following.joins import Inputs
from bridge.telemetry.following.tracks import WRITTEN_CHARS_MAX, WRITTEN_MAX, GroupTrack, MemberTrack, written
from bridge.telemetry.schema.terms import Protocol, Road
from tests.support.passing_words import named
from translators.dialects.ids import GroupId, MemberId


def test_what_a_request_claims_is_written_within_a_limit() -> None:
    """240,000 partitions of a topic whose name has 30 kB come in one JoinGroup, assignment or commit; told one by one
    they were 7 GB. Topics that there can't be have none.
    """
    claims = [*((("n" * 30_000), number) for number in range(1_000)), ("orders", 1), ("n" * 250, 1), ("n" * 249, 1)]
    assert written(claims) == (f"{'n' * 249}-1", "orders-1")
    for name in ("n" * 249, "t"):
        told = written([(name, number) for number in range(240_000)])
        assert told[0] == f"{name}-0"
        assert 10_000 < len(told) <= WRITTEN_MAX
        assert sum(map(len, told)) < WRITTEN_CHARS_MAX + 10 * len(told)


def test_partitions_are_written_in_order_of_their_numbers() -> None:
    """Ten comes after nine."""
    assert written(named(10, 9)) == ("t-9", "t-10")


@pytest.mark.parametrize(
    ("protocol", "assignors", "is_eager"),
    [
        (Protocol.CLASSIC, ("range",), True),
        (Protocol.CLASSIC, ("cooperative-sticky", "range"), True),
        (Protocol.CLASSIC, ("cooperative-sticky",), False),
        (Protocol.CONSUMER, (), False),
    ],
)
def test_only_cooperative_members_keep_their_partitions(
    protocol: Protocol, assignors: tuple[str, ...], is_eager: bool
) -> None:
    """One eager assignor among those offered makes a client eager (KIP-429)."""
    member = MemberTrack(member_id=MemberId("a"), protocol=protocol, inputs=Inputs(assignors=assignors))
    assert member.is_eager is is_eager


def test_where_a_member_speaks_from_is_no_change_of_what_it_wants() -> None:
    """Nor is what it owns."""
    inputs = Inputs(client_host="a", topics=("t",), owned=named(0))
    assert not inputs.differs_from(Inputs(client_host="b", topics=("t",)))
    assert inputs.differs_from(Inputs(client_host="a", topics=("u",)))


def test_group_without_a_rebalance_has_an_empty_id() -> None:
    """As facts say it."""
    assert GroupTrack(group_id=GroupId("g"), road=Road.PASSING).rebalance_id == ""


def test_member_that_was_given_back_counts_generations_again() -> None:
    """Else its next rebalance would be taken for one of a consumer group, and its take-over for a rebalance."""
    taken, native = (
        MemberTrack(member_id=MemberId(name), protocol=protocol)
        for name, protocol in (("a", Protocol.CLASSIC), ("n", Protocol.CONSUMER))
    )
    members = {one.member_id: one for one in (taken, native)}
    group = GroupTrack(group_id=GroupId("g"), road=Road.PASSING, epoch=3, members=members, natives={MemberId("n")})
    group.settle(Road.UPSTREAM, {MemberId("a"): 4})
    assert (group.road, group.epoch, group.natives) == (Road.UPSTREAM, 4, {"a", "n"})
    assert (taken.member_epoch, taken.reached) == (4, 4)
    group.settle(Road.PASSING, {})
    assert (group.road, group.epoch, group.natives) == (Road.PASSING, 4, {"n"})
