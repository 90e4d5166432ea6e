"""A journal that the version before live moves has written: its groups go on, and nobody has to join again."""

import shutil
from dataclasses import replace
from itertools import count
from pathlib import Path

import trio
from trio.testing import MockClock

from bridge.coordinators.catalog import Catalog
from bridge.coordinators.embedded.groups import EmbeddedGroups, EmbeddedSettings
from bridge.coordinators.embedded.owner import EmbeddedOwner
from bridge.coordinators.ledger import Clients
from bridge.coordinators.machines import Machines
from bridge.engine.assignors.registry import registry
from bridge.engine.settings import EngineSettings
from bridge.engine.state import Shard
from bridge.journal.sqlite import open_journal
from bridge.journal.sqlite_file import FileSettings
from bridge.net.clock import TrioClock
from bridge.session.contracts import NoAccess
from tests.support.embedded_world import FakeBroker, World, native_join
from tests.support.owned_group import counted_ids
from translators.classic_member.states import MemberLimits
from translators.dialects.classic import Heartbeat, HeartbeatReply
from translators.dialects.consumer import ConsumerGroupHeartbeatReply
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import GroupId, MemberId, RequestRef
from translators.dialects.messages import GroupReply

WRITTEN = Path(__file__).parents[1] / "support" / "journals" / "before_moves.sqlite"
"""Written by commit a60e3d7d: a classic group of three, a group of two classic members and one of KIP-848, and one of
two KIP-848 members, of six partitions each and all at rest.
"""
CLASSIC = {
    "classic": {"client-fresh-1": 1, "client-fresh-2": 1, "client-fresh-3": 1},
    "mixed": {"client-fresh-10": 2, "client-fresh-11": 2},
}
"""Generations of the classic members by group."""
NATIVE = {"mixed": {"f": 2}, "consumer": {"g": 3, "h": 3}}
"""Epochs of the KIP-848 members by group."""


async def test_journal_of_the_version_before_is_read_and_its_groups_go_on(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    """Every heartbeat under the old generation or epoch is answered NONE, now and a while later."""
    path = tmp_path / "journal.db"
    shutil.copyfile(WRITTEN, path)
    replies: dict[RequestRef, GroupReply] = {}
    owner = EmbeddedOwner(
        Shard(settings=EngineSettings(group_begins_classic=True), assignors=registry),
        Catalog(),
        Machines(MemberLimits()),
        counted_ids(count(1_000)),
    )

    def deliver(ref: RequestRef, reply: GroupReply) -> None:
        assert ref not in replies, f"{ref} was answered twice"
        replies[ref] = reply

    clients = Clients(deliver, lambda _via: NoAccess())
    broker = FakeBroker()
    groups = EmbeddedGroups(owner, broker, TrioClock(), clients, EmbeddedSettings())
    groups.guard(lambda: None)
    journal = open_journal(FileSettings(path=path))
    try:
        groups.keep(journal)
        assert {*groups.groups()} == {"classic", "mixed", "consumer"}
        async with trio.open_nursery() as nursery:
            await nursery.start(groups.run)
            for _ in range(4):
                await _hear_everybody(World(groups, broker, replies, sequence=count(len(replies))))
                await trio.sleep(3)
            nursery.cancel_scope.cancel()
    finally:
        journal.close()


async def _hear_everybody(world: World) -> None:
    for group_id, generations in CLASSIC.items():
        for member_id, generation in generations.items():
            beat = Heartbeat(GroupId(group_id), generation, MemberId(member_id), None)
            assert (await world.ask(beat, HeartbeatReply)).error is ErrorCode.NONE, beat
    for group_id, epochs in NATIVE.items():
        for member_id, epoch in epochs.items():
            request = replace(
                native_join(member_id),
                group_id=GroupId(group_id),
                member_epoch=epoch,
                rebalance_timeout_ms=-1,
                subscribed_topic_names=None,
                owned=None,
            )
            reply = await world.ask(request, ConsumerGroupHeartbeatReply)
            assert (reply.error, reply.member_epoch, reply.assignment) == (ErrorCode.NONE, epoch, None), request
