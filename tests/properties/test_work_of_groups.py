"""Law of what follows and claims groups, and of what waits in them: twice as many cost at most about twice the work.

Claims went through all groups of the bridge, and whoever was given partitions was compared with the silent members of
all groups; for each client that hung up, all that others waited for was looked through, and for each commit all those
whose broker had died; a client that hung up in a move, behind a large commit or behind a long list cost a look at all
who waited there.
"""

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import pytest
import trio
from trio.testing import MockClock

from bridge.coordinators.arrivals import Arrival
from bridge.coordinators.catalog import Catalog
from bridge.coordinators.commit_pieces import PIECE_PARTITIONS, CommitPieces
from bridge.coordinators.embedded.bridge_meeting import Place
from bridge.coordinators.embedded.commit_forwarding import CommitForwarder, ForwardingWays
from bridge.coordinators.embedded.downgrades import Downgrades
from bridge.coordinators.embedded.joins import WaitingRequests
from bridge.coordinators.embedded.other_bridges import Bridges
from bridge.coordinators.embedded.partition_queue import GroupPartition, PartitionQueue, Work
from bridge.coordinators.embedded.view_pieces import PIECE_MEMBERS, ViewPieces
from bridge.coordinators.exchange import ForgottenIds
from bridge.coordinators.moving.held_requests import HeldRequests, Sessions, Waiting
from bridge.coordinators.moving.proof import ProofOfRest
from bridge.coordinators.moving.requests import Held, Ways
from bridge.coordinators.upstream.coordinator import UpstreamCoordinator
from bridge.engine.outcome import DowngradeDue
from bridge.migration.roster import Roster
from bridge.migration.route import Router
from tests.support.embedded_world import FakeBroker, FakeVia, commit_request, join_request, leave_request
from tests.support.heard import Ears
from tests.support.judged_orders import member
from tests.support.owned_group import CLIENT, GROUP, TOPIC, ClientsAhead, ConsumerClient, OwnedGroup
from tests.support.passing_words import beat, beaten, join, joined, named, sync, synced
from tests.support.work_done import growth_faults
from translators.dialects.admin import DescribeGroups
from translators.dialects.classic import Heartbeat
from translators.dialects.consumer import ConsumerGroupHeartbeat, ConsumerGroupHeartbeatReply
from translators.dialects.coordinator import CommitAdmitted, Inquiry
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import (
    JOIN_EPOCH,
    ClientIdentity,
    GroupId,
    MemberId,
    MemberRef,
    RequestRef,
    Topic,
    TopicId,
    TopicIdPartition,
    TopicName,
    TopicPartition,
    via_of,
)

SIZES = (10, 20, 40)
PLACE = GroupPartition(GROUP, TopicPartition(TOPIC, 0))
HOST = "/127.0.0.1"
TOPIC_ID = TopicId(b"t" * 16)


def rebalance(size: int) -> None:
    """A classic group that passes forms, is called and rebalances, and each member fetches what it was given."""
    ears = Ears()
    names = [f"member-{number}" for number in range(size)]
    for generation in (1, 2):
        if generation > 1:
            for name in names:
                ears.pass_by(beat(name, 1), beaten(ErrorCode.REBALANCE_IN_PROGRESS))
        refs = [ears.ask(join(name), connection) for connection, name in enumerate(names)]
        for name, ref in zip(names, refs, strict=True):
            members = tuple(names) if name == names[0] else ()
            ears.answer(ref, joined(name, generation, leader=names[0], members=members))
        shares = {name: (number + generation,) for number, name in enumerate(names)}
        for name in names:
            given = shares if name == names[0] else None
            ears.pass_by(sync(name, generation, given), synced(*shares[name]))
        for name in names:
            client = ClientIdentity(client_id=f"client-{name}", client_host=HOST)
            ears.follower.fetched(client, named(*shares[name]), False, ears.now_us)
    ears.follower.writer.look(ears.follower.groups[GroupId("g")], ears.now_us)


def fall_silent(size: int) -> None:
    """As many members lose their connections as those of another group are given partitions."""
    ears = Ears()
    ears.topics.change([Topic(TOPIC_ID, TopicName("t"), 2 * size)], ())
    for group, first in (("silent", 0), ("taking", size)):
        for number in range(first, first + size):
            _report(ears, group, number)
            if group == "silent":
                ears.follower.lost(number, ears.now_us)


def _report(ears: Ears, group: str, number: int) -> None:
    member_id = MemberId(f"member-{number}")
    request = ConsumerGroupHeartbeat(
        group_id=GroupId(group),
        member_id=member_id,
        member_epoch=JOIN_EPOCH,
        rebalance_timeout_ms=60_000,
        subscribed_topic_names=(TopicName("t"),),
        owned=frozenset(),
    )
    reply = ConsumerGroupHeartbeatReply(
        error=ErrorCode.NONE,
        member_id=member_id,
        member_epoch=1,
        heartbeat_interval_ms=5_000,
        assignment=frozenset({TopicIdPartition(TOPIC_ID, number)}),
    )
    ears.answer(ears.ask(request, number), reply)


