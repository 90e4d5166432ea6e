"""Tests of who is admitted, fenced or refused, and what a heartbeat changes about a member."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from bridge.engine.commands import MemberHeartbeat, ResolveRegularExpression, Speaks
from bridge.engine.consumer.membership import is_full_request, merge_subscription
from bridge.engine.model import FIRST_GROUP_EPOCH, Subscription
from bridge.engine.outcome import MemberRemoved, RemovalCause
from bridge.engine.settings import EngineSettings
from tests.support.engine_bench import (
    BAR,
    FOO,
    GROUP,
    IDENTITY,
    Bench,
    beat_request,
    join_request,
    parts,
    static_join_request,
    topic_id,
)
from translators.dialects.consumer import ConsumerGroupHeartbeat
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import STATIC_LEAVE_EPOCH, InstanceId, MemberId, TopicName

NO_DELAY = EngineSettings(group_initial_rebalance_delay_ms=0)
SEAT = InstanceId("seat")


def test_first_subscribed_member_gets_epoch_two() -> None:
    """A group starts at epoch 1 (K11.4 on 2.15)."""
    reply = Bench().join("a").reply
    assert (reply.member_epoch, reply.assignment, reply.heartbeat_interval_ms) == (2, parts(*range(6)), 5_000)


def test_member_without_topics_joins_at_epoch_one() -> None:
    """An empty list moves no epoch (K11.4 on 2.6)."""
    reply = Bench().ask(replace(join_request("a"), subscribed_topic_names=())).reply
    assert (reply.error, reply.member_epoch, reply.assignment) == (ErrorCode.NONE, 1, frozenset())


def test_blank_member_id_of_version_zero_gets_the_fresh_one() -> None:
    """Before KIP-1082 the coordinator named its members (K2.6)."""
    reply = Bench().ask(replace(join_request(""), has_client_id=False)).reply
    assert (reply.error, reply.member_id) == (ErrorCode.NONE, "new-1")


def test_unknown_group_or_member_with_an_epoch_is_told_so() -> None:
    """UNKNOWN_MEMBER_ID for both (K2.17): GROUP_ID_NOT_FOUND, as Kafka has it (K2.15), ends a client that lives on.

    Who leaves is told that.
    """
    bench = Bench()
    seen = [bench.code(beat_request("a", 4))]
    bench.join("b")
    seen.append(bench.code(beat_request("a", 4)))
    lost = Bench(no_assignment_before_ms=3_000)
    seen.append(lost.code(beat_request("a", 4)))
    unknown = ErrorCode.UNKNOWN_MEMBER_ID
    assert seen == [unknown, unknown, unknown]
    assert lost.code(beat_request("a", -1)) is ErrorCode.GROUP_ID_NOT_FOUND


def test_full_group_refuses_newcomers_only() -> None:
    """Whatever their epoch (K2.16); unlike in Kafka a seat may change hands, as the group does not grow by it."""
    bench = Bench(settings=replace(NO_DELAY, group_consumer_max_size=1))
    bench.ask(static_join_request("a", "seat"))
    assert bench.code(join_request("b")) is ErrorCode.GROUP_MAX_SIZE_REACHED
    assert bench.code(beat_request("b", 1)) is ErrorCode.GROUP_MAX_SIZE_REACHED
    assert bench.code(static_join_request("", "seat"), Speaks.CLASSIC) is ErrorCode.NONE
    assert len(bench.group.members) == 1


def test_full_group_says_so_to_whoever_does_not_get_the_seat_it_names() -> None:
    """As Kafka, which looks at the id first (K2.16; seeds 9900303 and 9900325); with room they are told of the seat."""
    told = []
    for most in (1, 2):
        bench = Bench(settings=replace(NO_DELAY, group_consumer_max_size=most))
        bench.ask(static_join_request("a", "seat"))
        wrong = replace(beat_request("b", 1), instance_id=InstanceId("seat"))
        told.append([bench.code(static_join_request("b", "seat")), bench.code(wrong)])
        bench.ask(replace(beat_request("a", STATIC_LEAVE_EPOCH), instance_id=InstanceId("seat")))
        assert bench.code(static_join_request("b", "seat")) is ErrorCode.NONE
    assert told == [
        [ErrorCode.GROUP_MAX_SIZE_REACHED] * 2,
        [ErrorCode.UNRELEASED_INSTANCE_ID, ErrorCode.FENCED_INSTANCE_ID],
    ]


def test_epoch_ahead_or_behind_is_fenced() -> None:
    """Without a word on what it owns a member can't have missed an answer (K2.18)."""
    bench = Bench()
    bench.join("a")
    assert [bench.code(beat_request("a", epoch)) for epoch in (1, 2, 3)] == [
        ErrorCode.FENCED_MEMBER_EPOCH,
        ErrorCode.NONE,
        ErrorCode.FENCED_MEMBER_EPOCH,
    ]


