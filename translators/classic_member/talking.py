"""The conversation with the coordinator: what is asked, when it may be asked, and what an answer teaches."""

from dataclasses import replace

from translators.classic_member.effects import Ask, Effect
from translators.classic_member.states import Asked, Membership, Overtaken, Scheduled, Seat, Silent, Talk
from translators.classic_member.tenure import Partitions
from translators.dialects.claims import NO_CLAIM, Claim
from translators.dialects.coordinator import DepartReason, Farewell, Granted, Inquiry
from translators.dialects.ids import LEAVE_EPOCH, STATIC_LEAVE_EPOCH
from translators.machine import UnexpectedEvent

SERVER_ASSIGNORS = {"range": "range"}
"""Clients of range may join topics that are partitioned alike: who gets a partition of one gets that of the others.
Kafka's own default (uniform) would break that at the next change; all others only want balance.
"""


def inquire(membership: Membership, using: Partitions, claim: Claim = NO_CLAIM) -> Ask:
    """Ask what the member may own, telling that its client may be `using` these; nothing is ever owned at epoch 0
    (K2.6).
    """
    seat, profile = membership.seat, membership.profile
    return Ask(
        Inquiry(
            group_id=seat.group_id,
            member_id=seat.member_id,
            member_epoch=membership.epoch,
            instance_id=seat.instance_id,
            rack_id=profile.rack_id,
            topics=profile.topics,
            rebalance_timeout_ms=profile.rebalance_timeout_ms,
            owned=using,
            assignor=SERVER_ASSIGNORS.get(profile.protocol_name),
            claimed=claim.partitions,
            claimed_generation=claim.generation,
        )
    )


def say_farewell(seat: Seat, reason: DepartReason) -> Ask:
    """Leave for good, or (-2) leave a static seat to the newcomer that replaces this member (decision 16)."""
    handed_on = reason is DepartReason.REPLACED and seat.instance_id is not None
    return Ask(
        Farewell(
            group_id=seat.group_id,
            member_id=seat.member_id,
            member_epoch=STATIC_LEAVE_EPOCH if handed_on else LEAVE_EPOCH,
            instance_id=seat.instance_id,
            reason=reason,
        )
    )


def prompt(talk: Talk, question: Ask) -> tuple[Talk, tuple[Effect, ...]]:
    """Ask now, or, with a question outstanding, remember that its answer will be out of date."""
    match talk:
        case Asked() | Overtaken():
            return Overtaken(), ()
        case _:
            return Asked(), (question,)


def rest(answer: Granted, now_ms: int) -> Silent | Scheduled:
    """Give the talk after an answer that is up to date."""
    interval = answer.heartbeat_interval_ms
    return Silent() if interval is None else Scheduled(now_ms + interval)


def learn(membership: Membership, answer: Granted) -> Membership:
    """Take over what an answer says."""
    granted = membership.granted if answer.assigned is None else answer.assigned
    if (answer.member_epoch, granted, answer.pending) == (membership.epoch, membership.granted, membership.pending):
        return membership
    return replace(membership, epoch=answer.member_epoch, granted=granted, pending=answer.pending)


def expect_question(state: object, talk: Talk, event: object) -> None:
    """Raise UnexpectedEvent for an answer to nothing."""
    if not isinstance(talk, (Asked, Overtaken)):
        raise UnexpectedEvent(state, event, "no question is outstanding")
