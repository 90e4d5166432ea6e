"""A plan of moves as values: what is to be moved in which stages, how far it is, what it asks for; and its table."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum, auto

from bridge.migration.orders import MoveOrder, MoveProgress
from bridge.migration.patterns import Pattern
from bridge.migration.plans.canaries import Trial, Waited
from bridge.migration.plans.conditions import Conditions, Figures, Reading
from bridge.migration.route import Road
from translators.dialects.ids import GroupId, MemberId
from translators.machine import Transitions

WHOLE = 100
VERDICTS_MAX = 500
"""How many verdicts of a plan are kept; beyond it the oldest go."""
REFUSALS_MAX = 3
"""So often the move of a group is ordered in one stage; what refuses it more often stays where it is."""
CONTROLS_MAX = 20
"""How many groups that are not moved a stage is compared with."""


class Reaction(StrEnum):
    """What happens when a condition is broken."""

    HOLD = auto()
    """Nobody is moved further; an operator decides."""
    RETURN = auto()
    """Every group that was moved goes back to where it was."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanStage:
    """So many percent of all groups, and of the members of each, are to have moved, and are watched for so long."""

    groups_percent: int
    members_percent: int = WHOLE
    watch_ms: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """Which groups go where, in which stages, under which conditions, and what is done when one is broken.

    Before the first move all groups are looked at for `observe_ms`. At most `groups_max` are moved at a time.
    """

    name: str
    destination: Road
    groups: tuple[Pattern, ...]
    exceptions: tuple[Pattern, ...] = ()
    stages: tuple[PlanStage, ...] = (PlanStage(groups_percent=WHOLE),)
    observe_ms: int = 0
    conditions: Conditions = Conditions()
    reaction: Reaction = Reaction.HOLD
    groups_max: int = 1
    allow_rebalance: bool = False


class PartStep(StrEnum):
    """How far one group of a plan is."""

    WAITING = auto()
    """Its stage has not come, or there was no room yet."""
    MOVING = auto()
    """Its move was ordered and goes on."""
    MOVED = auto()
    """So many of its members as its stage wants have moved."""
    REFUSED = auto()
    """Its move was refused; it is where it was."""
    STOPPED = auto()
    """Its move ended on the way."""
    RETURNING = auto()
    """Its way back was ordered and goes on."""
    RETURNED = auto()
    """It is back."""
    LEFT = auto()
    """An operator moved it meanwhile: the plan does not touch it any more."""

    @property
    def is_last(self) -> bool:
        """Whether the plan does nothing more with it."""
        return self in {PartStep.RETURNED, PartStep.LEFT}


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """One group of a plan.

    `percent` of its members have moved, and `percent_ordered` are to by `order`, its last one; where that names
    members, `others` are those that were there and stay. `origin` is where it was before the first. `observed` are its
    figures when the plan began, `began` those when its first move was ordered.
    """

    group_id: GroupId
    step: PartStep = PartStep.WAITING
    order: MoveOrder | None = None
    ordered_ms: int = 0
    percent: int = 0
    percent_ordered: int = 0
    origin: Road | None = None
    observed: Figures | None = None
    began: Figures | None = None
    refusals: int = 0
    reason: str = ""
    others: tuple[MemberId, ...] = ()

    @property
    def is_under_way(self) -> bool:
        """Whether a move of it goes on that the plan ordered."""
        return self.step in {PartStep.MOVING, PartStep.RETURNING}

    @property
    def has_moved(self) -> bool:
        """Whether some of it is, or may be, where the plan wants it."""
        if self.step in {PartStep.WAITING, PartStep.REFUSED}:
            return self.percent > 0
        return self.step not in {PartStep.RETURNED, PartStep.LEFT}


class Ruling(StrEnum):
    """What a verdict says."""

    KEPT = auto()
    """All conditions were kept."""
    BROKEN = auto()
    """A condition was broken."""
    REFUSED = auto()
    """A group could not be moved."""
    STOPPED = auto()
    """A move ended on the way."""
    TOLD = auto()
    """An operator's word, or that the plan begins or ends."""


@dataclass(frozen=True, slots=True)
class PlanVerdict:
    """One thing that was decided, when and why; `group_id` is empty for what concerns the plan, with the figures."""

    at_ms: int
    stage: int
    ruling: Ruling
    sentence: str
    group_id: str = ""
    readings: tuple[Reading, ...] = ()


@dataclass(frozen=True, slots=True)
class Control:
    """A group that is not moved, to compare with."""

    group_id: GroupId
    began: Figures


@dataclass(frozen=True, slots=True)
class Progress:
    """What every phase has: the plan, its groups in the order in which they are moved, and what was decided so far.

    `controls` are groups that were not moved, with their figures when the stage began; empty until they are looked at.
    `trial` is what the judge of canaries has seen, None if the plan has none or nobody has been moved since it began
    anew.
    """

    plan: Plan
    parts: tuple[Part, ...]
    verdicts: tuple[PlanVerdict, ...] = ()
    controls: tuple[Control, ...] = ()
    trial: Trial | None = None