def test_previous_epoch_passes_with_owned_partitions_assigned() -> None:
    """The answer that moved it was lost (K2.18)."""
    bench = Bench()
    bench.join("a")
    bench.join("b")
    bench.beat("a")
    kept = bench.assigned("a")
    bench.beat("a", kept)
    assert bench.current("a").epoch == 3
    retries = [beat_request("a", 2, kept), beat_request("a", 2, parts(*range(6))), beat_request("a", 2)]
    fenced = ErrorCode.FENCED_MEMBER_EPOCH
    assert [bench.code(retry) for retry in retries] == [ErrorCode.NONE, fenced, fenced]


def test_previous_epoch_with_a_topic_of_which_nothing_is_assigned_is_fenced() -> None:
    """Also where no partition of it is named (4.3.1, K2.18)."""
    bench = Bench()
    bench.join("a")
    bench.join("b")
    bench.beat("a")
    bench.beat("a", bench.assigned("a"))
    assert bench.current("a").epoch == 3
    retries = [replace(beat_request("a", 2, parts()), bare_topics=frozenset({topic_id(name)})) for name in (FOO, BAR)]
    assert [bench.code(retry) for retry in retries] == [ErrorCode.NONE, ErrorCode.FENCED_MEMBER_EPOCH]


def test_member_that_begins_anew_under_a_new_instance_id_keeps_its_share() -> None:
    """Also where it is behind its target; Kafka, which looks that up by the seat, gives it nothing (K2.20, K2.33)."""
    bench = Bench()
    bench.join("a")
    bench.join("b")
    assert bench.current("a").epoch < bench.group.assignment_epoch
    reply = bench.ask(static_join_request("a", "seat")).reply
    assert (reply.error, reply.member_epoch) == (ErrorCode.NONE, bench.group.assignment_epoch)
    assert reply.assignment == bench.target("a")
    assert len(bench.target("a")) == 3


def test_known_member_joining_again_keeps_its_epoch() -> None:
    """Epoch 0 of somebody known is a join that got lost, and fences nobody (K11.4 on 2.19)."""
    bench = Bench()
    bench.join("a")
    reply = bench.join("a").reply
    assert (reply.error, reply.member_epoch, reply.assignment) == (ErrorCode.NONE, 2, parts(*range(6)))


def test_absent_fields_keep_their_values() -> None:
    """A heartbeat names what has changed only (K2.22)."""
    bench = Bench()
    bench.ask(replace(join_request("a"), rack_id="r1", server_assignor="range"))
    bench.beat("a")
    kept = bench.member("a").subscription
    seen = (kept.rack_id, kept.assignor, kept.names, kept.rebalance_timeout_ms)
    assert seen == (
        "r1",
        "range",
        frozenset({FOO}),
        60_000,
    )


def test_change_of_rack_or_timeout_moves_no_epoch() -> None:
    """Only what is subscribed to does (K2.23)."""
    bench = Bench()
    bench.join("a")
    bench.ask(replace(beat_request("a", 2), rack_id="r2", rebalance_timeout_ms=5))
    assert (bench.group.epoch, bench.member("a").subscription.rack_id) == (2, "r2")


