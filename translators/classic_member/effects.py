"""Everything a member machine asks of the world: answer a request, ask the coordinator, forget the machine.

Contract for the adapter
- Effects are carried out in order. At most one `Ask` of a machine is outstanding.
- `Inquiry` is always complete (subscription and owned partitions), so a coordinator that lost the last answer, or a
  broker that lists the assignment only in full answers, tells everything again.
- After `Depart` nothing of this machine is left at the coordinator, and it may be dropped; later events need not be
  delivered.
"""

from dataclasses import dataclass

from translators.dialects.classic import HeartbeatReply, JoinGroupReply, SyncGroupReply
from translators.dialects.coordinator import DepartReason, Farewell, Inquiry
from translators.dialects.ids import RequestRef

MemberReply = JoinGroupReply | SyncGroupReply | HeartbeatReply


@dataclass(frozen=True, slots=True)
class Reply:
    """Answer request `ref`; every request is answered exactly once."""

    ref: RequestRef
    message: MemberReply


@dataclass(frozen=True, slots=True)
class Ask:
    """Ask the coordinator; its answer comes back as `Answered`."""

    inquiry: Inquiry | Farewell


@dataclass(frozen=True, slots=True)
class Depart:
    """The member is gone and the machine may be dropped."""

    reason: DepartReason


Effect = Reply | Ask | Depart
