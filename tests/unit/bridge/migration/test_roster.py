"""What members that pass through say of themselves: by group, by connection, within bounds."""

from dataclasses import replace

import pytest

from bridge.migration.roster import JOINING_BYTES_MAX, JOINING_PER_CONNECTION_MAX, Roster, Spoken
from tests.support.owned_group import CLIENT, GROUP
from translators.dialects.classic import Heartbeat, JoinGroup, LeaveGroup, LeavingMember, Protocol, SyncGroup
from translators.dialects.ids import NO_MEMBER_ID, GroupId, MemberId, Via

HERE = Via(0, 1)
THERE = Via(0, 2)
ONE = MemberId("one")
TWO = MemberId("two")


def join(member_id: MemberId, group_id: GroupId = GROUP, blob: bytes = b"said") -> JoinGroup:
    """A JoinGroup with one protocol."""
    return JoinGroup(
        group_id=group_id,
        member_id=member_id,
        instance_id=None,
        protocol_type="consumer",
        protocols=(Protocol("range", blob),),
        session_timeout_ms=10_000,
        rebalance_timeout_ms=60_000,
    )


def sync(member_id: MemberId, generation: int = 3, group_id: GroupId = GROUP) -> SyncGroup:
    """A SyncGroup without assignments."""
    return SyncGroup(group_id=group_id, generation=generation, member_id=member_id, instance_id=None)


def enter(roster: Roster, via: Via, said: JoinGroup, member_id: MemberId, generation: int = 3) -> None:
    """A member joins and syncs."""
    roster.joins(via, CLIENT, said)
    roster.syncs(via, CLIENT, sync(member_id, generation, said.group_id))


@pytest.mark.parametrize("joined_as", [NO_MEMBER_ID, ONE])
def test_member_is_who_syncs_on_the_connection_of_its_join(joined_as: MemberId) -> None:
    """Also one that does not know its id when it joins."""
    roster = Roster()
    roster.joins(HERE, CLIENT, join(joined_as))
    assert roster.members_of(GROUP) == {}
    roster.syncs(HERE, CLIENT, sync(ONE))
    assert roster.members_of(GROUP) == {ONE: Spoken(join(joined_as), CLIENT, HERE, 3)}


def test_member_between_its_join_and_its_sync_is_told_from_others() -> None:
    """Of another group, another member and a lost connection nothing is on its way."""
    roster = Roster()
    enter(roster, HERE, join(ONE), ONE)
    assert not roster.is_joining(ONE, GROUP)
    roster.joins(HERE, CLIENT, join(ONE))
    assert roster.is_joining(ONE, GROUP)
    assert not roster.is_joining(TWO, GROUP)
    assert not roster.is_joining(ONE, GroupId("other"))
    roster.disconnected(HERE)
    assert not roster.is_joining(ONE, GROUP)


def test_sync_without_its_join_says_nothing() -> None:
    """Of another connection, of another member, of another group, or for the second time."""
    roster = Roster()
    roster.joins(HERE, CLIENT, join(ONE))
    roster.syncs(THERE, CLIENT, sync(ONE))
    roster.syncs(HERE, CLIENT, sync(TWO))
    roster.syncs(HERE, CLIENT, sync(ONE, group_id=GroupId("other")))
    assert roster.members_of(GROUP) == {}
    roster.syncs(HERE, CLIENT, sync(ONE))
    roster.syncs(HERE, CLIENT, sync(ONE, generation=4))
    assert roster.members_of(GROUP)[ONE].generation == 3


def test_last_join_counts() -> None:
    """A member that joins again says it all anew."""
    roster = Roster()
    enter(roster, HERE, join(ONE, blob=b"old"), ONE)
    enter(roster, THERE, join(ONE, blob=b"new"), ONE, 4)
    assert roster.members_of(GROUP) == {ONE: Spoken(join(ONE, blob=b"new"), CLIENT, THERE, 4)}


def test_members_of_several_groups_share_a_connection() -> None:
    """As sarama's do: their joins and syncs are mixed."""
    roster, other = Roster(), GroupId("other")
    roster.joins(HERE, CLIENT, join(ONE))
    roster.joins(HERE, CLIENT, join(TWO, other))
    roster.syncs(HERE, CLIENT, sync(ONE))
    roster.syncs(HERE, CLIENT, sync(TWO, group_id=other))
    assert set(roster.members_of(GROUP)) == {ONE}
    assert set(roster.members_of(other)) == {TWO}


def test_one_connection_joins_a_bounded_number_of_groups() -> None:
    """The first one is forgotten, and its SyncGroup then says nothing."""
    roster = Roster()
    names = [GroupId(f"g-{number}") for number in range(JOINING_PER_CONNECTION_MAX + 1)]
    for name in names:
        roster.joins(HERE, CLIENT, join(ONE, name))
    for name in names:
        roster.syncs(HERE, CLIENT, sync(ONE, group_id=name))
    assert [name for name in names if roster.members_of(name)] == names[1:]