def claims(size: int) -> None:
    """A bridge that is alone, or takes itself to be, claims one group after the other, and they get members."""
    live: list[GroupId] = []
    living: set[GroupId] = set()

    async def claim() -> None:
        place = Place(bridge="a", where="at a", group_id=GroupId("bridges"))
        bridges = Bridges(FakeBroker(), place, lambda: iter(live), living.__contains__, lambda: 0)
        for number in range(size):
            group_id = GroupId(f"group-{number}")
            await bridges.claim(group_id)
            live.append(group_id)
            living.add(group_id)

    trio.run(claim, clock=MockClock(autojump_threshold=0))


def hang_up_while_joining(size: int) -> None:
    """Joins wait for the broker's word, each on a connection of its own, until their clients' patience is over."""
    waiting = WaitingRequests()
    for number in range(size):
        waiting.begin(Arrival(RequestRef(0, number, 1), CLIENT, join_request(f"member-{number}")))
    for number in range(size):
        waiting.forget(number)
    for number in range(size):
        assert not tuple(waiting.end(RequestRef(0, number, 1)))


def hang_up_while_committing(size: int) -> None:
    """Commits wait for one that the broker does not answer."""
    queue = PartitionQueue()
    for number in range(size):
        queue.enter(Work(number, frozenset({PLACE}), lambda: None))
    for number in range(1, size):
        queue.forget(number)
    assert queue.waiting == 0


def delete_beside_commits(size: int) -> None:
    """Each of as many groups has a commit on its way, and is to be deleted."""
    queue = PartitionQueue()
    names = [GroupId(f"group-{number}") for number in range(size)]
    for name in names:
        queue.enter(Work(1, frozenset({PLACE._replace(group_id=name)}), lambda: None))
    for name in names:
        assert len(queue.places_of({name})) == 1


def forget_ids(size: int) -> None:
    """All members are told that their generation is gone, and come back as newcomers."""
    forgotten = ForgottenIds()
    for number in range(size):
        forgotten.note(MemberRef(GROUP, MemberId(f"member-{number}")), number, CLIENT, 0)
    for number in reversed(range(size)):
        assert forgotten.take(GROUP, number, CLIENT, 0) == MemberRef(GROUP, MemberId(f"member-{number}"))


def commit_to_a_broker_that_dies(size: int) -> None:
    """Each client has a commit on its way whose answer never comes, and one for another partition behind it."""
    answered = list[RequestRef]()
    ways = ForwardingWays(
        begin=lambda ref, _: CommitAdmitted(ref.connection),
        end=lambda _: None,
        deliver=lambda ref, _: answered.append(ref),
        report_foreign=lambda _: None,
        due_changed=lambda: None,
    )
    forwarder = CommitForwarder(Catalog(), ways, 5_000, lambda: 0)
    for number in range(size):
        via = FakeVia(connection=number)
        forwarder.submit(RequestRef(0, number, 1), via, commit_request(1, f"member-{number}", (number,)))
        via.answer(lambda _: None)
    assert len(answered) == size
    forwarder.pass_drains(5_000)
    assert not forwarder.queue.places_of({GROUP})


def _inquiry(number: int) -> Inquiry:
    return Inquiry(
        group_id=GROUP,
        member_id=MemberId(f"member-{number}"),
        member_epoch=1,
        instance_id=None,
        rack_id=None,
        topics=frozenset({TOPIC}),
        rebalance_timeout_ms=60_000,
        owned=frozenset({TopicPartition(TOPIC, number)}),
    )


def beat_behind_commits(size: int) -> None:
    """Each member of a group at the broker has a commit on its way, and asks what it has."""
    via = FakeVia(connection=1)
    coordinator = UpstreamCoordinator(Catalog(), lambda _: via, lambda: MemberId("fresh"), lambda: None)
    coordinator.knows_topics = True
    for number in range(size):
        coordinator.begin_commit(RequestRef(0, 1, number), commit_request(1, f"member-{number}", (number,)), 0)
    for number in range(size):
        asked = _inquiry(number)
        coordinator.submit(MemberRef(GROUP, asked.member_id, 1), via_of(RequestRef(0, 1, number)), CLIENT, asked)
    assert len(via.open) == size


def hang_up_while_looked_for(size: int) -> None:
    """Each client asks for more groups than are looked at in a turn."""
    pieces = ViewPieces()
    for number in range(size):
        pieces.begin(number, iter([0, PIECE_MEMBERS, 0]), DescribeGroups(group_ids=()), lambda _: None)
    for number in range(size):
        pieces.forget(number)
    pieces.go_on()


