"""Classic groups that pass are followed from what their members send and are told."""

from collections.abc import Mapping
from dataclasses import replace

from bridge.telemetry.following.joins import TOLD_BYTES_MAX
from bridge.telemetry.schema.facts import (
    MemberJoined,
    MemberLeft,
    MemberTold,
    PartitionsAssigned,
    PartitionsReleased,
    RebalanceBegan,
    TargetComputed,
)
from bridge.telemetry.schema.terms import Departure, Road
from tests.support.heard import Ears, short
from tests.support.owned_group import CLIENT, GROUP
from tests.support.passing_words import beat, beaten, join, joined, leave, left, report, reported, sync, synced
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import MemberId


def _form(ears: Ears) -> None:
    """Two eager members, `a` leading, with t-0 and t-1."""
    first, second = ears.ask(join("a")), ears.ask(join("b"))
    ears.now_ms = 3_000
    ears.answer(first, joined("a", 1, leader="a", members=("a", "b")))
    ears.answer(second, joined("b", 1, leader="a"))
    first = ears.ask(sync("a", 1, {"a": (0,), "b": (1,)}))
    second = ears.ask(sync("b", 1))
    ears.answer(first, synced(0))
    ears.answer(second, synced(1))


def test_generation_is_one_rebalance_from_the_first_join_to_the_last_sync() -> None:
    """It begins when the first member came, though that is understood only when it is answered."""
    ears = Ears()
    ears.now_ms = 1_000
    _form(ears)
    assert ears.log.lines() == [
        "rebalance-began",
        "member-joined",
        "begins joining",
        "ends joining",
        "begins syncing",
        "member-joined",
        "begins joining",
        "ends joining",
        "begins syncing",
        "target-computed",
        "ends syncing",
        "told assign by SyncGroup",
        "partitions-assigned t-0",
        "begins fetching",
        "begins stable",
        "ends syncing",
        "told assign by SyncGroup",
        "partitions-assigned t-1",
        "begins fetching",
        "begins stable",
        "rebalance-ended completed",
        "rebalance-explained",
    ]
    assert [event.stamp.mono_us for event in ears.log.events[:5]] == [1_000_000] * 3 + [3_000_000] * 2


def test_member_that_is_called_gives_up_and_joins_again() -> None:
    """An eager member is told to give up everything by error 27, and has when it joins."""
    ears = Ears()
    _form(ears)
    del ears.log.events[:]
    ears.pass_by(beat("a", 1), beaten(ErrorCode.REBALANCE_IN_PROGRESS))
    ears.pass_by(beat("a", 1), beaten(ErrorCode.REBALANCE_IN_PROGRESS))
    again = ears.ask(join("a"))
    ears.answer(again, joined("a", 2, leader="a", members=("a",)))
    assert ears.log.lines("a") == [
        "told revoke by Heartbeat",
        "partitions-told t-0",
        "ends stable",
        "begins revoking",
        "member-rejoined",
        "ends revoking",
        "ends fetching",
        "partitions-released t-0",
        "begins joining",
        "ends joining",
        "begins syncing",
    ]


def test_follower_that_joins_again_at_once_is_given_the_same_again() -> None:
    """kafka-python does so before it tells its application: the broker answers with the generation that is."""
    ears = Ears()
    _form(ears)
    ears.pass_by(join("b"), joined("b", 1, leader="a"))
    ears.pass_by(sync("b", 1), synced(1))
    given = [one for one in ears.log.of(PartitionsAssigned) if isinstance(one, PartitionsAssigned)]
    assert [(one.member_id, one.is_again) for one in given] == [("a", False), ("b", False), ("b", True)]
    assert len(ears.log.of(RebalanceBegan)) == 1


def test_cooperative_member_gives_up_what_its_new_assignment_lacks() -> None:
    """KIP-429: what is missing from the answer to SyncGroup is to be given up, and is with the next JoinGroup."""
    ears = Ears()
    ears.pass_by(join("a", "cooperative-sticky"), joined("a", 1, leader="a", members=("a",)))
    ears.pass_by(sync("a", 1, {"a": (0, 1)}), synced(0, 1))
    ears.pass_by(join("a", "cooperative-sticky", owned=(0, 1)), joined("a", 2, leader="a", members=("a", "b")))
    ears.pass_by(sync("a", 2, {"a": (0,), "b": ()}), synced(0))
    del ears.log.events[:]
    ears.pass_by(join("a", "cooperative-sticky", owned=(0,)), joined("a", 3, leader="a", members=("a", "b")))
    assert ears.log.lines("a")[:4] == ["member-rejoined", "ends revoking", "partitions-released t-1", "begins joining"]


