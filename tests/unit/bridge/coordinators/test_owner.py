"""Machines and engine together: what mixed fleets see."""

from dataclasses import replace

from bridge.engine.settings import EngineSettings
from tests.support.embedded_world import join_request
from tests.support.owned_group import CLIENT, GROUP, TOPIC, ClassicClient, ConsumerClient, OwnedGroup, settled_pair
from translators.dialects.classic import Heartbeat, HeartbeatReply, JoinGroupReply
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import GroupId, InstanceId, MemberId, Topic, TopicId, TopicPartition


def _all(count: int) -> frozenset[TopicPartition]:
    return frozenset(TopicPartition(TOPIC, number) for number in range(count))


def test_lone_classic_member_gets_everything() -> None:
    """Join, sync, heartbeat."""
    group = OwnedGroup()
    client = ClassicClient(group)
    assert client.join() == _all(6)
    assert client.generation == 1
    assert client.beat() is ErrorCode.NONE


def test_eager_loser_is_called_once_and_stops_once() -> None:
    """The member that gives something up rejoins once; then both are at rest."""
    group = OwnedGroup()
    first, second = ClassicClient(group), ClassicClient(group)
    first.join()
    second.begin_join()
    assert second.parked not in group.replies
    assert first.beat() is ErrorCode.REBALANCE_IN_PROGRESS
    assert len(first.join()) == 3
    assert second.parked in group.replies
    assert first.owned | second.end_join() == _all(6)
    assert not first.owned & second.owned
    for _ in range(5):
        group.wait(3_000)
        assert (first.beat(), second.beat()) == (ErrorCode.NONE, ErrorCode.NONE)


def test_join_that_is_parked_keeps_nothing_of_what_was_read_of_it() -> None:
    """It is kept until its answer, which a client may put off for minutes: 4,000 of 16 kB were 2 GB."""
    group = OwnedGroup()
    ClassicClient(group).join()
    for name in ("sticky", "custom"):
        joining = replace(join_request("x"), protocols=(replace(join_request("x").protocols[0], name=name),))
        joining.read_ahead()
        assert joining.has_read(joining.protocols[0])
        (ref,) = group.send(joining)
        assert (ref in group.replies) is (name == "custom")
        assert not joining.has_read(joining.protocols[0])


def test_member_whose_assignment_stays_sees_nothing() -> None:
    """The promise: the epoch moves, generation and assignment stay."""
    group = OwnedGroup(partitions=2)
    first, second = settled_pair(group)
    idle = ClassicClient(group)
    assert idle.join() == frozenset()
    for client in (first, second):
        generation = client.generation
        assert client.beat() is ErrorCode.NONE
        assert client.generation == generation


def test_cooperative_members_keep_what_stays() -> None:
    """A cooperative loser joins at most twice and never stops the rest (decision 12)."""
    group = OwnedGroup()
    first, second = ClassicClient(group, "cooperative-sticky"), ClassicClient(group, "cooperative-sticky")
    first.join()
    before = first.owned
    second.begin_join()
    assert first.beat() is ErrorCode.REBALANCE_IN_PROGRESS
    kept = first.join()
    assert kept < before
    second.end_join()
    assert first.owned | second.owned == _all(6)
    group.wait(3_000)
    assert (first.beat(), second.beat()) == (ErrorCode.NONE, ErrorCode.NONE)


def test_mixed_group_shares_partitions() -> None:
    """A KIP-848 member and classic ones in one group."""
    group = OwnedGroup()
    classic, native = ClassicClient(group), ConsumerClient(group, "native")
    classic.join()
    assert native.beat() is ErrorCode.NONE
    assert native.assigned == frozenset()
    assert classic.beat() is ErrorCode.REBALANCE_IN_PROGRESS
    classic.join()
    assert native.beat() is ErrorCode.NONE
    assert classic.owned | native.assigned == _all(6)
    assert not classic.owned & native.assigned


