"""Groups that change their kind: machines come and go, and clients whose assignment stays notice nothing."""

from collections.abc import Callable

import pytest

from bridge.coordinators.embedded.coordinator import Verdict
from bridge.coordinators.embedded.downgrades import Downgrades
from bridge.coordinators.embedded.owner import EmbeddedOwner
from bridge.engine.commands import ConvertGroup, EndCommit, GroupType, Speaks
from bridge.engine.model import Current, Subscription
from bridge.engine.outcome import Converted, DowngradeDue, NotConverted, Unready
from bridge.engine.queries import group_type
from bridge.engine.records import (
    CurrentAssigned,
    GroupDeleted,
    GroupEpochBumped,
    MemberForgotten,
    MemberSubscribed,
    Record,
    TargetAssigned,
    TargetEpochReached,
    TopicGone,
)
from bridge.engine.settings import EngineSettings
from tests.support.led_group import FORM_MS, LedClient, form
from tests.support.owned_group import GROUP, TOPIC, ClientsAhead, ConsumerClient, OwnedGroup
from translators.dialects.classic import Heartbeat, HeartbeatReply, JoinGroupReply
from translators.dialects.configs import MigrationPolicy
from translators.dialects.coordinator import CommitAdmitted
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import (
    GroupId,
    MemberId,
    MemberRef,
    RequestRef,
    Topic,
    TopicId,
    TopicPartition,
)
from translators.dialects.offsets import OffsetCommit, PartitionCommit, TopicCommit

NONE, CALLED = ErrorCode.NONE, ErrorCode.REBALANCE_IN_PROGRESS
SETTINGS = EngineSettings(group_initial_rebalance_delay_ms=10, group_begins_classic=True, departure_wait_ms=0)


def led(count: int, assignor: str = "range", settings: EngineSettings = SETTINGS) -> tuple[OwnedGroup, list[LedClient]]:
    """A classic group of six partitions at work."""
    group = OwnedGroup(partitions=6, settings=settings)
    clients = [LedClient(group, assignor) for _ in range(count)]
    form(group, clients)
    assert kind(group.owner) is GroupType.CLASSIC
    return group, clients


def kind(owner: EmbeddedOwner) -> GroupType | None:
    """What the group is now."""
    return group_type(owner.shard, GROUP)


def order(group: OwnedGroup, to: GroupType, *, is_dry_run: bool = False) -> Verdict:
    """An operator's order."""
    command = ConvertGroup(ref=RequestRef(0, -1, 1), group_id=GROUP, to=to, is_dry_run=is_dry_run)
    group.tell(command)
    ((_, verdict),) = group.owner.take_verdicts()
    return verdict


def commit(client: LedClient, partition: TopicPartition) -> bool:
    """Whether a commit of this client is let through; it ends at once."""
    request = OffsetCommit(
        group_id=GROUP,
        generation=client.generation,
        member_id=client.member_id,
        instance_id=client.instance_id,
        topics=(TopicCommit(name=TOPIC, partitions=(PartitionCommit(partition=partition.partition, offset=1),)),),
    )
    begun = client.group.owner.begin_commit(RequestRef(0, 9, 9), request, client.group.now_ms)
    if isinstance(begun, CommitAdmitted):
        client.group.tell(EndCommit(begun.commit_id))
    return isinstance(begun, CommitAdmitted)


def work(clients: list[LedClient], natives: list[ConsumerClient]) -> list[int]:
    """Let everybody beat and rejoin until nothing moves; how often each classic client had to join again."""
    joins = [0] * len(clients)
    for _ in range(12):
        for native in natives:
            assert native.beat() is NONE
        for place, client in enumerate(clients):
            if client.is_joined:
                client.end_join()
            elif client.parked is None and client.beat() is CALLED:
                joins[place] += 1
                client.begin_join()
        clients[0].group.wait(1)
    assert all(client.parked is None for client in clients)
    return joins


def owned(client: LedClient | ConsumerClient) -> frozenset[TopicPartition]:
    """What a client of either kind has."""
    return client.owned if isinstance(client, LedClient) else client.assigned


def owned_by(clients: list[LedClient], natives: list[ConsumerClient]) -> list[TopicPartition]:
    """Everything that anybody owns, in order."""
    everybody: list[LedClient | ConsumerClient] = [*clients, *natives]
    return sorted(one for client in everybody for one in owned(client))


ALL = [TopicPartition(TOPIC, index) for index in range(6)]


