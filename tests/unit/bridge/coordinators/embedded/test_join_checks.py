"""What is asked before a join is decided; how joins wait for it is shown by the embedded coordinator's tests."""

from dataclasses import replace

import pytest
import trio
from trio.testing import MockClock

from bridge.coordinators.catalog import Catalog, TopicsChange, TopicWatcher
from bridge.coordinators.embedded.join_checks import JoinChecks, Questions, is_join, wanted_topics
from bridge.coordinators.embedded.pattern_rights import PatternRights
from bridge.coordinators.embedded.regular_expressions import Patterns
from bridge.net.clock import TrioClock
from bridge.session.contracts import NoAccess
from tests.support.embedded_world import FakeBroker, join_request, leave_request, native_join
from tests.support.engine_bench import Bench
from tests.support.owned_group import GROUP, TOPIC
from translators.dialects.admin import DescribedGroup
from translators.dialects.errors import ErrorCode, Refusal
from translators.dialects.ids import GroupId


def gate_of(broker: FakeBroker) -> JoinChecks:
    """A gate that has asked nothing yet."""
    catalog = Catalog()

    def ignore(_: TopicsChange) -> None:
        """Nobody listens."""

    topics = TopicWatcher(broker, catalog, ignore, TrioClock(), 5_000)
    rights = PatternRights(Bench().state, lambda _: NoAccess(), TrioClock().now_ms)
    return JoinChecks(broker, catalog, topics, Patterns(catalog, tuple, lambda _: None), rights)


async def test_what_is_known_is_not_asked_again(autojump_clock: MockClock) -> None:
    """Until the group is empty again."""
    gate = gate_of(FakeBroker())
    asked = Questions(GROUP, asks_members=True, asks_topics=True, names=frozenset({TOPIC}), is_classic=True)
    assert gate.questions(join_request("a")) == asked
    assert await gate.ask(gate.questions(join_request("a"))) is None
    assert not gate.questions(join_request("a"))
    gate.forget(GROUP)
    assert gate.questions(join_request("a")) == Questions(GROUP, asks_members=True, asks_topics=False, is_classic=True)


async def test_joins_that_wait_for_one_look_share_its_refusal(autojump_clock: MockClock) -> None:
    """Many clients come at once."""
    loading = DescribedGroup(error=ErrorCode.UNKNOWN_SERVER_ERROR, group_id=GROUP)
    broker = FakeBroker(described=loading, delay_s=3.0)
    gate, refusals = gate_of(broker), list[Refusal | None]()
    questions = Questions(GROUP, asks_members=True, asks_topics=False)

    async def ask() -> None:
        refusals.append(await gate.ask(questions))

    async with trio.open_nursery() as nursery:
        nursery.start_soon(ask)
        await trio.sleep(1)
        nursery.start_soon(ask)
    assert [refusal.code for refusal in refusals if refusal] == [ErrorCode.COORDINATOR_NOT_AVAILABLE] * 2
    assert len(broker.asked) == 1


async def test_every_join_waits_for_its_own_time(autojump_clock: MockClock) -> None:
    """Not for that of the first: when that gave up whoever had come later was told at once that the broker is slow."""
    broker = FakeBroker(delay_s=6.0)
    gate = gate_of(broker)
    answered_s: dict[float, float] = {}
    questions = Questions(GROUP, asks_members=True, asks_topics=False)

    async def ask(came_s: float) -> None:
        await trio.sleep(came_s)
        refusal = await gate.ask(questions)
        assert refusal is None or refusal.code is ErrorCode.COORDINATOR_NOT_AVAILABLE
        answered_s[came_s] = trio.current_time() - started_s if refusal is None else -1

    started_s = trio.current_time()
    async with trio.open_nursery() as nursery:
        for came_s in (0.0, 4.5):
            nursery.start_soon(ask, came_s)
        await trio.sleep(4.6)
        broker.delay_s = 1.0
    assert answered_s == {0.0: -1, 4.5: pytest.approx(6.0, abs=0.1)}


async def test_description_with_an_error_is_no_clearance(autojump_clock: MockClock) -> None:
    """A coordinator that is still loading knows no members yet."""
    broker = FakeBroker(described=DescribedGroup(error=ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, group_id=GROUP))
    refusal = await gate_of(broker).ask(Questions(GROUP, asks_members=True, asks_topics=False))
    assert refusal is not None
    assert "COORDINATOR_LOAD_IN_PROGRESS" in refusal.reason


