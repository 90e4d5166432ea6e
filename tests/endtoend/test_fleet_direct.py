"""The fleet and the judge on a real Kafka without the bridge: what they measure there is Kafka's own behaviour.

It must not assert what only the bridge promises, such as that nobody is disturbed.
"""

from collections.abc import Awaitable, Callable, Iterator
from functools import partial
from pathlib import Path

import pytest
import trio

from bridge.demo.cluster import create_topics, read_committed
from bridge.demo.events import Protocol
from bridge.demo.fleet import Fleet
from bridge.demo.fleet_specs import CONFLUENT, KAFKA_PYTHON, MemberSpec, ProducerSpec, Target
from bridge.demo.judge import Verdict, judge
from bridge.demo.kafka_broker import KafkaBroker, start_broker
from bridge.demo.kafka_properties import BrokerSettings
from bridge.demo.screen import verdict_lines
from tests.support.clients.programs import AIOKAFKA, java_program, kafkajs_program
from tests.support.grown_topic import grow_topic

PARTITIONS = 6
member = partial(MemberSpec, session_timeout_ms=8_000)
"""A killed member's session must run out, so a short one keeps the stories short; a busy machine stands still, too."""

QUICK_GROUPS = {
    "group.initial.rebalance.delay.ms": "500",
    "group.min.session.timeout.ms": "1000",
    "group.consumer.min.session.timeout.ms": "1000",
    "group.consumer.session.timeout.ms": "8000",
    "group.consumer.min.heartbeat.interval.ms": "300",
    "group.consumer.heartbeat.interval.ms": "400",
}


@pytest.fixture(scope="module")
def kafka(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KafkaBroker]:
    """A Kafka 4.3.1 of this module's own."""
    directory = tmp_path_factory.mktemp("kafka")
    with start_broker(BrokerSettings(version="4.3.1", properties=QUICK_GROUPS), directory=directory) as broker:
        yield broker


async def finish(fleet: Fleet) -> None:
    """Stop producing, let everything be read, stop all.

    Kafka refuses the commit of who leaves while the others' rebalance completes, so nothing is left to commit then.
    """
    await fleet.stop_producers()
    await fleet.wait_read()
    await fleet.wait_committed()
    await fleet.stop_all()


async def tell_upgrade(fleet: Fleet, _: KafkaBroker) -> None:
    """Form, add one, kill one, roll one to the consumer protocol, while records flow."""
    async with fleet.step("form"):
        for seat, program in (("k1", KAFKA_PYTHON), ("k2", KAFKA_PYTHON), ("c1", CONFLUENT)):
            await fleet.start(member(seat=seat, program=program))
        await fleet.wait_settled(stable_ms=1000)
    async with fleet.step("add c2"):
        await fleet.start(member(seat="c2"))
        await fleet.wait_settled(stable_ms=1000)
    async with fleet.step("kill k2"):
        await fleet.kill("k2")
        await fleet.wait_settled(stable_ms=1000)
    async with fleet.step("roll c1"):
        await fleet.roll(member(seat="c1", protocol=Protocol.CONSUMER))
        await fleet.wait_settled(stable_ms=1000)


async def tell_eager_mix(fleet: Fleet, kafka: KafkaBroker) -> None:
    """aiokafka and Java with their eager assignors: form, roll Java to the consumer protocol, kill aiokafka."""
    java = java_program(kafka.java, kafka.classpath, kafka.version)
    async with fleet.step("form"):
        await fleet.start(member(seat="a1", program=AIOKAFKA))
        await fleet.start(member(seat="j1", program=java, assignor="default"))
        await fleet.wait_settled(stable_ms=1000)
    async with fleet.step("roll j1"):
        await fleet.roll(member(seat="j1", program=java, protocol=Protocol.CONSUMER))
        await fleet.wait_settled(stable_ms=1000)
    async with fleet.step("kill a1"):
        await fleet.kill("a1")
        await fleet.wait_settled(stable_ms=1000)


async def tell_cooperative_mix(fleet: Fleet, kafka: KafkaBroker) -> None:
    """Three libraries with cooperative-sticky: form, bounce a static member, kill Java."""
    java = java_program(kafka.java, kafka.classpath, kafka.version)
    static = MemberSpec(seat="k1", program=KAFKA_PYTHON, assignor="cooperative-sticky", instance_id="k1")
    async with fleet.step("form"):
        await fleet.start(static)
        await fleet.start(member(seat="c1", assignor="cooperative-sticky"))
        await fleet.start(member(seat="j1", program=java, assignor="cooperative-sticky"))
        await fleet.wait_settled(stable_ms=1000)
    async with fleet.step("bounce k1"):
        await fleet.roll(static)
        await fleet.wait_settled(stable_ms=1000)
    async with fleet.step("kill j1"):
        await fleet.kill("j1")
        await fleet.wait_settled(stable_ms=1000)


async def tell_growth(fleet: Fleet, kafka: KafkaBroker) -> None:
    """Two libraries with cooperative-sticky: form, grow the topic.

    kafka-python 3.0.12 beside them stays out of the second of the two rebalances now and then, until its session is
    over; then it is told by Kafka to go and owns, by its own account, what another was given.
    """
    java = java_program(kafka.java, kafka.classpath, kafka.version)
    async with fleet.step("form"):
        await fleet.start(member(seat="c1", assignor="cooperative-sticky"))
        await fleet.start(member(seat="j1", program=java, assignor="cooperative-sticky"))
        await fleet.wait_settled(stable_ms=1000)
    async with fleet.step("grow"):
        (topic,) = fleet.target.topics
        fleet.partitions = await trio.to_thread.run_sync(grow_topic, kafka.bootstrap, topic, PARTITIONS + 1)
        await fleet.wait_settled(stable_ms=1000)