def test_change_of_topics_moves_the_epoch_and_takes_the_old_at_once() -> None:
    """Another subscription is another target (K2.23), and what is no longer read is gone at once (K11.4 on 2.36)."""
    bench = Bench()
    bench.join("a")
    reply = bench.ask(replace(beat_request("a", 2), subscribed_topic_names=(BAR,))).reply
    assert (bench.group.epoch, reply.assignment) == (3, frozenset())
    assert bench.beat("a", frozenset()).reply.assignment == parts(0, 1, 2, of="bar")


def test_static_member_back_after_minus_two_has_its_seat_without_an_epoch() -> None:
    """Epoch -2 keeps a seat for its instance (K2.13), and whoever comes back for it has all of it at once (K2.30)."""
    bench = Bench()
    bench.ask(static_join_request("a", "seat"))
    bench.ask(replace(beat_request("a", STATIC_LEAVE_EPOCH), instance_id=SEAT))
    reply = bench.ask(static_join_request("b", "seat")).reply
    assert (reply.member_epoch, reply.assignment) == (2, parts(*range(6)))
    assert bench.outcome.notices == (
        MemberRemoved(
            group_id=GROUP,
            member_id=MemberId("a"),
            instance_id=SEAT,
            cause=RemovalCause.REPLACED,
            client_id="client",
            member_epoch=STATIC_LEAVE_EPOCH,
        ),
    )


def test_seat_in_use_by_a_native_member_is_unreleased_to_another() -> None:
    """Its holder lives and did not leave with epoch -2 (K2.20)."""
    bench = Bench()
    bench.ask(static_join_request("a", "seat"))
    assert bench.code(static_join_request("b", "seat")) is ErrorCode.UNRELEASED_INSTANCE_ID


def test_seat_is_taken_at_once_where_a_classic_member_is_on_either_side() -> None:
    """The old member is told 82 from then on (K2.20, K4.8)."""
    bench = Bench(settings=NO_DELAY)
    bench.ask(static_join_request("a", "seat"))
    taken = bench.ask(static_join_request("", "seat"), Speaks.CLASSIC).reply
    assert (taken.error, taken.member_epoch, taken.assignment) == (ErrorCode.NONE, 2, parts(*range(6)))
    old = replace(beat_request("a", 2), instance_id=SEAT)
    assert bench.code(old) is ErrorCode.FENCED_INSTANCE_ID
    assert bench.code(static_join_request("c", "seat")) is ErrorCode.NONE


def test_classic_joiner_that_names_an_id_is_held_to_it() -> None:
    """Unknown instance 25, held by another id 82; the id just issued is as good as none (K4.9)."""
    bench = Bench(settings=NO_DELAY)
    assert bench.code(static_join_request("a", "seat"), Speaks.CLASSIC) is ErrorCode.UNKNOWN_MEMBER_ID
    bench.ask(static_join_request("a", "seat"))
    assert bench.code(static_join_request("b", "seat"), Speaks.CLASSIC) is ErrorCode.FENCED_INSTANCE_ID
    issued = MemberHeartbeat(
        ref=bench.ref(),
        request=static_join_request("b", "seat"),
        identity=IDENTITY,
        speaks=Speaks.CLASSIC,
        fresh_id=MemberId("b"),
    )
    assert bench.answers(bench.tell(issued))[issued.ref].reply.error is ErrorCode.NONE


def test_static_heartbeat_with_unknown_instance_or_foreign_id_is_refused() -> None:
    """UNKNOWN_MEMBER_ID for an instance without a seat, FENCED_INSTANCE_ID for another's (K2.21)."""
    bench = Bench()
    bench.ask(static_join_request("a", "seat"))
    foreign = replace(beat_request("b", 2), instance_id=SEAT)
    unknown = replace(beat_request("a", 2), instance_id=InstanceId("other"))
    assert [bench.code(request) for request in (foreign, unknown)] == [
        ErrorCode.FENCED_INSTANCE_ID,
        ErrorCode.UNKNOWN_MEMBER_ID,
    ]


