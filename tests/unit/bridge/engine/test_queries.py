"""Tests of what the shell asks: news, states, deadlines, subscribed topics.

Tests of DeleteGroups on the engine's groups.
"""

from dataclasses import replace

import pytest

from bridge.engine.commands import Command, DeleteGroup, GroupType, ResolveRegularExpression, Speaks
from bridge.engine.model import Phase
from bridge.engine.outcome import MemberAnswer
from bridge.engine.queries import (
    group_state,
    group_type,
    has_members,
    has_news,
    judge_offset_deletion,
    looks_classic,
    matched_topics,
    next_deadline,
    subscribed_names,
    subscribed_topics,
)
from bridge.engine.settings import EngineSettings
from tests.support.classic_bench import DELAY_MS, ClassicBench, join_of
from tests.support.engine_bench import BAR, FOO, GROUP, Bench, beat_request, join_request
from translators.dialects.admin import DeletedGroup
from translators.dialects.configs import MigrationPolicy
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import LEAVE_EPOCH, GroupId, MemberId, MemberRef, TopicId, TopicIdPartition


def news(bench: Bench) -> list[str]:
    """The members that have news."""
    return [member for member in bench.group.members if has_news(bench.state, MemberRef(GROUP, member))]


def test_rebalance_tells_news_to_those_concerned_at_each_step() -> None:
    """A second member comes: first the old one has news, then the new one, then nobody."""
    bench = Bench()
    bench.join("a")
    assert news(bench) == []
    bench.join("b")
    assert news(bench) == ["a"]
    bench.beat("a")
    assert news(bench) == ["a"]
    bench.beat("a", bench.assigned("a"))
    assert news(bench) == ["b"]
    bench.beat("b")
    assert news(bench) == []


def test_unknown_member_has_news() -> None:
    """Its heartbeat tells it that it is unknown."""
    assert has_news(Bench().state, MemberRef(GROUP, MemberId("nobody")))


def test_states_follow_a_rebalance() -> None:
    """Empty without members, Reconciling until all are at their target, then Stable (K2.60)."""
    bench = Bench()
    bench.join("a")
    seen = [group_state(bench.group)]
    bench.join("b")
    seen.append(group_state(bench.group))
    bench.settle("a", "b")
    seen.append(group_state(bench.group))
    bench.leave("a")
    bench.leave("b")
    seen.append(group_state(bench.group))
    assert seen == ["Stable", "Reconciling", "Stable", "Empty"]


def test_group_behind_its_epoch_is_assigning() -> None:
    """While the bridge waits for survivors no target is computed (K2.60, decision 9)."""
    bench = Bench(no_assignment_before_ms=3_000)
    bench.join("a")
    assert group_state(bench.group) == "Assigning"


def test_next_deadline_is_the_earliest_session() -> None:
    """Sessions are the only deadlines of settled native members."""
    bench = Bench()
    assert next_deadline(bench.state) is None
    bench.join("a")
    bench.now_ms = 10
    bench.join("b")
    assert next_deadline(bench.state) == 45_000


def test_subscribed_topics_include_those_matched() -> None:
    """A topic somebody matches by pattern is protected too; an unknown group has none (K5.22)."""
    bench = Bench()
    bench.tell(ResolveRegularExpression("b.*", frozenset({BAR})))
    bench.join("a")
    bench.ask(replace(join_request("b"), subscribed_topic_names=None, subscribed_topic_regex="b.*"))
    assert subscribed_topics(bench.state, GROUP) == frozenset({FOO, BAR})
    assert subscribed_topics(bench.state, GroupId("other")) is None


def test_names_are_those_of_one_member() -> None:
    """None for whom nobody knows, nor of what a pattern matches."""
    bench = Bench()
    bench.join("a")
    bench.ask(replace(join_request("b"), subscribed_topic_names=None, subscribed_topic_regex="b.*"))
    names = [subscribed_names(bench.state, GROUP, MemberId(member)) for member in ("a", "b", "c")]
    assert names == [frozenset({FOO}), frozenset(), frozenset()]
    assert subscribed_names(bench.state, GroupId("other"), MemberId("a")) == frozenset()