def test_connection_that_is_gone_syncs_nothing() -> None:
    """Its members stay: they come by another."""
    roster = Roster()
    enter(roster, HERE, join(ONE), ONE)
    roster.joins(HERE, CLIENT, join(TWO))
    roster.disconnected(HERE)
    roster.disconnected(THERE)
    roster.syncs(HERE, CLIENT, sync(TWO))
    assert set(roster.members_of(GROUP)) == {ONE}


def test_member_that_leaves_is_forgotten() -> None:
    """And its group with its last one; a stranger's farewell says nothing."""
    roster = Roster()
    enter(roster, HERE, join(ONE), ONE)
    enter(roster, HERE, join(TWO), TWO)
    roster.leaves(GROUP, ONE)
    roster.leaves(GROUP, MemberId("stranger"))
    assert set(roster.members_of(GROUP)) == {TWO}
    roster.leaves(GROUP, TWO)
    assert roster.members_of(GROUP) == {}


def test_members_heard_of_longest_ago_make_room() -> None:
    """Whoever joins again is heard of again; the newest stays, whatever it takes."""
    roster = Roster(bytes_max=2_000)
    for name in ("a", "b", "c"):
        enter(roster, HERE, join(MemberId(name)), MemberId(name))
    enter(roster, HERE, join(MemberId("a")), MemberId("a"))
    enter(roster, HERE, join(MemberId("d"), blob=bytes(900)), MemberId("d"))
    assert set(roster.members_of(GROUP)) == {"a", "d"}
    enter(roster, HERE, join(MemberId("e"), blob=bytes(5_000)), MemberId("e"))
    assert set(roster.members_of(GROUP)) == {"e"}
    roster.leaves(GROUP, MemberId("e"))
    for name in ("a", "b", "c"):
        enter(roster, HERE, join(MemberId(name)), MemberId(name))
    assert set(roster.members_of(GROUP)) == {"a", "b", "c"}


def test_newcomer_has_no_id_or_was_given_it_on_its_connection() -> None:
    """Whoever has an id otherwise is a member from before, also if nobody heard it join."""
    roster = Roster()
    assert roster.is_newcomer(HERE, GROUP, NO_MEMBER_ID)
    assert not roster.is_newcomer(HERE, GROUP, ONE)
    roster.hears(HERE, CLIENT, join(NO_MEMBER_ID))
    assert roster.is_newcomer(HERE, GROUP, ONE)
    assert not roster.is_newcomer(THERE, GROUP, ONE)
    roster.hears(HERE, CLIENT, join(ONE))
    assert not roster.is_newcomer(HERE, GROUP, ONE)


def test_what_says_nothing_of_members_is_not_kept() -> None:
    """Other kinds of groups, and everything that is neither JoinGroup nor SyncGroup nor LeaveGroup."""
    roster = Roster()
    roster.hears(HERE, CLIENT, replace(join(ONE), protocol_type="connect"))
    roster.hears(HERE, CLIENT, sync(ONE))
    assert roster.members_of(GROUP) == {}
    for said in (join(ONE), sync(ONE), Heartbeat(GROUP, 3, ONE, None)):
        roster.hears(HERE, CLIENT, said)
    assert roster.members_of(GROUP).keys() == {ONE}
    roster.hears(HERE, CLIENT, LeaveGroup(group_id=GROUP, members=(LeavingMember(member_id=ONE),)))
    assert roster.members_of(GROUP) == {}


def test_names_count_as_well() -> None:
    """A client may give itself, its group and its member 32 kB each, and need be let in nowhere."""
    roster, name = Roster(bytes_max=1_000_000), "n" * 30_000
    for number in range(100):
        member_id = MemberId(f"{name}{number}")
        enter(roster, HERE, join(member_id, GroupId(name)), member_id)
    assert len(roster.members_of(GroupId(name))) < 20


def test_joins_that_nobody_syncs_take_a_bounded_room() -> None:
    """16 of a megabyte on each of 10,000 connections were 160 GB; the oldest make room, of whichever connection."""
    roster, blob = Roster(), bytes(1_000_000)
    most = JOINING_BYTES_MAX // len(blob)
    vias = [Via(0, number) for number in range(most + 10)]
    for via in vias:
        roster.joins(via, CLIENT, join(ONE, blob=blob))
    roster.disconnected(vias[-1])
    for number, via in enumerate(vias):
        roster.syncs(via, CLIENT, sync(ONE, generation=number))
        assert (ONE in roster.members_of(GROUP)) is (number >= 10)
    assert roster.members_of(GROUP)[ONE].generation == most + 8
    assert roster._joining_bytes == 0