def test_refused_members_are_told_in_kafkas_words() -> None:
    """As 4.3.1 does, with numbers and names: whoever looks for the text finds what is known of it."""
    bench = Bench()
    bench.ask(static_join_request("a", "seat"))
    foreign = replace(beat_request("b", 2), instance_id=SEAT)
    asked = (
        static_join_request("b", "seat"),
        foreign,
        beat_request("a", 9),
        beat_request("a", 1),
        beat_request("x", 1),
    )
    must_go = "than the one known by the group coordinator (2). The member must abandon all its partitions and rejoin."
    assert [bench.ask(one).reply.error_message for one in asked] == [
        "Static member b with instance id seat cannot join the group because the instance id is owned by a member.",
        "Static member b with instance id seat was fenced by member a.",
        f"The consumer group member has a greater member epoch (9) {must_go}",
        f"The consumer group member has a smaller member epoch (1) {must_go}",
        "Member x is not a member of group orders.",
    ]


def test_member_that_takes_a_second_seat_frees_the_first_member_s_share() -> None:
    """It has a share of its own; what the other held is given out anew."""
    bench = Bench(settings=NO_DELAY)
    bench.join("a")
    bench.ask(static_join_request("", "seat"), Speaks.CLASSIC)
    bench.ask(static_join_request("a", "seat"))
    assert (list(bench.group.members), bench.target("a")) == (["a"], parts(*range(6)))


def test_pattern_known_to_be_bad_is_refused() -> None:
    """128, and nobody joins (K11.4 on 2.4)."""
    bench = Bench()
    bench.tell(ResolveRegularExpression("(", frozenset(), "missing )"))
    bad = replace(join_request("a"), subscribed_topic_names=None, subscribed_topic_regex="(")
    assert bench.code(bad) is ErrorCode.INVALID_REGULAR_EXPRESSION
    assert bench.state.groups == {}


def test_empty_pattern_clears_it() -> None:
    """An empty one takes the subscription by pattern back (K11.4 on 2.4)."""
    bench = Bench()
    bench.tell(ResolveRegularExpression("b.*", frozenset({BAR})))
    bench.ask(replace(join_request("a"), subscribed_topic_regex="b.*"))
    assert bench.target("a") == parts(*range(6)) | parts(0, 1, 2, of="bar")
    bench.ask(replace(beat_request("a", 3), subscribed_topic_regex=""))
    assert (bench.member("a").subscription.pattern, bench.target("a")) == (None, parts(*range(6)))


@pytest.mark.parametrize("pattern", ["none", "f.*"])
def test_pattern_that_is_given_up_moves_the_epoch(pattern: str) -> None:
    """Whatever it matched, nothing or what the names say, too, as on 4.3.1 (K2.23)."""
    bench = Bench()
    bench.tell(ResolveRegularExpression("none", frozenset()), ResolveRegularExpression("f.*", frozenset({FOO})))
    bench.ask(replace(join_request("a"), subscribed_topic_regex=pattern))
    epoch = bench.group.epoch
    bench.ask(replace(beat_request("a", epoch), subscribed_topic_regex=""))
    assert (bench.group.epoch, bench.assigned("a")) == (epoch + 1, parts(*range(6)))