def _form_cooperative(ears: Ears) -> None:
    """Two cooperative members, `a` leading, with t-0 and t-1, that have fetched nothing yet."""
    word = "cooperative-sticky"
    first, second = ears.ask(join("a", word)), ears.ask(join("b", word))
    ears.answer(first, joined("a", 1, leader="a", members=("a", "b")))
    ears.answer(second, joined("b", 1, leader="a"))
    ears.pass_by(sync("a", 1, {"a": (0,), "b": (1,)}), synced(0))
    ears.pass_by(sync("b", 1), synced(1))
    del ears.log.events[:]


def _meet_again(ears: Ears, of_b: tuple[int, ...], shares: Mapping[str, tuple[int, ...]], generation: int = 2) -> None:
    """Both join again, `b` with what it says it has, and are given these shares."""
    word = "cooperative-sticky"
    second, first = ears.ask(join("b", word, owned=of_b)), ears.ask(join("a", word, owned=(0,)))
    ears.answer(first, joined("a", generation, leader="a", members=("a", "b")))
    ears.answer(second, joined("b", generation, leader="a"))
    ears.pass_by(sync("a", generation, shares), synced(*shares["a"]))
    ears.pass_by(sync("b", generation), synced(*shares["b"]))


def _of_partitions(ears: Ears) -> list[str]:
    facts = (PartitionsAssigned, PartitionsReleased)
    return [
        f"{fact.member_id} {short(fact)}" for kind in facts for fact in ears.log.of(kind) if isinstance(fact, facts)
    ]


def test_cooperative_member_that_never_heard_of_its_share_has_given_nothing_up() -> None:
    """kafka-python drops an answer to SyncGroup that comes when its `poll` is over, and joins again without what it was
    given. No callback tells its application of anything before it is given that in the next generation.
    """
    ears = Ears()
    _form_cooperative(ears)
    _meet_again(ears, (), {"a": (0,), "b": (1,)})
    assert _of_partitions(ears) == []
    assert ears.log.lines("b").count("told revoke by Heartbeat") == 0


def test_cooperative_member_that_never_heard_of_one_partition_more_has_given_nothing_up() -> None:
    """It goes on with those that it has had all along: what it fetches of them says nothing of the new one."""
    ears = Ears()
    _form_cooperative(ears)
    member = ears.follower.groups[GROUP].members[MemberId("b")]
    member.end_fetch(member.unfetched)
    member.commit()
    _meet_again(ears, (1,), {"a": (0,), "b": (1, 2)})
    _meet_again(ears, (1,), {"a": (0,), "b": (1, 2)}, generation=3)
    assert _of_partitions(ears) == ["b partitions-assigned t-2"]


def test_what_it_never_heard_of_is_free_where_another_one_gets_it() -> None:
    """Before that one has it."""
    ears = Ears()
    _form_cooperative(ears)
    _meet_again(ears, (), {"a": (0, 1), "b": ()})
    moves = [line for line in ears.log.lines() if line.startswith("partitions-")]
    assert moves == ["partitions-released t-1", "partitions-assigned t-1"]


def test_cooperative_member_that_had_begun_gives_up_what_it_leaves_out() -> None:
    """It committed: its application knows what it has. So does one that was told to give it up."""
    ears = Ears()
    _form_cooperative(ears)
    ears.follower.groups[GROUP].members[MemberId("b")].commit()
    _meet_again(ears, (), {"a": (0,), "b": (1,)})
    assert _of_partitions(ears) == ["b partitions-assigned t-1", "b partitions-released t-1"]


def test_members_whom_the_leader_does_not_find_were_dropped() -> None:
    """The broker tells nobody: who never heard of the rebalance was gone before it, who heard of it was too slow."""
    ears = Ears()
    _form(ears)
    ears.pass_by(beat("b", 1), beaten(ErrorCode.REBALANCE_IN_PROGRESS))
    ears.pass_by(join("c"), joined("c", 2, leader="c", members=("c",)))
    lefts = {one.member_id: one.departure for one in ears.log.of(MemberLeft) if isinstance(one, MemberLeft)}
    assert lefts == {"a": Departure.SESSION_EXPIRED, "b": Departure.REBALANCE_TIMED_OUT}


def test_static_member_that_comes_back_begins_no_rebalance() -> None:
    """KIP-345: it is answered with the generation that is."""
    ears = Ears()
    ears.pass_by(join("a", instance="seat"), joined("a", 1, leader="a", members=("a",)))
    ears.pass_by(sync("a", 1, {"a": (0,)}), synced(0))
    ears.pass_by(join("", instance="seat"), joined("a2", 1, leader="a2"))
    ears.pass_by(sync("a2", 1), synced(0))
    assert len(ears.log.of(RebalanceBegan)) == 1
    returned = ears.log.of(MemberJoined)[-1]
    assert isinstance(returned, MemberJoined)
    assert (returned.is_return, returned.former_id) == (True, "a")
    assert ears.log.lines("a")[-2:] == ["left replaced", "partitions-released t-0"]


