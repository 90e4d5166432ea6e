"""`ports.Coordinators` over our own engine: connections to a broker that coordinates classic groups as Kafka does."""

from dataclasses import dataclass, field

import trio

from bridge.engine.commands import ClassicHeartbeat, ClassicJoin, ClassicLeave, ClassicSync, Command
from bridge.engine.queries import next_deadline
from bridge.ports import BrokerUnreachable
from tests.support.classic_bench import NO_DELAY, ClassicBench
from tests.support.engine_bench import IDENTITY
from translators.dialects.classic import (
    Heartbeat,
    HeartbeatReply,
    JoinGroup,
    JoinGroupReply,
    LeaveGroup,
    LeaveGroupReply,
    SyncGroup,
    SyncGroupReply,
)
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import GroupId, MemberId, ReplyTo
from translators.dialects.messages import GroupReply, GroupRequest

LOOK_PAUSE_S = 0.001


@dataclass(slots=True)
class EngineCoordinators:
    """The broker, what it was asked, and how many of the next connections and answers are lost."""

    broker: ClassicBench = field(default_factory=lambda: ClassicBench(settings=NO_DELAY))
    asked: list[GroupRequest] = field(default_factory=list)
    names: set[str] = field(default_factory=set)
    open: int = 0
    connect_s: float = LOOK_PAUSE_S
    """How long each connection takes to be opened."""
    refuses_connections: int = 0
    loses_answers: int = 0
    hangs: bool = False
    """Whether requests are taken and never answered, as by a process that is stopped."""
    refuses_leaving: ErrorCode = ErrorCode.NONE
    refuses_joins_from: int | None = None
    """From which JoinGroup on sessions are taken for too short; None: never."""
    moved: int = 0
    """How many requests are answered that the group is elsewhere."""
    room: int = 1 << 20
    """For how many connections there is still room."""

    async def find_coordinator(self, group_id: GroupId) -> int:
        """See `ports.Coordinators`."""
        await trio.sleep(LOOK_PAUSE_S)
        return 1

    async def connect_coordinator(self, broker_id: int) -> "EngineConnection":
        """See `ports.Coordinators`."""
        await trio.sleep(self.connect_s)
        if self.refuses_connections:
            self.refuses_connections -= 1
            raise BrokerUnreachable("the test lets nobody in")
        self.open += 1
        return EngineConnection(self)

    def reserve(self, connections: int) -> int:
        """See `ports.Coordinators`."""
        lacking = max(0, connections - self.room)
        self.room -= 0 if lacking else connections
        return lacking

    def give_back(self, connections: int) -> None:
        """See `ports.Coordinators`."""
        self.room += connections

    def pass_time(self, now_ms: int) -> None:
        """Let the broker do what is due by now."""
        bench = self.broker.bench
        while (due_ms := next_deadline(bench.state)) is not None and due_ms <= now_ms:
            self.broker.pass_time(max(due_ms - bench.now_ms, 0))
        bench.now_ms = max(bench.now_ms, now_ms)


@dataclass(slots=True)
class EngineConnection:
    """See `ports.CoordinatorConnection`."""

    coordinators: EngineCoordinators
    is_closed: bool = False

    async def ask(self, request: GroupRequest, client_id: str) -> GroupReply:
        """See `ports.CoordinatorConnection`."""
        owner, broker = self.coordinators, self.coordinators.broker
        owner.asked.append(request)
        owner.names.add(client_id)
        if owner.hangs:
            await trio.sleep_forever()
        if owner.moved:
            owner.moved -= 1
            assert isinstance(request, JoinGroup)
            return JoinGroupReply(error=ErrorCode.NOT_COORDINATOR, member_id=request.member_id)
        if isinstance(request, JoinGroup) and owner.refuses_joins_from is not None:
            owner.refuses_joins_from -= 1
            if owner.refuses_joins_from < 0:
                return JoinGroupReply(error=ErrorCode.INVALID_SESSION_TIMEOUT, member_id=request.member_id)
        if isinstance(request, LeaveGroup) and owner.refuses_leaving is not ErrorCode.NONE:
            return LeaveGroupReply(error=owner.refuses_leaving)
        ref = broker.bench.ref()
        broker.tell(_command(ref, request, MemberId(str(ref.sequence))))
        while ref not in broker.replies:
            await trio.sleep(LOOK_PAUSE_S)
            owner.pass_time(int(trio.current_time() * 1000))
        if owner.loses_answers:
            owner.loses_answers -= 1
            raise BrokerUnreachable("the test cut the connection")
        reply = broker.replies[ref]
        assert isinstance(reply, JoinGroupReply | SyncGroupReply | LeaveGroupReply | HeartbeatReply), reply
        return reply

    def close(self) -> None:
        """See `ports.CoordinatorConnection`."""
        assert not self.is_closed
        self.is_closed = True
        self.coordinators.open -= 1


def _command(ref: ReplyTo, request: GroupRequest, fresh_id: MemberId) -> Command:
    match request:
        case JoinGroup():
            return ClassicJoin(ref=ref, request=request, identity=IDENTITY, fresh_id=fresh_id)
        case SyncGroup():
            return ClassicSync(ref, request)
        case LeaveGroup():
            return ClassicLeave(ref, request)
        case Heartbeat():
            return ClassicHeartbeat(ref, request)
        case _:
            raise AssertionError(f"nobody asks {request} by a connection of the bridge's own")
