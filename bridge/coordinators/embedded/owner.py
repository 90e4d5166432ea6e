"""The owner of embedded groups: `GroupOwner` over the engine, and what is asked of the engine alone."""

from bridge.coordinators.catalog import Catalog
from bridge.coordinators.embedded.coordinator import EmbeddedCoordinator, FreshIds, Verdict, Watcher
from bridge.coordinators.embedded.handover import Handover, Restless, read_handover
from bridge.coordinators.embedded.shares import Shares
from bridge.coordinators.machines import Machines
from bridge.coordinators.owner import GroupOwner
from bridge.coordinators.takeover import Seats
from bridge.engine.commands import Command
from bridge.engine.outcome import NotConverted, Notice
from bridge.engine.state import Shard
from translators.dialects.configs import AlteredResource
from translators.dialects.consumer import ConsumerGroupHeartbeat
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import ClientIdentity, GroupId, RequestRef
from translators.dialects.messages import GroupRequest


class EmbeddedOwner(GroupOwner[Command]):
    """All groups of one shard."""

    def __init__(self, shard: Shard, catalog: Catalog, machines: Machines, fresh_ids: FreshIds) -> None:
        self.shard = shard
        self.shares = Shares(shard, machines)
        self._seats = Seats(machines)
        self._engine = EmbeddedCoordinator(shard, catalog, self._seats, self.shares, fresh_ids)
        machines.on_change = lambda member: self._engine.look_again(member.group_id)
        super().__init__(self._engine, catalog, machines, self._engine.bounds)

    def watch(self, watcher: Watcher) -> None:
        """Let somebody hear what the engine does from now on."""
        self._engine.watcher = watcher

    def take_notices(self) -> tuple[Notice, ...]:
        """What the engine noticed since the last call, for whoever tells people."""
        return self._engine.take_notices()

    def take_verdicts(self) -> tuple[tuple[RequestRef, Verdict], ...]:
        """What became of operators' orders since the last call."""
        return self._engine.take_verdicts()

    def read_handover(self, group_id: GroupId, now_ms: int) -> Handover | Restless | NotConverted:
        """What another coordinator would go on with."""
        return read_handover(self.shard, self._seats, group_id, now_ms)

    def would_refuse(self, client: ClientIdentity, request: GroupRequest) -> bool:
        """Whether a KIP-848 member would be refused if this were carried out now, whatever its pattern matches."""
        return isinstance(request, ConsumerGroupHeartbeat) and self._engine.would_refuse(client, request)

    def take_altered(self) -> AlteredResource | None:
        """What became of the settings of a group since the last call."""
        return self._engine.take_altered()

    def delete_group(self, group_id: GroupId, now_ms: int) -> ErrorCode:
        """Forget a group if it is empty (K6.7)."""
        return self._engine.delete_group(group_id, now_ms)