def test_member_that_is_told_its_id_first_has_not_joined_yet() -> None:
    """KIP-394: error 79 is no membership."""
    ears = Ears()
    ears.pass_by(join(""), joined("a", -1, error=ErrorCode.MEMBER_ID_REQUIRED))
    assert ears.log.lines() == []
    assert ears.follower.groups == {}


def test_unknown_member_has_been_dropped_by_the_broker() -> None:
    """Error 25 to a member at rest: its session had run out."""
    ears = Ears()
    _form(ears)
    ears.pass_by(beat("a", 1), beaten(ErrorCode.UNKNOWN_MEMBER_ID))
    assert ears.log.lines("a")[-5:] == [
        "told fenced by Heartbeat",
        "ends stable",
        "ends fetching",
        "left session-expired",
        "partitions-released t-0",
    ]


def test_leave_says_who_went_and_why() -> None:
    """A refused entry is no departure; one by its seat alone is somebody else's doing."""
    ears = Ears()
    _form(ears)
    ears.pass_by(leave("a", reason="closing"), left("a", ErrorCode.UNKNOWN_MEMBER_ID))
    assert ears.log.of(MemberLeft) == []
    ears.pass_by(leave("a", reason="closing"), left("a"))
    (gone,) = ears.log.of(MemberLeft)
    assert isinstance(gone, MemberLeft)
    assert (gone.departure, gone.reason) == (Departure.LEFT, "closing")


def test_leaders_target_is_compared_with_the_one_before() -> None:
    """The leader's SyncGroup holds it."""
    ears = Ears()
    _form(ears)
    ears.pass_by(join("a"), joined("a", 2, leader="a", members=("a", "b")))
    ears.pass_by(sync("a", 2, {"a": (0, 1), "b": ()}), synced(0, 1))
    target = ears.log.of(TargetComputed)[-1]
    assert isinstance(target, TargetComputed)
    assert (target.moved, target.forced_minimum, target.partition_count) == (1, 0, 2)


