"""A coordinator behind `ports.Coordinator` that grants, calls and fences when the test says so.

It must not know the engine, nor the owner that it stands behind.
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field

from bridge.coordinators.durability import Unrecorded
from translators.dialects.classic import JoinGroup
from translators.dialects.consumer import ConsumerGroupHeartbeat, ConsumerGroupHeartbeatReply
from translators.dialects.coordinator import (
    ClassicGroupRequest,
    CommitAdmitted,
    CommitRefused,
    CoordinatorCommand,
    CoordinatorEvent,
    DepartReason,
    Farewell,
    Granted,
    Inquiry,
    MemberAnswered,
    MemberFenced,
    MembersCalled,
    RequestAnswered,
)
from translators.dialects.errors import ErrorCode, Refusal
from translators.dialects.ids import (
    ClientIdentity,
    GroupId,
    InstanceId,
    MemberId,
    MemberRef,
    ReplyTo,
    RequestRef,
    TopicPartition,
    Via,
)
from translators.dialects.offsets import GroupOffsets, OffsetCommit, TxnOffsetCommit


@dataclass(slots=True)
class StandInCoordinator:
    """Answers when the test lets it, as a broker does: `open` are questions with the connection they came by.

    Nobody can see what a member will get later (`pending` is unknown), and no group is a classic one.
    """

    open: list[tuple[MemberRef, Via, Inquiry | Farewell]] = field(default_factory=list)
    released: list[tuple[MemberRef, DepartReason | None]] = field(default_factory=list)
    orders: list[str] = field(default_factory=list)
    said: list[CoordinatorEvent] = field(default_factory=list)
    ended_commits: list[int] = field(default_factory=list)
    is_urgent: bool = False
    journal: Unrecorded = Unrecorded(b"S")

    # ---------------------------------------------------------------- what tests say

    def grant(self, assigned: Iterable[TopicPartition] | None, epoch: int) -> Inquiry:
        """Answer the oldest question; gives what it was."""
        ref, _, question = self.open.pop(0)
        assert isinstance(question, Inquiry), question
        given = None if assigned is None else frozenset(assigned)
        self.said.append(MemberAnswered(ref, Granted(member_epoch=epoch, assigned=given, pending=None)))
        return question

    def let_go(self) -> Farewell:
        """Answer the oldest farewell; gives what it was."""
        ref, _, question = self.open.pop(0)
        assert isinstance(question, Farewell), question
        self.said.append(MemberAnswered(ref, Granted(member_epoch=question.member_epoch)))
        return question

    def call(self, member: MemberRef) -> None:
        """Have news for a member."""
        self.said.append(MembersCalled(member.group_id, frozenset({member.member_id})))

    def fence(self, member: MemberRef, code: ErrorCode) -> None:
        """Drop a member that did not ask for it."""
        self.said.append(MemberFenced(member, code))

    # ---------------------------------------------------------------- ports.Coordinator

    def submit(self, ref: ReplyTo, via: Via, client: ClientIdentity, command: CoordinatorCommand) -> None:
        """See `ports.Coordinator`; a KIP-848 client is told the epoch that it names."""
        match command:
            case Inquiry() | Farewell():
                assert isinstance(ref, MemberRef)
                self.open.append((ref, via, command))
            case ConsumerGroupHeartbeat():
                assert isinstance(ref, RequestRef)
                reply = ConsumerGroupHeartbeatReply(error=ErrorCode.NONE, member_epoch=command.member_epoch)
                self.said.append(RequestAnswered(ref, reply))
            case _:
                raise AssertionError(f"no group is a classic one here: {command}")

    def order(self, order: str) -> None:
        """See `ports.Coordinator`."""
        self.orders.append(order)

    def advance(self, now_ms: int) -> Sequence[CoordinatorEvent] | None:
        """See `ports.Coordinator`."""
        said, self.said = self.said, []
        return said or None

    def go_on(self, now_ms: int) -> bool:
        """See `ports.Coordinator`."""
        return False

    def pass_deadlines(self, now_ms: int) -> bool:
        """See `ports.Coordinator`."""
        return False

    def next_deadline_ms(self) -> int | None:
        """See `ports.Coordinator`."""
        return None

    def lose_connection(self, connection: int) -> None:
        """See `ports.Coordinator`: what was asked by it is never answered."""
        self.open = [one for one in self.open if one[1].connection != connection]

    def release(self, member: MemberRef, reason: DepartReason | None) -> None:
        """See `ports.Coordinator`."""
        self.released.append((member, reason))

    def recover(self) -> None:
        """See `ports.Coordinator`."""

    def clear(self) -> None:
        """See `ports.Coordinator`."""
        self.open.clear()
        self.said.clear()

    def open_questions(self) -> Collection[MemberRef]:
        """See `ports.Coordinator`."""
        return [ref for ref, _, _ in self.open]

    def has_news(self, member: MemberRef) -> bool:
        """See `ports.Coordinator`: it calls when there are some."""
        return False

    def beat(self, client: ClientIdentity, request: ConsumerGroupHeartbeat, now_ms: int) -> bool:
        """See `ports.Coordinator`: every heartbeat is submitted."""
        return False

    def takes(self, request: ClassicGroupRequest) -> bool:
        """See `ports.Coordinator`."""
        return False

    def looks_classic(self, group_id: GroupId) -> bool:
        """See `ports.Coordinator`."""
        return False

    def judge_newcomer(self, request: JoinGroup) -> Refusal | None:
        """See `ports.Coordinator`."""
        return None

    def newcomer_id(self, client: ClientIdentity, request: JoinGroup) -> MemberId:
        """See `ports.Coordinator`."""
        return MemberId(f"{client.client_id}-new")

    def holder_of(self, group_id: GroupId, instance_id: InstanceId) -> MemberId | None:
        """See `ports.Coordinator`."""
        return None

    def begin_commit(
        self, ref: RequestRef, request: OffsetCommit | TxnOffsetCommit, now_ms: int
    ) -> CommitAdmitted | CommitRefused:
        """See `ports.Coordinator`."""
        return CommitAdmitted(ref.sequence)

    def end_commit(self, commit_id: int) -> None:
        """See `ports.Coordinator`."""
        self.ended_commits.append(commit_id)

    def check_fetch(self, request: GroupOffsets) -> ErrorCode:
        """See `ports.Coordinator`."""
        return ErrorCode.NONE
