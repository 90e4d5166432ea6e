"""Tests of classic groups as admins see them."""

from dataclasses import replace

from bridge.engine.describe import classic_snapshot, describe_classic_group
from bridge.engine.model import Phase
from bridge.engine.queries import subscribed_by
from tests.support.classic_bench import DELAY_MS, ClassicBench, join_of, offer
from tests.support.engine_bench import GROUP, IDENTITY
from tests.support.sketches import whole
from translators.dialects.admin import DescribedGroup, DescribedMember
from translators.dialects.consumer_protocol import Subscription, encode_subscription
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import InstanceId, TopicName

WANTS_FOO = encode_subscription(Subscription(version=1, topics=(TopicName("foo"),), owned=frozenset()))


def formed(says: bytes, protocol_type: str = "consumer") -> ClassicBench:
    """A Stable group of one static member with this metadata."""
    bench = ClassicBench()
    request = replace(join_of("", "A"), protocols=offer("range", says=says), protocol_type=protocol_type)
    ref = bench.join(request)
    bench.pass_time(DELAY_MS)
    bench.sync(bench.admitted(ref).member_id, "A", assigns={"A-1": b"mine"})
    return bench


def test_stable_group_shows_protocol_metadata_and_assignment_others_only_the_assignment() -> None:
    """What was agreed on is shown while it holds (K6.2); the assignment is the last one (K11.4, first row)."""
    bench = formed(b"meta")

    def shown(metadata: bytes, state: str, protocol: str) -> DescribedGroup:
        member = DescribedMember(
            member_id=next(iter(bench.group.members)),
            instance_id=InstanceId("A"),
            client_id=IDENTITY.client_id,
            client_host=IDENTITY.client_host,
            metadata=metadata,
            assignment=b"mine",
        )
        return DescribedGroup(
            error=ErrorCode.NONE,
            group_id=GROUP,
            group_state=state,
            protocol_type="consumer",
            protocol_data=protocol,
            members=(member,),
        )

    assert whole(describe_classic_group(bench.group)) == shown(b"meta", "Stable", "range")
    bench.promise()
    bench.join(replace(join_of("A-1", "A"), protocols=offer("range", says=b"meta")))
    assert whole(describe_classic_group(bench.group)) == shown(b"", "PreparingRebalance", "")


def test_subscribed_topics_told_by_readable_consumers_only() -> None:
    """Unreadable or not yet chosen is unknown; other types subscribe to nothing (K1.39, K5.22)."""
    waiting = ClassicBench()
    waiting.join(join_of("", "A"))
    groups = [formed(WANTS_FOO), formed(b"x"), formed(b"x", "connect"), waiting]
    assert [subscribed_by(bench.group) for bench in groups] == [{TopicName("foo")}, None, frozenset(), None]


def test_subscribed_topics_are_those_of_the_generation_while_others_join() -> None:
    """Kafka reads subscriptions when a generation begins, not while one is prepared (K1.39)."""
    bench = formed(WANTS_FOO)
    bench.promise()
    bench.join(replace(join_of("A-1", "A"), protocols=offer("range", says=b"x")))
    assert bench.group.phase is Phase.PREPARING_REBALANCE
    assert subscribed_by(bench.group) == frozenset({TopicName("foo")})


def test_subscribed_topics_stay_those_of_the_generation_while_a_promised_id_is_waited_for() -> None:
    """Everybody has gone, but the rebalance has not ended; an admin deleted offsets that Kafka keeps (K1.20, K5.22)."""
    bench = formed(WANTS_FOO)
    promised = bench.promise()
    bench.join(replace(join_of("A-1", "A"), protocols=offer("range", says=b"x")))
    bench.leave(("A-1", "A"))
    assert (bench.group.phase, dict(bench.group.members)) == (Phase.PREPARING_REBALANCE, {})
    assert subscribed_by(bench.group) == frozenset({TopicName("foo")})
    bench.leave((promised, None))
    assert (bench.group.phase, subscribed_by(bench.group)) == (Phase.EMPTY, frozenset())


def test_snapshot_shows_who_waits_and_who_is_waited_for() -> None:
    """Our own API."""
    bench = ClassicBench()
    first, second = bench.form("A", "B")
    promised = bench.promise()
    bench.join(join_of(first, "A"))
    shown = classic_snapshot(bench.group)
    assert (shown.state, shown.generation, shown.leader) == (Phase.PREPARING_REBALANCE.value, 1, first)
    assert [one.member_id for one in shown.members] == [first, second]
    assert (shown.joining, shown.pending) == (frozenset({first}), frozenset({promised}))