def test_target_that_takes_long_to_read_is_not_told() -> None:
    """A leader may bring a megabyte, and who goes on in the generation is told all the same."""
    ears = Ears()
    ears.pass_by(join("a"), joined("a", 1, leader="a", members=("a",)))
    half = tuple(range(TOLD_BYTES_MAX // 8))
    ears.pass_by(sync("a", 1, {"a": half, "b": half}), synced(*half))
    assert not ears.log.of(TargetComputed)
    assert ears.log.lines("a")[-2:] == ["ends syncing", "begins stable"]


def test_assignment_that_is_none_of_the_consumer_protocol_tells_nothing() -> None:
    """Other protocols' bytes are nobody's business."""
    ears = Ears()
    ears.pass_by(join("a"), joined("a", 1, leader="a", members=("a",)))
    ears.pass_by(sync("a", 1), synced(blob=b"\xff\xff"))
    assert ears.log.lines("a")[-2:] == ["ends syncing", "begins stable"]


def test_member_that_joins_again_by_itself_begins_the_next_rebalance() -> None:
    """A cooperative member that has given up joins at once: the others are called because of it, later."""
    ears = Ears()
    _form(ears)
    again = ears.ask(join("a"))
    ears.now_ms += 500
    ears.pass_by(beat("b", 1), beaten(ErrorCode.REBALANCE_IN_PROGRESS))
    first, second = (event for event in ears.log.events if isinstance(event.fact, RebalanceBegan))
    assert (first.stamp.mono_us, second.stamp.mono_us) == (0, 3_000_000)
    assert ears.log.lines("a")[-2:] == ["partitions-released t-0", "begins joining"]
    ears.answer(again, joined("a", 2, leader="a", members=("a", "b")))
    assert len(ears.log.of(RebalanceBegan)) == 2


def test_classic_member_of_a_consumer_group_is_called_for_the_epoch_that_is() -> None:
    """Kafka's online migration: error 27 there is no new rebalance, and belongs to the last one."""
    ears = Ears()
    ears.pass_by(join("a"), joined("a", 1, leader="a"))
    ears.pass_by(sync("a", 1), synced(0))
    ears.pass_by(report("n", 0), reported(2, ()))
    ears.pass_by(join("a"), joined("a", 2, leader="a"))
    ears.pass_by(sync("a", 2), synced(0))
    assert ears.log.lines()[-2:] == ["rebalance-ended completed", "rebalance-explained"]
    ears.pass_by(beat("a", 2), beaten(ErrorCode.REBALANCE_IN_PROGRESS))
    assert len(ears.log.of(RebalanceBegan)) == 2
    told = ears.log.of(MemberTold)[-1]
    last = ears.log.of(RebalanceBegan)[-1]
    assert isinstance(told, MemberTold)
    assert isinstance(last, RebalanceBegan)
    assert told.rebalance_id == last.rebalance_id


def test_newcomer_that_the_leader_hears_of_is_in_before_its_own_answer() -> None:
    """Answers of one generation overtake each other; the leader may have assigned before the newcomer knows."""
    ears = Ears()
    _form(ears)
    del ears.log.events[:]
    newcomer = ears.ask(join("c"))
    again = ears.ask(join("a"))
    ears.answer(again, joined("a", 2, leader="a", members=("a", "c")))
    first = ears.ask(sync("a", 2, {"a": (0,), "c": (1,)}))
    ears.answer(first, synced(0))
    assert "member-joined" in ears.log.lines("c")
    assert not any(line.startswith("rebalance-ended") for line in ears.log.lines())
    ears.answer(newcomer, joined("c", 2, leader="a"))
    ears.pass_by(sync("c", 2), synced(1))
    assert "rebalance-ended completed" in ears.log.lines()


def test_generation_that_a_new_coordinator_hands_out_again_is_another_rebalance() -> None:
    """It has not heard of the one whose assignment never came; whoever it does not know has vanished."""
    ears = Ears()
    _form(ears)
    again = [ears.ask(join(name)) for name in ("a", "b", "c")]
    ears.answer_at(1, again[0], joined("a", 2, leader="a", members=("a", "b", "c")))
    ears.answer_at(1, again[1], joined("b", 2, leader="a"))
    ears.answer_at(1, again[2], joined("c", 2, leader="a"))
    del ears.log.events[:]
    ears.answer_at(2, ears.ask(join("a")), joined("a", 2, leader="a", members=("a", "b")))
    assert [line for line in ears.log.lines() if line.startswith(("rebalance", "coordinator"))] == [
        "coordinator-moved",
        "rebalance-ended superseded",
        "rebalance-explained",
        "rebalance-began",
    ]
    assert [fact.departure for fact in ears.log.of(MemberLeft) if isinstance(fact, MemberLeft)] == [Departure.VANISHED]


def test_member_that_a_new_coordinator_never_heard_of_has_vanished() -> None:
    """Its session did not run out: the assignment of its first generation never came, so nothing was written of it."""
    ears = Ears()
    _form(ears)
    again = [ears.ask(join(name)) for name in ("a", "c")]
    ears.answer_at(1, again[0], joined("a", 2, leader="a", members=("a", "c")))
    ears.answer_at(1, again[1], joined("c", 2, leader="a"))
    del ears.log.events[:]
    ears.answer_at(2, ears.ask(join("c")), replace(joined("c", 2), error=ErrorCode.UNKNOWN_MEMBER_ID))
    assert [fact.departure for fact in ears.log.of(MemberLeft) if isinstance(fact, MemberLeft)] == [Departure.VANISHED]


def test_member_that_another_client_lets_leave_was_removed() -> None:
    """Kafka's own tools name members by their ids; the reason is known whichever answer comes first."""
    ears = Ears()
    _form(ears)
    asked = ears.ask(leave("b"), client=replace(CLIENT, client_id="an-operators-tool"))
    ears.pass_by(beat("b", 1), beaten(ErrorCode.UNKNOWN_MEMBER_ID))
    ears.answer(asked, left("b"))
    assert [fact.departure for fact in ears.log.of(MemberLeft) if isinstance(fact, MemberLeft)] == [Departure.REMOVED]


def test_member_that_joins_by_an_old_id_after_a_restart_was_there_before() -> None:
    """The run before ended in the middle of a rebalance; only ids that were given since are those of newcomers."""
    ears = Ears()
    left_open = RebalanceBegan(group_id=GROUP, road=Road.PASSING, rebalance_id="g@then-1", group_epoch=1)
    ears.follower.interrupted([left_open], 0)
    asked = ears.ask(join(""))
    ears.answer(asked, joined("new", -1, error=ErrorCode.MEMBER_ID_REQUIRED))
    old, new = ears.ask(join("old")), ears.ask(join("new"))
    ears.answer(old, joined("old", 2, leader="old", members=("old", "new")))
    ears.answer(new, joined("new", 2, leader="old"))
    assert ears.log.lines("old")[0] == "member-revived"
    assert ears.log.lines("new")[0] == "member-joined"