async def test_coordinator_that_is_being_made_is_waited_for(autojump_clock: MockClock) -> None:
    """The first client of a cluster joins while the offsets topic is made for it: its join is not refused."""
    broker = FakeBroker(described=DescribedGroup(error=ErrorCode.NOT_COORDINATOR, group_id=GROUP))
    gate, refusals = gate_of(broker), list[Refusal | None]()
    questions = Questions(GROUP, asks_members=True, asks_topics=False)

    async def ask() -> None:
        refusals.append(await gate.ask(questions))

    async with trio.open_nursery() as nursery:
        for _ in range(3):
            nursery.start_soon(ask)
        await trio.sleep(1)
        assert refusals == []
        broker.described = DescribedGroup(error=ErrorCode.NONE, group_id=GROUP, group_state="Dead")
    assert refusals == [None] * 3
    assert trio.current_time() < 2
    assert len(broker.asked) <= 6, "one look for all of them"


@pytest.mark.parametrize("is_away", [False, True])
async def test_rejoin_that_nobody_called_for_is_not_held_up_by_a_broker(
    is_away: bool, autojump_clock: MockClock
) -> None:
    """It is better with the topics of now, and can be answered without."""
    broker = FakeBroker()
    gate = gate_of(broker)
    assert await gate.ask(gate.questions(join_request("a"))) is None
    assert not gate.questions(join_request("a"))
    questions = gate.questions(join_request("a"), is_uncalled=True)
    assert (questions.asks_topics, questions.worth_a_look) == (True, True)
    broker.is_down, broker.delay_s = is_away, 0.0 if is_away else 60.0
    began_s = trio.current_time()
    assert await gate.ask(questions) is None
    assert trio.current_time() - began_s < 1.5


async def test_topics_seen_before_are_enough_while_the_cluster_is_away(autojump_clock: MockClock) -> None:
    """A member of a living group is not sent away for a topic that nobody has."""
    broker = FakeBroker()
    gate = gate_of(broker)
    questions = Questions(GROUP, asks_members=False, asks_topics=True)
    broker.is_down = True
    assert await gate.ask(questions) is not None
    broker.is_down = False
    assert await gate.ask(questions) is None
    broker.is_down = True
    await trio.sleep(1)
    assert await gate.ask(questions) is None


async def test_topics_that_another_look_has_found_meanwhile_are_not_looked_for_again(autojump_clock: MockClock) -> None:
    """So the first join of a group does not fall behind the second, which comes when its topics are known."""
    broker = FakeBroker(delay_s=0.1)
    gate = gate_of(broker)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(gate.ask, gate.questions(join_request("a")))
        await trio.sleep(0.05)
        nursery.start_soon(gate.ask, replace(gate.questions(join_request("b")), group_id=GroupId("other")))
    assert sorted(broker.asked) == [f"describe {GROUP}", "describe other", "topics"]
    assert trio.current_time() == pytest.approx(0.2)


def test_joins_are_told_from_other_requests() -> None:
    """A full heartbeat may bring a new subscription; a plain one brings none."""
    beat = replace(native_join("n"), member_epoch=3)
    assert is_join(join_request("a"))
    assert is_join(beat)
    assert not is_join(replace(beat, subscribed_topic_names=None))
    assert not is_join(replace(beat, member_epoch=-1))
    assert not is_join(leave_request("a"))
    assert set(wanted_topics(join_request("a"))) == set(wanted_topics(beat)) == {TOPIC}
    assert not set(wanted_topics(replace(join_request("a"), protocols=())))


@pytest.mark.parametrize("kind", ["share", "streams"])
async def test_group_of_another_kind_closes_its_name(kind: str, autojump_clock: MockClock) -> None:
    """Kafka 4.3.1 says GROUP_ID_NOT_FOUND to a KIP-848 member and INCONSISTENT_GROUP_PROTOCOL to a classic one."""
    other = DescribedGroup(error=ErrorCode.NONE, group_id=GROUP, group_state="Stable", protocol_type=kind)
    broker = FakeBroker(described=other)
    gate = gate_of(broker)
    for join, code in (
        (join_request("a"), ErrorCode.INCONSISTENT_GROUP_PROTOCOL),
        (native_join("n"), ErrorCode.GROUP_ID_NOT_FOUND),
    ):
        refusal = await gate.ask(gate.questions(join))
        assert refusal is not None
        assert (refusal.code, kind in refusal.reason) == (code, True)
    assert kind in gate.bypassed[GROUP]
    broker.described = replace(other, error=ErrorCode.GROUP_ID_NOT_FOUND, protocol_type="")
    assert await gate.ask(gate.questions(join_request("a"))) is None
    assert not gate.bypassed