@dataclass(frozen=True, slots=True)
class Observing:
    """All groups are looked at before anybody is moved."""

    progress: Progress
    until_ms: int


@dataclass(frozen=True, slots=True)
class Ready:
    """The groups have been looked at; the first stage begins as soon as there is room."""

    progress: Progress


@dataclass(frozen=True, slots=True)
class Moving:
    """The groups of a stage (counted from 0) are moved."""

    progress: Progress
    stage: int


@dataclass(frozen=True, slots=True)
class Watching:
    """All groups of a stage have moved, and are watched."""

    progress: Progress
    stage: int
    until_ms: int


@dataclass(frozen=True, slots=True)
class Settled:
    """Every stage was watched to its end: the groups stay where they are."""

    progress: Progress


@dataclass(frozen=True, slots=True)
class Returning:
    """What was moved goes back."""

    progress: Progress


@dataclass(frozen=True, slots=True)
class Returned:
    """Nobody is on the way back any more; the verdicts say who could not be brought back."""

    progress: Progress


@dataclass(frozen=True, slots=True)
class Held:
    """Nothing is done, because a condition was broken or an operator said so; `stage` is -1 before the first.

    `is_watched`: the groups of the stage had all moved.
    """

    progress: Progress
    stage: int
    reason: str
    is_watched: bool = False


PlanState = Observing | Ready | Moving | Watching | Settled | Returning | Returned | Held


@dataclass(frozen=True, slots=True)
class SeenGroup:
    """One group at a moment: its figures, its members, and its move that goes on, or else its last one.

    Where nobody counts it (`is_counted`) its figures say nothing.
    """

    figures: Figures
    members: tuple[MemberId, ...] = ()
    move: MoveProgress | None = None
    is_counted: bool = True


@dataclass(frozen=True, slots=True)
class GroupsSeen:
    """The groups of a plan, and others that are not moved, as they are now; `room` for so many further moves.

    A group that is not named is gone. `waits` are rebalances of groups of the plan since the look before.
    """

    groups: Mapping[GroupId, SeenGroup]
    others: Mapping[GroupId, Figures]
    room: int
    waits: tuple[Waited, ...] = ()


@dataclass(frozen=True, slots=True)
class PauseOrdered:
    """An operator wants nothing to be done for a while."""


@dataclass(frozen=True, slots=True)
class ResumeOrdered:
    """An operator wants the plan to go on where it was held."""


@dataclass(frozen=True, slots=True)
class PromoteOrdered:
    """An operator wants the next stage now."""


@dataclass(frozen=True, slots=True)
class ReturnOrdered:
    """An operator wants every group back where it was."""


PlanEvent = GroupsSeen | PauseOrdered | ResumeOrdered | PromoteOrdered | ReturnOrdered


@dataclass(frozen=True, slots=True)
class OrderMove:
    """Order this move."""

    order: MoveOrder


@dataclass(frozen=True, slots=True)
class StopMove:
    """End the move of a group that goes on."""

    group_id: GroupId


PlanEffect = OrderMove | StopMove

_ANY_HELD = {Held, Returning}
TRANSITIONS: Transitions = {
    (Observing, GroupsSeen): frozenset({Observing, Ready}),
    (Ready, GroupsSeen): frozenset({Ready, Moving}),
    (Moving, GroupsSeen): frozenset({Moving, Watching, *_ANY_HELD}),
    (Watching, GroupsSeen): frozenset({Watching, Moving, Settled, *_ANY_HELD}),
    (Settled, GroupsSeen): frozenset({Settled}),
    (Returning, GroupsSeen): frozenset({Returning, Returned}),
    (Returned, GroupsSeen): frozenset({Returned}),
    (Held, GroupsSeen): frozenset({Held}),
    **{(phase, PauseOrdered): frozenset({Held}) for phase in (Observing, Ready, Moving, Watching, Held)},
    **{(phase, PauseOrdered): frozenset({phase}) for phase in (Settled, Returning, Returned)},
    (Held, ResumeOrdered): frozenset({Observing, Moving, Watching}),
    **{
        (phase, ResumeOrdered): frozenset({phase})
        for phase in (Observing, Ready, Moving, Watching, Settled, Returning, Returned)
    },
    (Observing, PromoteOrdered): frozenset({Ready}),
    (Watching, PromoteOrdered): frozenset({Moving, Settled}),
    (Held, PromoteOrdered): frozenset({Ready, Moving, Settled}),
    **{(phase, PromoteOrdered): frozenset({phase}) for phase in (Ready, Moving, Settled, Returning, Returned)},
    **{
        (phase, ReturnOrdered): frozenset({Returning})
        for phase in (Observing, Ready, Moving, Watching, Settled, Returning, Returned, Held)
    },
}