@pytest.mark.parametrize(
    ("pattern", "moves"), [("fo.*", True), ("none", True), ("nothing", False)], ids=["matches", "shared", "neither"]
)
def test_pattern_that_is_come_to_moves_the_epoch(pattern: str, moves: bool) -> None:
    """Where others have it, or it matches something, be it just what the one before did (4.3.1, K2.23)."""
    bench = Bench()
    matches = {"f.*": frozenset({FOO}), "fo.*": frozenset({FOO}), "none": frozenset(), "nothing": frozenset()}
    bench.tell(*(ResolveRegularExpression(one, topics) for one, topics in matches.items()))
    unnamed = {one: replace(join_request(one), subscribed_topic_names=()) for one in "abc"}
    bench.ask(replace(unnamed["a"], subscribed_topic_regex="f.*" if pattern == "fo.*" else "nothing-yet"))
    bench.ask(replace(unnamed["b"], subscribed_topic_regex="none"))
    epoch, had = bench.group.epoch, bench.assigned("a")
    bench.ask(replace(beat_request("a", bench.member("a").current.epoch), subscribed_topic_regex=pattern))
    assert (bench.group.epoch, bench.assigned("a")) == (epoch + moves, had)
    bench.ask(replace(unnamed["c"], subscribed_topic_regex="none"))
    assert bench.group.epoch == epoch + moves + 1


NAMES_TOO = pytest.mark.parametrize(
    ("names", "pattern", "epochs"),
    [
        ((FOO, BAR), "fo.*", 2),
        ((), "fo.*", 2),
        ((FOO, BAR), "shared", 1),
        ((FOO, BAR), "nothing", 1),
        ((FOO, BAR), "f.*", 1),
        ((FOO,), "fo.*", 1),
        (None, "fo.*", 1),
        ((FOO, BAR), "", 1),
    ],
)


@NAMES_TOO
def test_names_that_change_with_a_new_pattern_move_the_epoch_once_more(
    names: tuple[TopicName, ...] | None, pattern: str, epochs: int
) -> None:
    """Kafka 4.3.1 moves it for the names, and again when what the pattern matches is known: not if nobody is to be
    waited for, as others have it, nor if it matches nothing (K2.4, K2.23).
    """
    bench = Bench()
    matches = {"f.*": {FOO}, "fo.*": {FOO}, "shared": {FOO}, "nothing": set[TopicName]()}
    bench.tell(*(ResolveRegularExpression(one, frozenset(topics)) for one, topics in matches.items()))
    bench.ask(replace(join_request("b"), subscribed_topic_names=(), subscribed_topic_regex="shared"))
    bench.ask(replace(join_request("a"), subscribed_topic_regex="f.*"))
    before = bench.group.epoch
    request = beat_request("a", bench.member("a").current.epoch)
    bench.ask(replace(request, subscribed_topic_names=names, subscribed_topic_regex=pattern))
    assert (bench.group.epoch, bench.group.assignment_epoch) == (before + epochs,) * 2
    assert bench.member("a").current.epoch == before + epochs


@pytest.mark.parametrize(("names", "epochs"), [((BAR,), 2), ((), 1)])
def test_newcomer_with_names_and_a_new_pattern_moves_the_epoch_twice(names: tuple[TopicName, ...], epochs: int) -> None:
    """Names are what it had not; others that come in the same turn come by the same two moves."""
    bench = Bench()
    bench.tell(ResolveRegularExpression("b.*", frozenset({BAR})))
    wish = replace(join_request("a"), subscribed_topic_names=names, subscribed_topic_regex="b.*")
    bench.tell(*map(bench.command, (join_request("b"), wish, replace(wish, member_id=MemberId("c")))))
    assert bench.group.epoch == FIRST_GROUP_EPOCH + epochs


@pytest.mark.parametrize("member_id", ["", "a"])
def test_classic_member_has_no_pattern_of_whoever_was_there_before(member_id: str) -> None:
    """Neither of whose seat it takes, nor of itself before it went over: what that matched is gone (K4.11)."""
    bench = Bench(settings=NO_DELAY)
    bench.tell(ResolveRegularExpression("b.*", frozenset({BAR})))
    bench.ask(replace(static_join_request("a", SEAT), subscribed_topic_names=None, subscribed_topic_regex="b.*"))
    bench.ask(static_join_request(member_id, SEAT), Speaks.CLASSIC)
    (member,) = bench.group.members.values()
    assert (member.subscription.speaks, member.subscription.pattern) == (Speaks.CLASSIC, None)
    assert (bench.target(member.subscription.member_id), bench.group.patterns) == (parts(*range(6)), {})