@pytest.mark.parametrize("assignor", ["range", "cooperative-sticky"])
def test_first_native_member_makes_a_consumer_group_and_only_losers_notice(assignor: str) -> None:
    """Ids, generations and assignments stay; commits under the old generation count (decision 7)."""
    group, clients = led(3, assignor)
    before = [(client.member_id, client.generation, client.owned) for client in clients]
    native = ConsumerClient(group, "native")
    assert native.beat() is NONE
    assert kind(group.owner) is GroupType.CONSUMER
    assert all(commit(client, min(client.owned)) for client in clients)
    joins = work(clients, [native])
    assert owned_by(clients, [native]) == ALL
    for (member_id, generation, owned), client, joined in zip(before, clients, joins, strict=True):
        assert client.member_id == member_id
        if client.owned == owned:
            assert (client.generation, joined) == (generation, 0)
        else:
            assert joined >= 1
    assert sum(joins) <= 2


@pytest.mark.parametrize("assignor", ["range", "cooperative-sticky"])
def test_last_native_member_leaves_a_classic_group_behind_and_only_gainers_notice(assignor: str) -> None:
    """The group waits until every client has what it is to have; then nobody has to be called for it (decision 8)."""
    group, clients = led(3, assignor)
    natives = [ConsumerClient(group, "n1"), ConsumerClient(group, "n2")]
    for native in natives:
        assert native.beat() is NONE
    work(clients, natives)
    before = [(client.generation, client.owned) for client in clients]
    for native in natives:
        assert native.beat(-1) is NONE
        native.assigned = frozenset()
    joins = work(clients, [])
    assert kind(group.owner) is GroupType.CLASSIC
    assert owned_by(clients, []) == ALL
    for (generation, owned), client, joined in zip(before, clients, joins, strict=True):
        assert (joined == 0) is (client.owned == owned)
        assert (client.generation == generation) is (client.owned == owned)
    assert [client.beat() for client in clients] == [NONE] * 3
    assert all(commit(client, min(client.owned)) for client in clients)
    assert len(group.owner.machines) == 0


def test_operator_converts_there_and_back_and_nobody_notices() -> None:
    """Nobody comes or goes: not one heartbeat is answered with anything but NONE."""
    group, clients = led(3)
    before = [(client.generation, client.owned) for client in clients]
    assert order(group, GroupType.CONSUMER, is_dry_run=True) == Converted(GROUP, GroupType.CONSUMER, 3, False)
    assert kind(group.owner) is GroupType.CLASSIC
    assert order(group, GroupType.CONSUMER) == Converted(GROUP, GroupType.CONSUMER, 3, False)
    assert (kind(group.owner), len(group.owner.machines)) == (GroupType.CONSUMER, 3)
    assert work(clients, []) == [0, 0, 0]
    assert order(group, GroupType.CLASSIC, is_dry_run=True) == Converted(GROUP, GroupType.CLASSIC, 3, False)
    assert order(group, GroupType.CLASSIC) == Converted(GROUP, GroupType.CLASSIC, 3, False)
    assert (kind(group.owner), len(group.owner.machines)) == (GroupType.CLASSIC, 0)
    assert work(clients, []) == [0, 0, 0]
    assert [(client.generation, client.owned) for client in clients] == before


def test_parked_joins_are_answered_by_the_new_group() -> None:
    """A rebalance runs: who waits gets its assignment from the consumer group, who has not heard yet keeps its own."""
    group, clients = led(2)
    newcomer = LedClient(group)
    newcomer.begin_join()
    assert clients[0].beat() is CALLED
    clients[0].begin_join()
    assert (newcomer.is_joined, clients[0].is_joined) == (False, False)
    native = ConsumerClient(group, "native")
    assert native.beat() is NONE
    everybody = [*clients, newcomer]
    work(everybody, [native])
    assert owned_by(everybody, [native]) == ALL
    assert kind(group.owner) is GroupType.CONSUMER


def test_parked_syncs_are_answered_with_what_the_new_group_gives() -> None:
    """Between JoinGroup and SyncGroup: one stop, not two."""
    group = OwnedGroup(partitions=6, settings=SETTINGS)
    clients = [LedClient(group) for _ in range(2)]
    for client in clients:
        client.begin_join()
    group.wait(FORM_MS)
    follower = next(client for client in clients if not client.leads)
    follower.take_join()
    assert order(group, GroupType.CONSUMER) == Converted(GROUP, GroupType.CONSUMER, 2, True)
    assert follower.take_sync()
    leader = next(client for client in clients if client is not follower)
    leader.take_join()
    leader.take_sync()
    work(clients, [])
    assert owned_by(clients, []) == ALL