def test_first_joins_share_one_target() -> None:
    """Members that join an empty group within the delay are all answered together (decision 13)."""
    group = OwnedGroup(settings=EngineSettings(group_initial_rebalance_delay_ms=3_000))
    clients = [ClassicClient(group) for _ in range(3)]
    for client in clients:
        client.begin_join()
        group.wait(100)
    assert not any(client.is_joined for client in clients)
    group.wait(6_000)
    assert {len(client.end_join()) for client in clients} == {2}
    assert {client.beat() for client in clients} == {ErrorCode.NONE}


def test_new_partition_calls_only_who_gains() -> None:
    """A grown topic disturbs the gainer alone."""
    group = OwnedGroup(partitions=2)
    first, second = settled_pair(group)
    group.change_topics([Topic(TopicId(b"t" * 16), TOPIC, 3)])
    codes = [first.beat(), second.beat()]
    assert sorted(codes) == [ErrorCode.NONE, ErrorCode.REBALANCE_IN_PROGRESS]
    gainer = (first, second)[codes.index(ErrorCode.REBALANCE_IN_PROGRESS)]
    gainer.join()
    assert first.owned | second.owned == _all(3)


def test_silent_member_loses_its_seat_and_others_gain() -> None:
    """The machine's session deadline removes it (decision 16)."""
    group = OwnedGroup()
    first, second = settled_pair(group)
    codes: list[ErrorCode] = []
    for _ in range(4):
        group.wait(3_000)
        codes.append(first.beat())
    assert codes == [ErrorCode.NONE] * 3 + [ErrorCode.REBALANCE_IN_PROGRESS]
    assert first.join() == _all(6)
    assert second.beat() is ErrorCode.UNKNOWN_MEMBER_ID


def test_static_member_returns_to_its_seat_unnoticed() -> None:
    """KIP-345: a bounce within the session moves nothing; the old incarnation is fenced."""
    group = OwnedGroup()
    first, second = ClassicClient(group, instance_id="a"), ClassicClient(group, instance_id="b")
    first.join()
    second.begin_join()
    first.beat()
    first.join()
    second.end_join()
    owned = second.owned
    again = ClassicClient(group, instance_id="b")
    assert again.join() == owned
    assert again.member_id != second.member_id
    assert second.beat() is ErrorCode.FENCED_INSTANCE_ID
    assert (first.beat(), again.beat()) == (ErrorCode.NONE, ErrorCode.NONE)


def restarted(group: OwnedGroup, former_ms: int, session_ms: int, *natives: ConsumerClient) -> JoinGroupReply:
    """What a static member is told that comes back with another session, and has not said anything more."""
    former, client = ClassicClient(group, instance_id="seat"), ClassicClient(group, instance_id="seat")
    former.session_ms, client.session_ms = former_ms, session_ms
    former.begin_join()
    for native in natives:
        assert (native.beat(), native.beat()) == (ErrorCode.NONE, ErrorCode.NONE)
    former.end_join()
    client.begin_join()
    assert client.parked is not None
    return group.answer(client.parked, JoinGroupReply)


def test_session_of_whom_it_replaced_goes_on_until_a_static_member_beats() -> None:
    """Kafka lets it run where it has a classic group (K1.40); from the first heartbeat on its own counts."""
    group = OwnedGroup()
    joined = restarted(group, 30_000, 6_000)
    group.wait(29_000)
    (ref,) = group.send(Heartbeat(GROUP, joined.generation, joined.member_id, InstanceId("seat")))
    assert group.answer(ref, HeartbeatReply).error is ErrorCode.NONE
    group.wait(5_900)
    assert len(group.owner.machines) == 1
    group.wait(200)
    assert len(group.owner.machines) == 0


def test_longer_session_counts_at_once() -> None:
    """Nobody is thrown out for what its predecessor said (deviations.md)."""
    group = OwnedGroup()
    restarted(group, 6_000, 30_000)
    group.wait(29_000)
    assert len(group.owner.machines) == 1