async def tell_kafkajs(fleet: Fleet, _: KafkaBroker) -> None:
    """kafkajs among its own kind, as its assignor has a name of its own: form, a clean leave, kill."""
    program = await trio.to_thread.run_sync(kafkajs_program, fleet.directory)
    async with fleet.step("form"):
        for seat in ("n1", "n2", "n3"):
            await fleet.start(member(seat=seat, program=program, assignor="roundrobin"))
        await fleet.wait_settled(stable_ms=1000)
    async with fleet.step("leave n1"):
        await fleet.stop("n1")
        await fleet.wait_settled(stable_ms=1000)
    async with fleet.step("kill n2"):
        await fleet.kill("n2")
        await fleet.wait_settled(stable_ms=1000)


Story = Callable[[Fleet, KafkaBroker], Awaitable[None]]


async def judged(kafka: KafkaBroker, story: Story, directory: Path) -> Verdict:
    """Tell a story in a group and a topic of its own, with records flowing, and judge it."""
    target = Target(bootstrap=kafka.bootstrap, group=story.__name__, topics=(f"{story.__name__}-topic",))
    partitions = await trio.to_thread.run_sync(create_topics, kafka.bootstrap, target.topics, PARTITIONS)
    async with trio.open_nursery() as nursery:
        fleet = Fleet(nursery, target, partitions, directory)
        await fleet.start_producer(ProducerSpec(partitions=PARTITIONS, rate=300))
        await story(fleet, kafka)
        await finish(fleet)
    offsets = await trio.to_thread.run_sync(read_committed, kafka.bootstrap, target.group, fleet.partitions)
    verdict = judge(fleet.evidence(offsets))
    print("\n".join(verdict_lines(verdict)))
    assert verdict.ok, verdict
    assert verdict.committed_equals_processed, verdict.commit_mismatches
    assert verdict.records_produced > 1000
    return verdict


async def test_upgrade_loses_nothing_and_owns_nothing_twice(kafka: KafkaBroker, tmp_path: Path) -> None:
    """Kafka's own migration (K4) loses nothing and gives no partition to two members, as the clients see it."""
    verdict = await judged(kafka, tell_upgrade, tmp_path)
    assert [(roll.seat, roll.after) for roll in verdict.rolls] == [("c1", "confluent-kafka consumer")]
    assert verdict.protocols_seen == ("classic", "consumer")
    assert verdict.max_stall_ms > 0


async def test_eager_mix_loses_nothing_and_owns_nothing_twice(kafka: KafkaBroker, tmp_path: Path) -> None:
    """aiokafka and Java write the same event log as the demo's clients."""
    verdict = await judged(kafka, tell_eager_mix, tmp_path)
    assert [(roll.seat, roll.after) for roll in verdict.rolls] == [("j1", "java consumer")]
    assert verdict.protocols_seen == ("classic", "consumer")


async def test_cooperative_mix_loses_nothing_and_owns_nothing_twice(kafka: KafkaBroker, tmp_path: Path) -> None:
    """Increments are put together rightly for kafka-python, librdkafka and Java, a static member among them."""
    verdict = await judged(kafka, tell_cooperative_mix, tmp_path)
    assert verdict.rolls == ()
    assert not [one for one in verdict.disturbances if one.step == "bounce k1"]


async def test_growth_loses_nothing_and_owns_nothing_twice(kafka: KafkaBroker, tmp_path: Path) -> None:
    """The new partition is somebody's, and that is all that changes hands."""
    verdict = await judged(kafka, tell_growth, tmp_path)
    assert verdict.rolls == ()
    assert verdict.disturbances == ()


async def test_kafkajs_loses_nothing_and_owns_nothing_twice(kafka: KafkaBroker, tmp_path: Path) -> None:
    """A client without rebalance callbacks writes the same event log from its instrumentation events."""
    verdict = await judged(kafka, tell_kafkajs, tmp_path)
    assert verdict.protocols_seen == ("classic",)
    assert verdict.rebalances >= 5


async def test_frozen_member_is_seen_to_own_what_others_took_over(kafka: KafkaBroker, tmp_path: Path) -> None:
    """The judge finds a real double owner: a member that sleeps through its session still owns, by its own account."""
    target = Target(bootstrap=kafka.bootstrap, group="frozen", topics=("frozen-topic",))
    partitions = await trio.to_thread.run_sync(create_topics, kafka.bootstrap, target.topics, 2)
    async with trio.open_nursery() as nursery:
        fleet = Fleet(nursery, target, partitions, tmp_path)
        await fleet.start_producer(ProducerSpec(partitions=2, rate=50))
        async with fleet.step("form"):
            await fleet.start(member(seat="c1"))
            await fleet.start(member(seat="c2"))
            await fleet.wait_settled(stable_ms=500)
        async with fleet.step("freeze c1"):
            fleet.freeze("c1")
            await fleet.wait_settled(stable_ms=500)
            fleet.thaw("c1")
            await fleet.wait_settled(stable_ms=500)
        await finish(fleet)
    verdict = judge(fleet.evidence())
    (overlap,) = verdict.double_ownership
    assert {overlap.first, overlap.second} == {"c1#2", "c2#3"}
    assert (verdict.records_lost, verdict.silent_clients, verdict.ok) == (0, (), False)
