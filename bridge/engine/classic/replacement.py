"""A static member comes back under a new id and takes its seat again (KIP-345, KIP-814)."""

from dataclasses import replace

from bridge.engine.classic.rebalancing import list_members, rebalance_or_complete
from bridge.engine.classic.seats import Seating, extend_session, park_join, refuse_join, removed, to_member, welcome
from bridge.engine.classic.syncing import hold_hand_out
from bridge.engine.classic.voting import choose_protocol
from bridge.engine.model import Phase
from bridge.engine.outcome import RemovalCause
from bridge.engine.records import ClassicMemberReplaced
from bridge.engine.state import ClassicGroup
from bridge.engine.turn import Turn
from translators.dialects.classic import SyncGroupReply
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import MemberId


def replace_static(turn: Turn, group: ClassicGroup, seating: Seating, former_id: MemberId) -> None:
    """Put the newcomer on the seat: a Stable group whose protocol stays goes on without a rebalance (K1.40 to K1.43).

    What the former holder has parked is answered FENCED_INSTANCE_ID. The seat goes on showing the client id and host
    of who took it first, as in Kafka; unlike there, a seat in its first join keeps the time of a newcomer, and a longer
    session counts at once. A shorter one counts from the newcomer's first heartbeat, as in Kafka.
    """
    former_leader = group.roster.leader
    _swap(turn, group, seating, former_id)
    if group.phase is Phase.STABLE and _keeps_protocol(group):
        hold_hand_out(turn, group, seating.member_id)
        _answer(turn, group, seating, former_leader)
        return
    park_join(turn, group, seating.member_id, seating.ref)
    rebalance_or_complete(turn, group)


def _swap(turn: Turn, group: ClassicGroup, seating: Seating, former_id: MemberId) -> None:
    former = group.members[former_id]
    joining, syncing = group.joining.get(former_id), group.syncing.get(former_id)
    if joining is not None:
        turn.reply(joining, refuse_join(ErrorCode.FENCED_INSTANCE_ID, former_id))
    if syncing is not None:
        turn.reply(syncing, SyncGroupReply(error=ErrorCode.FENCED_INSTANCE_ID))
    member = replace(to_member(seating), assignment=former.assignment, identity=former.identity)
    turn.write(ClassicMemberReplaced(group.group_id, former_id, member))
    # Kafka's timer runs on for the former's time until the newcomer beats; longer than that nobody has to wait.
    longer_ms = max(former.session_timeout_ms, member.session_timeout_ms)
    extend_session(turn, group, replace(member, session_timeout_ms=longer_ms))
    turn.notices.append(removed(group, former, RemovalCause.REPLACED))


def _keeps_protocol(group: ClassicGroup) -> bool:
    """Names only: another subscription under the same protocol is no reason to rebalance (K1.42)."""
    return choose_protocol(group.offers, group.roster.protocol_name) == group.roster.protocol_name


def _answer(turn: Turn, group: ClassicGroup, seating: Seating, former_leader: MemberId | None) -> None:
    """From version 9 on a leader is told so and to compute nothing; before, it is shown its old id and so follows."""
    member_id = seating.member_id
    if seating.request.skips_assignment:
        leads = group.roster.leader == member_id
        reply = welcome(group, member_id, list_members(group) if leads else (), skip_assignment=leads)
    else:
        reply = replace(welcome(group, member_id), leader=former_leader or "")
    turn.reply(seating.ref, reply)
