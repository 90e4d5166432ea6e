"""Who a bridge is to others before the same cluster, over its lives."""

from dataclasses import replace
from pathlib import Path

import pytest
import trio
from trio.testing import MockClock

from bridge.app.bridges import FACT, OFF, contested, leave_bridges, meet_bridges, others, own_id
from bridge.app.composition import make_owner
from bridge.app.journal import keep_journal
from bridge.config.configuration import Config, GroupRule
from bridge.config.keys import Settings
from bridge.coordinators.embedded.bridge_meeting import Claims
from bridge.coordinators.embedded.groups import EmbeddedGroups, EmbeddedSettings
from bridge.coordinators.ledger import Clients
from bridge.migration.route import Road
from bridge.net.clock import TrioClock
from bridge.ports import BrokerUnreachable
from bridge.session.contracts import NoAccess
from bridge.wire.codec.registry import Reply, Request
from tests.support.embedded_world import FakeBroker, embedded_world
from tests.support.memory_journal import MemoryJournal
from translators.dialects.admin import DescribedGroup, DescribeGroups, DescribeGroupsReply
from translators.dialects.classic import JoinGroup, LeaveGroup, LeaveGroupReply
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import GroupId, RequestRef
from translators.dialects.messages import GroupReply

RULES = (GroupRule("orders-*", Road.EMBEDDED),)
ORDERS = GroupId("orders")


class Cluster(FakeBroker):
    """Has a group of bridges that nobody is in; `heard` is what was asked of it."""

    def __init__(self) -> None:
        super().__init__()
        self.heard: list[Request] = []

    async def ask_coordinator(self, request: Request) -> Reply:
        """See `ports.Broker`."""
        self.heard.append(request)
        if isinstance(request, LeaveGroup):
            return LeaveGroupReply(error=ErrorCode.NONE)
        if isinstance(request, JoinGroup):
            raise BrokerUnreachable("nobody comes in")
        assert isinstance(request, DescribeGroups)
        nobody = DescribedGroup(error=ErrorCode.NONE, group_id=request.group_ids[0], group_state="Dead")
        return DescribeGroupsReply(groups=(nobody,))


def config_in(folder: Path, journal: str = "sqlite", **changed: str) -> Config:
    """A bridge with a journal in this folder."""
    settings = Settings(
        bootstrap=("127.0.0.1:1",),
        listen="127.0.0.1:9192",
        journal=journal,
        journal_path=str(folder / "journal.db"),
        journal_sync="normal",
    )
    return Config(replace(settings, bridges_group=changed.get("bridges_group", settings.bridges_group)), RULES)


def groups_of(config: Config, broker: Cluster | None = None) -> EmbeddedGroups:
    """Embedded groups without clients."""

    def deliver(ref: RequestRef, reply: GroupReply) -> None:
        raise AssertionError(f"nobody asked {ref}, answered {reply}")

    return EmbeddedGroups(
        make_owner(config, 0),
        broker or Cluster(),
        TrioClock(),
        Clients(deliver, lambda _: NoAccess()),
        EmbeddedSettings(),
    )


async def test_journal_knows_who_the_bridge_is(tmp_path: Path, autojump_clock: MockClock) -> None:
    """Over restarts; another journal is another bridge."""
    config = config_in(tmp_path)

    async def id_of(journal: MemoryJournal, fresh_id: str) -> str | None:
        async with embedded_world() as world:
            world.groups.keep(journal)
            meet_bridges(config, world.groups, fresh_id)
            await trio.sleep(0.1)
            return world.groups.fact(FACT)

    journal = MemoryJournal()
    assert [await id_of(journal, fresh) for fresh in ("one", "two")] == ["one", "one"]
    assert await id_of(MemoryJournal(), "three") == "three"


def test_without_journal_the_place_is_the_name(tmp_path: Path) -> None:
    """A bridge that was killed comes back as itself; port 0 is a place of many."""
    config = config_in(tmp_path, "memory")
    assert own_id(config, "one") == own_id(config, "two") not in {"one", "two"}
    elsewhere = replace(config, settings=replace(config.settings, listen="127.0.0.1:9193"))
    assert own_id(elsewhere, "one") != own_id(config, "one")
    anywhere = replace(config, settings=replace(config.settings, listen="127.0.0.1:0"))
    assert own_id(anywhere, "one") == "one"


def test_nobody_is_looked_for_whom_nobody_wants(tmp_path: Path) -> None:
    """Then there are none, as far as metrics tell."""
    config = config_in(tmp_path, "memory", bridges_group=OFF)
    groups = groups_of(config)
    meet_bridges(config, groups, "one")
    assert groups.bridges is None
    assert (others(groups), contested(groups)) == (0, {})


async def test_bridges_that_run_may_be_met_later_and_only_once(tmp_path: Path, autojump_clock: MockClock) -> None:
    """The first rule or order for a group of the bridge's own may come while it runs: two bridges had one group then,
    and neither heard of the other.
    """
    config, broker = config_in(tmp_path, "memory"), Cluster()
    groups = groups_of(config, broker)
    async with trio.open_nursery() as nursery:
        await nursery.start(groups.run)
        meet_bridges(config, groups, "one")
        met = groups.bridges
        meet_bridges(config, groups, "two")
        assert groups.bridges is met is not None
        await trio.sleep(1)
        assert any(isinstance(request, DescribeGroups) for request in broker.heard)
        assert await groups.join_checks.claim(ORDERS) is None
        nursery.cancel_scope.cancel()


OTHERS = (Claims(bridge="b", where="there"),)


@pytest.mark.parametrize(
    ("journal", "company", "leaves"),
    [("memory", (), 1), ("memory", OTHERS, 1), ("sqlite", (), 1), ("sqlite", OTHERS, 0)],
)
async def test_who_knows_its_groups_again_stays_for_others(
    journal: str, company: tuple[Claims, ...], leaves: int, tmp_path: Path, autojump_clock: MockClock
) -> None:
    """With a journal the bridge goes on where it was, and nobody is to take its groups meanwhile."""
    config, broker = config_in(tmp_path, journal), Cluster()
    groups = groups_of(config, broker)
    with keep_journal(config, groups, {}):
        meet_bridges(config, groups, "one")
        assert await groups.join_checks.claim(ORDERS) is None
        assert (others(groups), contested(groups)) == (0, {"here": 0, "elsewhere": 0})
        assert groups.bridges is not None
        groups.bridges.others = company
        await leave_bridges(config, groups)
    assert sum(isinstance(request, LeaveGroup) for request in broker.heard) == leaves
    assert not any(isinstance(request, JoinGroup) for request in broker.heard)