def hang_up_while_large_commits_wait(size: int) -> None:
    """Each group has a large commit on its way, of a client of its own, who has said farewell behind it."""
    pieces = CommitPieces(lambda _ref, _reply: None, lambda: None)
    large = commit_request(1, "m", tuple(range(PIECE_PARTITIONS + 1)))
    for number in range(size):
        group_id, via = GroupId(f"group-{number}"), FakeVia(connection=number)
        pieces.submit(RequestRef(0, number, 1), via, replace(large, group_id=group_id))
        farewell = replace(leave_request("m"), group_id=group_id)
        assert pieces.keeps(RequestRef(0, number, 2), farewell, lambda: None)
    for number in range(size):
        pieces.forget(number)
    assert all(pieces.holds(GroupId(f"group-{number}")) for number in range(size))


def hang_up_while_moved(size: int) -> None:
    """Each member of a group that is moved, as a whole or one by one, has asked for something, as has a newcomer."""
    whole = HeldRequests[Held](lambda _: None)
    ways = Ways(Router(()), lambda _: FakeVia(), lambda _ref, _reply: None, {}, Roster())
    one_by_one = Waiting(ways, Sessions(lambda: 0, {}), lambda _: None)
    for number in range(size):
        ref = RequestRef(0, number, 1)
        beats = Held(ref, CLIENT, via_of(ref), Heartbeat(GROUP, 1, MemberId(f"member-{number}"), None), 0)
        whole.keep(beats)
        one_by_one.hold(MemberId(f"member-{number}"), beats)
        one_by_one.hold_join(replace(beats, request=join_request(f"new-{number}")))
    for number in range(size):
        whole.forget(number)
        one_by_one.forget(number)
    assert (whole.take(), one_by_one.members(), one_by_one.take_joins()) == ([], (), [])


def hang_up_before_the_proof(size: int) -> None:
    """All members of a group were heard but one, by two connections each, and are to be heard anew."""
    names = [MemberId(f"member-{number}") for number in range(size + 1)]
    members = dict.fromkeys(names, member())
    proof = ProofOfRest(GROUP, members, {}, lambda via: FakeVia(connection=via.connection))
    for number, name in enumerate(names[:size]):
        for connection in (number, size + number):
            proof.hear(via_of(RequestRef(0, connection, 1)), Heartbeat(GROUP, 1, name, None))
    for number in range(2 * size):
        proof.disconnected(number)
    assert not proof.heard


def hang_up_behind_commits(size: int) -> None:
    """Each member of a group at the broker has a commit on its way of what it has lost, and asks what it has."""
    via = FakeVia(connection=1)
    coordinator = UpstreamCoordinator(Catalog(), lambda _: via, lambda: MemberId("fresh"), lambda: None)
    coordinator.knows_topics = True
    for number in range(size):
        ref = RequestRef(0, number, 1)
        coordinator.begin_commit(ref, commit_request(1, f"member-{number}", (number,)), 0)
        asked = replace(_inquiry(number), owned=frozenset())
        coordinator.submit(MemberRef(GROUP, asked.member_id, 1), via_of(ref), CLIENT, asked)
    assert not via.open
    for number in range(size):
        coordinator.lose_connection(number)
    assert len(coordinator.open_questions()) == size


def lag_behind_downgrades(size: int) -> None:
    """As many groups as there are turns are to turn classic, each of which waits for a client that does not sync."""
    owned = OwnedGroup()
    ConsumerClient(owned, "native").beat(JOIN_EPOCH)
    shard = owned.owner.shard
    downgrades = Downgrades(shard, ClientsAhead())
    for number in range(size):
        group_id = GroupId(f"group-{number}")
        shard.groups[group_id] = shard.groups[GROUP]
        downgrades.note(DowngradeDue(group_id))
    for _ in range(size):
        assert downgrades.next_step(0) is None
    assert len(downgrades.due) == size


@pytest.mark.parametrize("story", [rebalance, fall_silent, claims])
def test_twice_the_size_costs_at_most_about_twice_the_work(story: Callable[[int], None]) -> None:
    """Lines that ran and bytes that were allocated, of sizes that double."""
    assert not growth_faults([partial(story, size) for size in SIZES])


@pytest.mark.parametrize(
    ("story", "times"),
    [
        (hang_up_while_joining, 10),
        (hang_up_while_committing, 10),
        (delete_beside_commits, 10),
        (forget_ids, 10),
        (commit_to_a_broker_that_dies, 30),
        (beat_behind_commits, 20),
        (hang_up_while_looked_for, 30),
        (hang_up_while_large_commits_wait, 10),
        (hang_up_while_moved, 20),
        (hang_up_before_the_proof, 20),
        (hang_up_behind_commits, 20),
        (lag_behind_downgrades, 10),
    ],
)
def test_twice_as_much_that_waits_costs_at_most_about_twice_the_work(story: Callable[[int], None], times: int) -> None:
    """The same of what shows only where there is more of it, beside all else that is done for each."""
    assert not growth_faults([partial(story, times * size) for size in SIZES])


def test_law_finds_a_look_through_all_members() -> None:
    """It would be worth nothing if a comprehension in one line counted once."""
    assert growth_faults([partial(_look_through_all, size) for size in (200, 400, 800)])


def _look_through_all(size: int) -> None:
    members = list(range(size))
    for one in members:
        assert [other for other in members if other == one] == [one]
