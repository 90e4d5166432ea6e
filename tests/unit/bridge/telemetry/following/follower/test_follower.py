"""One door for everything that is heard: bounded, tidy, and without secrets."""

from dataclasses import replace

import pytest

from bridge.telemetry.event_log.codec import encode_event
from bridge.telemetry.following import follower as following
from bridge.telemetry.schema.facts import MemberRevived, OperatorActed, RebalanceBegan, RebalanceEnded
from bridge.telemetry.schema.terms import Departure, OperatorAction, Outcome, Road
from tests.support.heard import Ears
from tests.support.owned_group import CLIENT, GROUP
from tests.support.passing_words import SECRET, beat, beaten, join, joined, leave, left, sync, synced
from translators.dialects.admin import ListGroups
from translators.dialects.classic import HeartbeatReply, JoinGroupReply, LeaveGroupReply, SyncGroupReply
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import NO_MEMBER_ID, GroupId, MemberId, RequestRef
from translators.dialects.offsets import OffsetCommit, OffsetCommitReply


def test_group_without_members_is_forgotten() -> None:
    """Nobody tells when a group that passes is deleted."""
    ears = Ears()
    ears.pass_by(join("a"), joined("a", 1, leader="a", members=("a",)))
    ears.pass_by(sync("a", 1, {"a": (0,)}), synced(0))
    assert list(ears.follower.groups) == ["g"]
    ears.pass_by(leave("a"), left("a"))
    assert ears.follower.groups == {}


@pytest.mark.parametrize("road", list(Road))
def test_requests_for_groups_that_are_nowhere_leave_nothing_behind(road: Road) -> None:
    """10,000 names of groups that only commit, or that a stranger made up, left no room for a group with members."""
    ears = Ears()
    commit = OffsetCommit(group_id=GROUP, generation=-1, member_id=NO_MEMBER_ID, instance_id=None, topics=())
    unknown = ErrorCode.UNKNOWN_MEMBER_ID
    for request, reply in (
        (commit, OffsetCommitReply(topics=())),
        (join("a"), JoinGroupReply(error=unknown, member_id=MemberId("a"))),
        (beat("a", 7), HeartbeatReply(error=unknown)),
        (leave("a"), LeaveGroupReply(error=unknown)),
        (sync("a", 1, {"a": (0,)}), SyncGroupReply(error=unknown)),
    ):
        ref = RequestRef(0, 1, 1)
        if ears.follower.asked(ref, CLIENT, request, road, 1):
            assert list(ears.follower.groups) == [GROUP]
            ears.follower.answered(ref, reply, 2)
        assert ears.follower.groups == {}, request
        if ears.follower.asked(ref, CLIENT, request, road, 3):
            ears.follower.lost(ref.connection, 4)
        assert ears.follower.groups == {}, request


def test_group_is_not_forgotten_while_a_request_waits_that_may_begin_it() -> None:
    """What its answer tells belongs to the group that the engine began meanwhile."""
    ears = Ears()
    first, second = RequestRef(0, 1, 1), RequestRef(0, 2, 2)
    ears.follower.asked(first, CLIENT, beat("a", 7), Road.EMBEDDED, 1)
    ears.follower.asked(second, CLIENT, beat("b", 7), Road.EMBEDDED, 1)
    (track,) = ears.follower.groups.values()
    ears.follower.answered(second, HeartbeatReply(error=ErrorCode.UNKNOWN_MEMBER_ID), 2)
    assert ears.follower.groups == {GROUP: track}
    ears.follower.answered(first, HeartbeatReply(error=ErrorCode.UNKNOWN_MEMBER_ID), 2)
    assert ears.follower.groups == {}