def test_names_that_a_pattern_finds_too_still_move_the_epoch() -> None:
    """What is subscribed to changed, if not which topics that are (K2.23)."""
    bench = Bench()
    bench.tell(ResolveRegularExpression("(foo|bar)", frozenset({FOO, BAR})))
    bench.ask(replace(join_request("a"), subscribed_topic_names=(FOO,), subscribed_topic_regex="(foo|bar)"))
    epoch, target = bench.group.epoch, bench.target("a")
    bench.ask(replace(beat_request("a", bench.member("a").current.epoch), subscribed_topic_names=(FOO, BAR)))
    assert (bench.group.epoch, bench.target("a")) == (epoch + 1, target)


def test_native_heartbeat_of_a_classic_member_switches_it_in_place() -> None:
    """Same id, right epoch; its deadlines are the engine's from then on (K2.22)."""
    bench = Bench(settings=NO_DELAY)
    bench.ask(join_request("a"), Speaks.CLASSIC)
    bench.ask(beat_request("a", 2))
    assert bench.member("a").subscription.speaks is Speaks.CONSUMER
    assert list(bench.state.deadlines.due.values()) == [45_000]
    bench.ask(beat_request("a", 2), Speaks.CLASSIC)
    assert bench.state.deadlines.due == {}


def test_request_is_full_with_timeout_topics_and_owned() -> None:
    """All three together say that the client has no answer to go on from (K2.42)."""
    full = replace(join_request("a"), member_epoch=3)
    assert is_full_request(join_request("a"))
    assert is_full_request(full)
    partial = [replace(full, owned=None), replace(full, rebalance_timeout_ms=-1)]
    partial.append(replace(full, subscribed_topic_names=None))
    assert [is_full_request(request) for request in partial] == [False] * 3


def test_plain_heartbeat_leaves_the_very_same_subscription() -> None:
    """Nearly all are plain: nothing is made or compared for them."""
    bench = Bench()
    bench.join("a")
    before = bench.member("a").subscription
    assert merge_subscription(before, before.member_id, bench.command(beat_request("a", 2))) is before


PLAIN = beat_request("a", 2)


@pytest.mark.parametrize(
    ("request_", "changed"),
    [
        (replace(PLAIN, server_assignor="range"), lambda before: replace(before, assignor="range")),
        (replace(PLAIN, rack_id="r9"), lambda before: replace(before, rack_id="r9")),
        (replace(PLAIN, rebalance_timeout_ms=7), lambda before: replace(before, rebalance_timeout_ms=7)),
        (replace(PLAIN, subscribed_topic_names=(BAR,)), lambda before: replace(before, names=frozenset({BAR}))),
        (replace(PLAIN, subscribed_topic_regex="b.*"), lambda before: replace(before, pattern="b.*")),
        (replace(PLAIN, instance_id=SEAT), lambda before: replace(before, instance_id=SEAT)),
    ],
)
def test_one_field_alone_is_news(
    request_: ConsumerGroupHeartbeat, changed: Callable[[Subscription], Subscription]
) -> None:
    """Whichever a heartbeat says (K2.22)."""
    bench = Bench()
    bench.join("a")
    before = bench.member("a").subscription
    assert changed(before) != before
    assert merge_subscription(before, before.member_id, bench.command(request_)) == changed(before)


def test_another_id_or_tongue_is_news() -> None:
    """Who takes a seat says nothing else that is new."""
    bench = Bench()
    bench.join("a")
    before = bench.member("a").subscription
    plain = beat_request("a", 2)
    assert merge_subscription(before, MemberId("b"), bench.command(plain)).member_id == "b"
    assert merge_subscription(before, before.member_id, bench.command(plain, Speaks.CLASSIC)).speaks is Speaks.CLASSIC