def test_cooperative_member_that_has_not_synced_yet_still_has_what_it_had() -> None:
    """The rest of its old assignment is nobody else's before it has let go of it (decision 7)."""
    group, (first,) = led(1, "cooperative-sticky")
    second = LedClient(group, "cooperative-sticky")
    second.begin_join()
    assert first.beat() is CALLED
    first.begin_join()
    for client in sorted((first, second), key=lambda client: not client.leads):
        client.take_join()
    second.take_sync()
    native = ConsumerClient(group, "native")
    assert native.beat() is NONE
    assert first.owned.isdisjoint(native.assigned)
    assert len(first.owned) == 6
    first.take_sync()
    first.begin_join()
    work([first, second], [native])
    assert owned_by([first, second], [native]) == ALL


def test_newcomer_whose_seat_was_taken_meanwhile_is_fenced() -> None:
    """The process that waits is the older one; the newer speaks the consumer protocol (K1.40)."""
    group, _ = led(1)
    old = LedClient(group, "range", "seat")
    old.begin_join()
    native = ConsumerClient(group, "native", "seat")
    assert native.beat() is NONE
    assert old.parked is not None
    assert group.answer(old.parked, JoinGroupReply).error is ErrorCode.FENCED_INSTANCE_ID
    assert native.beat() is NONE


def test_order_that_cannot_be_carried_out_says_why() -> None:
    """A value with a reason, and the group stays what it is."""
    group, clients = led(1, "acme")
    refused = order(group, GroupType.CONSUMER)
    assert isinstance(refused, NotConverted)
    assert refused.reason is Unready.CUSTOM_ASSIGNOR
    same = order(group, GroupType.CLASSIC)
    assert isinstance(same, NotConverted)
    assert same.reason is Unready.SAME_TYPE
    assert [client.beat() for client in clients] == [NONE]


def test_policy_keeps_groups_as_they_are_but_not_from_operators() -> None:
    """The first native member hears that there is no such consumer group (K3.1 to K3.3)."""
    settings = EngineSettings(
        group_initial_rebalance_delay_ms=10,
        group_begins_classic=True,
        group_consumer_migration_policy=MigrationPolicy.DISABLED,
    )
    group, clients = led(2, settings=settings)
    assert ConsumerClient(group, "native").beat() is ErrorCode.GROUP_ID_NOT_FOUND
    assert kind(group.owner) is GroupType.CLASSIC
    assert isinstance(order(group, GroupType.CONSUMER), Converted)
    assert work(clients, []) == [0, 0]


def test_everybody_in_the_turn_of_a_conversion_meets_the_group_as_it_is_then() -> None:
    """Heartbeats that arrive together with the first native member, and the one on which a downgrade waited."""
    group, clients = led(3)
    native = ConsumerClient(group, "native")
    beats = [Heartbeat(GROUP, client.generation, client.member_id, None) for client in clients]
    refs = group.send(native.heartbeat(), beats[0], *beats[1:])
    assert {group.answer(ref, HeartbeatReply).error for ref in refs[1:]} <= {NONE, CALLED}
    native.take(refs[0])
    work(clients, [native])
    beats = [Heartbeat(GROUP, client.generation, client.member_id, None) for client in clients]
    refs = group.send(native.heartbeat(-1), *beats)
    native.assigned = frozenset()
    assert {group.answer(ref, HeartbeatReply).error for ref in refs[1:]} <= {NONE, CALLED}
    work(clients, [])
    assert kind(group.owner) is GroupType.CLASSIC
    assert owned_by(clients, []) == ALL


def test_static_member_changes_its_protocol_on_its_seat() -> None:
    """KIP-345 across protocols: the seat keeps its partitions, and nobody else hears of it."""
    group = OwnedGroup(partitions=6, settings=SETTINGS)
    clients = [LedClient(group, "range", f"seat-{number}") for number in range(3)]
    form(group, clients)
    before = clients[0].owned
    native = ConsumerClient(group, "native", "seat-0")
    assert native.beat() is NONE
    assert kind(group.owner) is GroupType.CONSUMER
    assert work(clients[1:], [native]) == [0, 0]
    assert native.assigned == before
    back = LedClient(group, "range", "seat-0")
    assert back.join() == before
    assert work([back, *clients[1:]], []) == [0, 0, 0]
    assert kind(group.owner) is GroupType.CLASSIC


