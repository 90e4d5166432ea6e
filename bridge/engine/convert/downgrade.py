"""A consumer group of classic members turns classic: what each client was shown stays true until it rebalances."""

from bridge.engine.classic.barriers import choose_protocol, prepare_rebalance
from bridge.engine.commands import BecomeClassic, GroupType
from bridge.engine.convert.readiness import find_departure_fault, find_policy_fault, find_seats_fault
from bridge.engine.convert.upgrade import to_ids
from bridge.engine.model import DEPARTED, ClassicMember, ShownGeneration, metadata_of, names_of
from bridge.engine.outcome import (
    ConversionCause,
    ConversionFailed,
    Converted,
    DowngradeDue,
    GroupDowngraded,
    NotConverted,
)
from bridge.engine.records import (
    ClassicGenerationsAliased,
    ClassicGroupCreated,
    ClassicGroupSynced,
    ClassicMemberForgotten,
    DeadlineSet,
    GroupDeleted,
)
from bridge.engine.state import Group, Shard, session_key, settings_of
from bridge.engine.turn import Turn
from translators.dialects.consumer_protocol import CONSUMER, encode_assignment, version_of
from translators.dialects.coordinator import ClassicSeat
from translators.dialects.ids import TopicIdPartition


def notice_due(turn: Turn) -> None:
    """Say which groups have lost their last KIP-848 member, are settled since, and may turn classic by themselves.

    Not before everybody has its target: a classic group that lacks an owner somewhere would make everybody rejoin, and
    here only those hear of the departure who gain by it.
    """
    for group_id in turn.settling:
        group = turn.state.groups.get(group_id)
        if group is None or not group.lost_natives or not _begins_classic(turn.state, group) or not is_settled(group):
            continue
        if find_policy_fault(turn.state, group_id, GroupType.CLASSIC) is None:
            turn.notices.append(DowngradeDue(group_id))


def take_seats(turn: Turn, command: BecomeClassic) -> None:
    """Turn a group classic with these seats, or say why not (K4.1 to K4.6, decision 8)."""
    group_id = command.group_id
    group = turn.state.groups.get(group_id)
    fault = find_departure_fault(turn.state, group_id)
    if fault is None and group is not None:
        fault = find_seats_fault(group, command.seats)
    if fault is not None or group is None:
        _refuse(turn, command, fault)
        return
    rebalances = not _is_covered(turn.state, group, command.seats)
    if not command.is_dry_run:
        _write(turn, group, command, rebalances=rebalances)
    if command.ref is not None:
        turn.reply(command.ref, Converted(group_id, GroupType.CLASSIC, len(command.seats), rebalances))


def is_settled(group: Group) -> bool:
    """Whether every member has reached the group's newest target, and all members are classic clients; O(1)."""
    return (
        group.epoch == group.assignment_epoch
        and group.stable_at.get(group.assignment_epoch, 0) == len(group.members) > 0
        and not group.grantable
        and not group.natives
    )


def _begins_classic(state: Shard, group: Group) -> bool:
    return settings_of(state, group.group_id).group_begins_classic


def _refuse(turn: Turn, command: BecomeClassic, fault: NotConverted | None) -> None:
    assert fault is not None, "a group that is not there is a fault"
    if command.ref is not None:
        turn.reply(command.ref, fault)
    else:
        turn.notices.append(ConversionFailed(fault))


def _is_covered(state: Shard, group: Group, seats: tuple[ClassicSeat, ...]) -> bool:
    """Whether all members are there and their clients use exactly what their targets say, each partition once."""
    if {seat.member_id for seat in seats} != group.members.keys():
        return False
    used: set[TopicIdPartition] = set()
    for seat in seats:
        using = to_ids(state, seat.using)
        if using & used or using != group.target.get(seat.member_id, frozenset()):
            return False
        used |= using
    return group.epoch == group.assignment_epoch


def _write(turn: Turn, group: Group, command: BecomeClassic, *, rebalances: bool) -> None:
    group_id, seats = group.group_id, command.seats
    generation = max((seat.generation for seat in seats), default=0)
    protocol_name = _common_protocol(seats)
    departed = (DEPARTED,) if rebalances and seats else ()
    turn.write(GroupDeleted(group_id))
    turn.forget(group_id)
    turn.write(
        ClassicGroupCreated(group_id),
        ClassicGroupSynced(
            group_id=group_id,
            generation=max(generation, 1) if seats else generation,
            protocol_type=CONSUMER if seats else "",
            protocol_name=protocol_name,
            leader=None,
            members=(*(seated_member(seat, protocol_name) for seat in seats), *departed),
        ),
        # What has no owner makes the group rebalance after a restart too, as after the going of a member.
        *(ClassicMemberForgotten(group_id, member.member_id) for member in departed),
        ClassicGenerationsAliased(
            group_id, tuple(ShownGeneration(seat.member_id, seat.generation) for seat in seats if seat.generation)
        ),
    )
    turn.write(*[DeadlineSet(session_key(group_id, seat.member_id), seat.session_deadline_ms) for seat in seats])
    cause = ConversionCause.LAST_MEMBER_LEFT if command.ref is None else ConversionCause.OPERATOR
    turn.notices.append(GroupDowngraded(group_id, cause))
    if rebalances and seats:
        prepare_rebalance(turn, turn.state.classic_groups[group_id])


def _common_protocol(seats: tuple[ClassicSeat, ...]) -> str | None:
    offers: dict[tuple[str, ...], int] = {}
    for seat in seats:
        names = names_of(seat.protocols)
        offers[names] = offers.get(names, 0) + 1
    return choose_protocol(offers, None) if offers else None


def seated_member(seat: ClassicSeat, protocol_name: str | None) -> ClassicMember:
    """A seat as the classic group knows it; what it has is written in the version that it writes itself (K3.24)."""
    metadata = metadata_of(seat.protocols, protocol_name)
    return ClassicMember(
        member_id=seat.member_id,
        instance_id=seat.instance_id,
        identity=seat.identity,
        session_timeout_ms=seat.session_timeout_ms,
        rebalance_timeout_ms=seat.rebalance_timeout_ms,
        protocols=seat.protocols,
        assignment=encode_assignment(seat.using, version_of(metadata)),
    )
