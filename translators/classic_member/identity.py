"""Whose request it is: the decision tables for member ids and instance ids (K1.44, K4.5-4.9, K4.20, K4.40)."""

from dataclasses import dataclass

from translators.dialects.errors import ErrorCode, Refusal, quote
from translators.dialects.ids import InstanceId, MemberId


@dataclass(frozen=True, slots=True)
class Newcomer:
    """The JoinGroup is for a member with a fresh id: an `Absent` machine takes it."""


@dataclass(frozen=True, slots=True)
class Known:
    """The JoinGroup is for the member of this id; if nobody has it, an `Absent` machine takes it (K4.7)."""

    member_id: MemberId


@dataclass(frozen=True, slots=True)
class Successor:
    """The JoinGroup takes the seat of `former`: that machine gets `Replaced`, and after its `Depart` an `Absent`
    machine the join.
    """

    former: MemberId


JoinIdentity = Newcomer | Known | Successor | Refusal


def identify_join(member_id: MemberId, instance_id: InstanceId | None, holder: MemberId | None) -> JoinIdentity:
    """Decide whom a JoinGroup concerns; `holder` is the member that has `instance_id`, None for nobody."""
    if instance_id is None:
        return Known(member_id) if member_id else Newcomer()
    if not member_id:
        return Newcomer() if holder is None else Successor(holder)
    refused = _judge_instance(member_id, instance_id, holder)
    return Known(member_id) if refused is None else refused


def identify_request(
    member_id: MemberId, instance_id: InstanceId | None, holder: MemberId | None
) -> MemberId | Refusal:
    """Decide whom a SyncGroup, Heartbeat or commit concerns; an unknown member id is for the caller to refuse
    (UNKNOWN_MEMBER_ID).
    """
    if instance_id is None:
        return member_id
    refused = _judge_instance(member_id, instance_id, holder)
    return member_id if refused is None else refused


def identify_leaver(member_id: MemberId, instance_id: InstanceId | None, holder: MemberId | None) -> MemberId | Refusal:
    """Decide whom one entry of a LeaveGroup concerns; a static seat may be named by its instance id alone (K1.59)."""
    if instance_id is not None and not member_id and holder is not None:
        return holder
    return identify_request(member_id, instance_id, holder)


def _judge_instance(member_id: MemberId, instance_id: InstanceId, holder: MemberId | None) -> Refusal | None:
    if holder is None:
        return Refusal(ErrorCode.UNKNOWN_MEMBER_ID, f"instance id {quote(instance_id)!r} has no member")
    if holder != member_id:
        reason = f"instance id {quote(instance_id)!r} belongs to member {quote(holder)!r}, not {quote(member_id)!r}"
        return Refusal(ErrorCode.FENCED_INSTANCE_ID, reason)
    return None