def test_classic_member_that_speaks_kip_848_under_its_own_id_converts_the_group_and_itself() -> None:
    """No machine stands for it any more, and what it left parked is answered (K3.17, as seen on 4.3.1)."""
    group, (first, second) = led(2)
    first.begin_join()
    assert first.parked is not None
    parked = first.parked
    native = ConsumerClient(group, first.member_id)
    assert native.beat() is NONE
    assert group.answer(parked, JoinGroupReply).error is CALLED
    members = group.owner.shard.groups[GROUP].members
    assert [members[one.member_id].subscription.speaks for one in (first, second)] == [Speaks.CONSUMER, Speaks.CLASSIC]
    assert group.owner.machines.get(MemberRef(GROUP, first.member_id)) is None
    work([second], [native])
    assert owned_by([second], [native]) == ALL


@pytest.mark.parametrize("to", [GroupType.CONSUMER, GroupType.CLASSIC])
def test_restart_right_after_a_conversion_goes_on(to: GroupType) -> None:
    """Machines and records of one conversion are in one append: neither is there without the other."""
    group = OwnedGroup(partitions=6, settings=SETTINGS)
    group.owner.revive((), 0)
    entries = list(group.owner.entries())
    group.change_topics([Topic(TopicId(b"t" * 16), TOPIC, 6)])
    clients = [LedClient(group) for _ in range(2)]
    form(group, clients)
    assert isinstance(order(group, GroupType.CONSUMER), Converted)
    if to is GroupType.CLASSIC:
        work(clients, [])
        assert isinstance(order(group, GroupType.CLASSIC), Converted)
    entries += group.owner.entries()
    again = OwnedGroup(partitions=6, settings=SETTINGS)
    again.owner.revive(iter(entries), group.now_ms)
    assert kind(again.owner) is to
    for client in clients:
        client.group = again
    assert [client.beat() for client in clients] == [NONE, NONE]
    assert work(clients, []) == [0, 0]


MEMBER = MemberId("m")
HAPPENINGS: tuple[Callable[[GroupId, Subscription], Record], ...] = (
    lambda group_id, _: GroupEpochBumped(group_id, 2),
    MemberSubscribed,
    lambda group_id, _: MemberForgotten(group_id, MEMBER),
    lambda group_id, _: CurrentAssigned(group_id, MEMBER, Current()),
    lambda group_id, _: TargetAssigned(group_id, MEMBER, frozenset()),
    lambda group_id, _: TargetEpochReached(group_id, 2, "uniform"),
    lambda group_id, _: GroupDeleted(group_id),
)


@pytest.mark.parametrize("make", HAPPENINGS)
def test_group_that_is_due_is_looked_at_when_something_has_happened_to_it(
    make: Callable[[GroupId, Subscription], Record],
) -> None:
    """Not in each turn of any group: hundreds that waited for a client each held everybody up in every turn."""
    group, members, another = OwnedGroup(), ClientsAhead(), GroupId("another")
    ConsumerClient(group, "n").beat(0)
    ((_, member),) = group.owner.shard.groups[GROUP].members.items()
    downgrades = Downgrades(group.owner.shard, members)
    downgrades.hear((make(GROUP, member.subscription),))
    downgrades.note(DowngradeDue(GROUP))
    assert downgrades.next_step(0) is None
    members.is_ready = True
    downgrades.hear((make(another, member.subscription), TopicGone(TopicId(bytes(16)))))
    downgrades.look_again(another)
    assert downgrades.next_step(0) is None, "nothing has happened to it"
    downgrades.hear((make(GROUP, member.subscription),))
    step = downgrades.next_step(0)
    assert (step is not None and step.group_id, downgrades.due) == (GROUP, {})
    assert downgrades.next_step(0) is None


def test_group_that_is_gone_is_due_no_more() -> None:
    """Its members died, say."""
    group = OwnedGroup()
    ConsumerClient(group, "n").beat(0)
    downgrades = Downgrades(group.owner.shard, ClientsAhead())
    downgrades.note(DowngradeDue(GROUP))
    assert downgrades.next_step(0) is None
    del group.owner.shard.groups[GROUP]
    assert downgrades.due, "until it is heard"
    downgrades.hear((GroupDeleted(GROUP),))
    assert (downgrades.next_step(0), downgrades.due) == (None, {})