def test_topics_are_matched_that_no_name_says() -> None:
    """Of what a member was given: nothing where it has no pattern, and no topic that is gone."""
    bench = Bench()
    bench.tell(ResolveRegularExpression(".*", frozenset({FOO, BAR})))
    bench.join("a")
    bench.ask(replace(join_request("b"), subscribed_topic_regex=".*"))
    ids = {name: topic_id for name, topic_id in bench.state.topic_ids.items() if name in (FOO, BAR)}
    given = frozenset(TopicIdPartition(topic_id, 0) for topic_id in (*ids.values(), TopicId(bytes(16))))
    found = [matched_topics(bench.state, GROUP, MemberId(member), given) for member in ("a", "b", "c")]
    assert found == [frozenset(), frozenset({BAR}), frozenset()]
    assert matched_topics(bench.state, GROUP, MemberId("b"), frozenset()) == frozenset()


def test_group_type_is_the_door_between_the_kinds() -> None:
    """A group is of one kind; an empty one of either makes way for the other (K1.9, K3.3), one with members
    doesn't (K6.8).
    """
    classic = ClassicBench()
    bench = classic.bench
    seen: list[tuple[GroupType | None, bool]] = []

    def look() -> None:
        seen.append((group_type(bench.state, GROUP), has_members(bench.state, GROUP)))

    look()
    (only,) = classic.form("A")
    look()
    refused = bench.join("native").reply.error
    classic.leave((only, "A"))
    look()
    bench.join("native")
    look()
    bench.leave("native")
    classic.join(join_of("", "A"))
    look()
    classic_type, consumer_type = GroupType.CLASSIC, GroupType.CONSUMER
    assert refused is ErrorCode.GROUP_ID_NOT_FOUND
    assert seen == [
        (None, False),
        (classic_type, True),
        (classic_type, False),
        (consumer_type, True),
        (classic_type, True),
    ]


@pytest.mark.parametrize(
    ("policy", "most", "has_become_classic"),
    [
        (MigrationPolicy.BIDIRECTIONAL, 2, True),
        (MigrationPolicy.DOWNGRADE, 2, True),
        (MigrationPolicy.BIDIRECTIONAL, 1, False),
        (MigrationPolicy.UPGRADE, 2, False),
        (MigrationPolicy.DISABLED, 2, False),
    ],
)
def test_group_that_lost_its_last_native_looks_classic_where_kafka_may_turn_it(
    policy: MigrationPolicy, most: int, has_become_classic: bool
) -> None:
    """Elsewhere it is a consumer group until it is empty, and what classic members begin then is another one, also
    after a restart (K1.9, K3.2, K3.20).
    """
    bench = Bench(
        settings=EngineSettings(
            group_consumer_migration_policy=policy, group_max_size=most, group_initial_rebalance_delay_ms=0
        )
    )
    seen = list[bool]()

    def look() -> None:
        found = {looks_classic(state, GROUP) for state in (bench.state, bench.replayed(durable_only=True))}
        seen.append(found == {True})
        assert len(found) == 1

    for member in ("a", "b"):
        bench.ask(join_request(member), Speaks.CLASSIC)
    look()
    bench.join("n")
    look()
    bench.leave("n")
    look()
    for member in ("a", "b"):
        bench.leave(member)
    look()
    bench.ask(join_request("c"), Speaks.CLASSIC)
    look()
    assert seen == [True, False, has_become_classic, False, True]