def test_session_of_whom_it_replaced_is_over_where_a_kip_848_member_is_in_the_group() -> None:
    """A consumer group takes the newcomer's at once, as Kafka's does (K4.50)."""
    group = OwnedGroup()
    native = ConsumerClient(group, "native")
    native.beat()
    restarted(group, 30_000, 6_000, native)
    group.wait(6_100)
    assert len(group.owner.machines) == 0


def test_static_seat_passes_between_protocols_unnoticed() -> None:
    """A rolling upgrade of static members moves nothing (KAFKA-17228), there and back."""
    group = OwnedGroup()
    first, second = ClassicClient(group, instance_id="a"), ClassicClient(group, instance_id="b")
    first.join()
    second.begin_join()
    first.beat()
    first.join()
    owned = second.end_join()
    native = ConsumerClient(group, "native", instance_id="b")
    assert native.beat() is ErrorCode.NONE
    assert native.assigned == owned
    assert second.beat() is ErrorCode.FENCED_INSTANCE_ID
    assert first.beat() is ErrorCode.NONE
    assert native.beat(epoch=-2) is ErrorCode.NONE
    back = ClassicClient(group, instance_id="b")
    assert back.join() == owned
    assert first.beat() is ErrorCode.NONE


def test_heartbeat_that_changes_nothing_counts_without_a_turn() -> None:
    """It moves the session on as any other; nothing is said and nothing has to be written."""
    group = OwnedGroup()
    client = ClassicClient(group, instance_id="seat")
    client.join()
    for _ in range(4):
        group.wait(6_000)
        request = Heartbeat(GROUP, client.generation, client.member_id, client.instance_id)
        assert group.owner.beat_calmly(request, group.now_ms)
    assert client.beat() is ErrorCode.NONE


def test_heartbeat_with_something_to_say_takes_a_turn() -> None:
    """News, a stale generation, somebody unknown and a seat of another are left to the long way (K4.20, K4.30)."""
    group = OwnedGroup()
    client = ClassicClient(group, instance_id="seat")
    client.join()
    calm = Heartbeat(GROUP, client.generation, client.member_id, client.instance_id)
    assert not group.owner.beat_calmly(replace(calm, generation=9), group.now_ms)
    assert not group.owner.beat_calmly(replace(calm, member_id=MemberId("nobody")), group.now_ms)
    assert not group.owner.beat_calmly(replace(calm, group_id=GroupId("other")), group.now_ms)
    assert group.owner.beat_calmly(replace(calm, instance_id=None), group.now_ms)
    other = ClassicClient(group, instance_id="other")
    other.begin_join()
    assert not group.owner.beat_calmly(calm, group.now_ms)
    assert client.beat() is ErrorCode.REBALANCE_IN_PROGRESS
    taken = replace(calm, member_id=other.member_id, instance_id=client.instance_id)
    assert not group.owner.beat_calmly(taken, group.now_ms)


def test_newcomers_are_named_after_their_client_or_instance_unless_they_meet_the_consumer_protocol() -> None:
    """An instance or client stands before the uuid in a classic group (K1.17), and nothing in a consumer group (K4.2).

    A group of classic members alone counts as what Kafka would have. The second client comes back with the id that it
    was promised.
    """
    group = OwnedGroup()
    static, dynamic = ClassicClient(group, instance_id="seat"), ClassicClient(group)
    for client in (static, dynamic):
        client.begin_join()
    group.wait(6_000)
    static.end_join()
    assert (static.member_id, dynamic.member_id) == ("seat-fresh-1", f"{CLIENT.client_id}-fresh-2")
    assert ConsumerClient(group, "n").beat() is ErrorCode.NONE
    late, other = ClassicClient(group), ClassicClient(group, instance_id="other")
    for client in (late, other):
        client.begin_join()
    group.wait(60_000)
    assert late.member_id.startswith("fresh-")
    ids = set(group.owner.shard.groups[GROUP].members)
    assert not any(name.startswith("other-") for name in ids)