def test_groups_beyond_the_limit_are_counted_and_the_first_is_told(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """A named limit."""
    monkeypatch.setattr(following, "GROUPS_MAX", 0)
    ears = Ears()
    ears.pass_by(join("a"), joined("a", 1))
    ears.pass_by(join("b"), joined("b", 1))
    assert (ears.log.events, ears.follower.unfollowed) == ([], 2)
    assert [record.getMessage().partition(",")[0] for record in caplog.records] == [
        "EB-EVENTS-014: group 'g' is not in the event log"
    ]


def test_few_groups_with_long_names_are_followed_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """10,000 names of 32 kB were 320 MB, and each event has one; a group that is gone makes room."""
    monkeypatch.setattr(following, "LONG_NAMES_MAX", 2)
    ears, names = Ears(), [GroupId("x" * 32_000 + end) for end in "1234"]

    def came(group_id: GroupId) -> bool:
        ears.pass_by(replace(join("a"), group_id=group_id), joined("a", 1))
        return group_id in ears.follower.groups

    assert [came(name) for name in names[:3]] == [True, True, False]
    assert came(GroupId("short"))
    ears.pass_by(replace(leave("a"), group_id=names[0]), left("a"))
    assert [came(name) for name in names[2:]] == [True, False]


def test_connection_that_is_lost_takes_its_open_requests_with_it() -> None:
    """A join that is never answered holds no rebalance up."""
    ears = Ears()
    ears.ask(join("a"), connection=9)
    ears.follower.lost(9, 5)
    assert ears.follower.groups == {}


def test_requests_about_no_member_are_not_followed() -> None:
    """Views of admins, for one."""
    ears = Ears()
    assert not ears.follower.asked(RequestRef(0, 1, 1), CLIENT, ListGroups(), Road.PASSING, 0)


def test_member_that_was_there_before_is_met_at_its_first_heartbeat() -> None:
    """A restart of the bridge shows members of road `pass` so, and is no rebalance."""
    ears = Ears()
    ears.pass_by(beat("a", 7), beaten())
    ears.pass_by(beat("a", 7), beaten())
    assert ears.log.lines() == ["member-revived", "begins stable"]
    (revived,) = ears.log.of(MemberRevived)
    assert isinstance(revived, MemberRevived)
    assert (revived.generation, revived.group_epoch, revived.client_id) == (7, 7, CLIENT.client_id)


def test_rebalances_that_a_run_left_open_are_interrupted() -> None:
    """By the end of a run, or by its sudden end as the next one finds it."""
    ears = Ears()
    ears.pass_by(join("a"), joined("a", 1, leader="a", members=("a",)))
    ears.follower.stopped(5)
    after = Ears()
    after.follower.interrupted([RebalanceBegan(group_id="g", road=Road.PASSING, rebalance_id="old")], 1)
    ends = [fact for one in (ears, after) for fact in one.log.of(RebalanceEnded) if isinstance(fact, RebalanceEnded)]
    assert [fact.outcome for fact in ends] == [Outcome.INTERRUPTED] * 2
    assert ends[1].rebalance_id == "old"


def test_operators_order_is_told_before_what_comes_of_it() -> None:
    """With the members it names."""
    ears = Ears()
    ears.follower.ordered(GROUP, OperatorAction.REMOVE_MEMBERS, ["a"], 1)
    assert ears.log.of(OperatorActed) == [
        OperatorActed(group_id="g", action=OperatorAction.REMOVE_MEMBERS, members=("a",))
    ]


def test_reasons_for_leaving_that_nobody_asks_for_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """A farewell that the engine did not need leaves little behind."""
    monkeypatch.setattr(following, "DEPARTING_MAX", 2)
    ears = Ears()
    for number in range(5):
        ears.follower.departs(GroupId(f"g{number}"), join("a").member_id, Departure.LEFT, Road.EMBEDDED)
    assert len(ears.follower.engine.departing) <= 2


def test_no_payload_is_ever_written() -> None:
    """User data of subscriptions, metadata of members: none of it leaves the request."""
    ears = Ears()
    ears.pass_by(join("a"), joined("a", 1, leader="a", members=("a",)))
    ears.pass_by(sync("a", 1, {"a": (0,)}), synced(0))
    ears.pass_by(leave("a"), left("a"))
    written = b"".join(encode_event(event) for event in ears.log.events)
    assert SECRET not in written
    assert b"member-left" in written