def test_offset_deletion_of_a_classic_group_asks_its_type() -> None:
    """NON_EMPTY_GROUP for members of another type than consumer; who can't be read has every topic (K5.22)."""
    classic = ClassicBench()
    state = classic.bench.state
    codes = [judge_offset_deletion(state, GroupId("")), judge_offset_deletion(state, GROUP)]
    classic.form("A")
    codes.append(judge_offset_deletion(state, GROUP))
    assert subscribed_topics(state, GROUP) == frozenset({FOO, BAR})
    connect = ClassicBench()
    connect.join(replace(join_of("", "A"), protocol_type="connect"))
    codes.append(judge_offset_deletion(connect.bench.state, GROUP))
    missing = ErrorCode.GROUP_ID_NOT_FOUND
    assert codes == [ErrorCode.INVALID_GROUP_ID, missing, ErrorCode.NONE, ErrorCode.NON_EMPTY_GROUP]


def test_offsets_of_an_empty_group_of_another_type_may_be_deleted() -> None:
    """Nobody is there whom it could concern, whatever type the last ones were of (K5.22)."""
    connect = ClassicBench()
    connect.join(replace(join_of("", "A"), protocol_type="connect"))
    connect.leave(("", "A"))
    connect.pass_time(DELAY_MS)
    assert (connect.phase, connect.group.roster.protocol_type) == (Phase.EMPTY, "connect")
    assert judge_offset_deletion(connect.bench.state, GROUP) is ErrorCode.NONE


def test_pattern_that_is_not_resolved_yet_matches_nothing() -> None:
    """Its topics come a moment later."""
    bench = Bench()
    bench.join("a")
    bench.ask(replace(join_request("b"), subscribed_topic_names=None, subscribed_topic_regex="b.*"))
    assert subscribed_topics(bench.state, GROUP) == frozenset({FOO})


def deleted(bench: Bench, *before: Command) -> ErrorCode:
    """What a deletion is answered, with commands before it in the same turn."""
    ref = bench.ref()
    message = dict(bench.tell(*before, DeleteGroup(ref, GROUP)).replies)[ref]
    assert isinstance(message, DeletedGroup)
    return message.error


def test_group_is_deleted_only_when_empty() -> None:
    """69 unknown, 68 with members, else gone (K6.7)."""
    bench = Bench()
    seen = [deleted(bench)]
    bench.join("a")
    seen.append(deleted(bench))
    bench.leave("a")
    seen += [deleted(bench), deleted(bench)]
    missing = ErrorCode.GROUP_ID_NOT_FOUND
    assert seen == [missing, ErrorCode.NON_EMPTY_GROUP, ErrorCode.NONE, missing]


def test_group_with_parked_joiner_that_left_is_not_deleted() -> None:
    """Somebody still waits for an answer there."""
    bench = Bench()
    bench.tell(bench.command(join_request("a"), Speaks.CLASSIC))
    bench.ask(beat_request("a", LEAVE_EPOCH), Speaks.CLASSIC)
    assert deleted(bench) is ErrorCode.NON_EMPTY_GROUP


def test_group_deleted_and_joined_in_one_turn_begins_anew() -> None:
    """A name that is free again carries nothing over: the first epoch with topics is 2."""
    bench = Bench()
    bench.join("a")
    leave, join = bench.command(beat_request("a", LEAVE_EPOCH)), bench.command(join_request("b"))
    outcome = bench.tell(leave, DeleteGroup(bench.ref(), GROUP), join)
    message = dict(outcome.replies)[join.ref]
    assert isinstance(message, MemberAnswer)
    assert (message.reply.error, message.reply.member_epoch) == (ErrorCode.NONE, 2)
    assert len(message.reply.assignment or ()) == 6


def test_classic_group_is_deleted_when_empty_whatever_is_promised() -> None:
    """A promised id keeps no group alive, a member does (K6.7)."""
    classic = ClassicBench()
    classic.promise()
    seen = [deleted(classic.bench)]
    classic.join(join_of("", "A"))
    seen.append(deleted(classic.bench))
    assert seen == [ErrorCode.NONE, ErrorCode.NON_EMPTY_GROUP]
