"""What the admin API shows, as frozen values, and what it asks of those who know."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from bridge.admin.tokens import Tokens
from bridge.migration.orders import MoveOrder, MoveProgress
from translators.dialects.ids import GroupId

if TYPE_CHECKING:
    # A plan is made of forty classes, and whoever starts a bridge has none: only those who show plans load them. It is
    # the same with what a census and the doctor find.
    from bridge.migration.census import Census
    from bridge.migration.diagnosis import Examined
    from bridge.migration.plans.reading import PlanFault
    from bridge.migration.plans.values import PlanEvent, PlanState


@dataclass(frozen=True, slots=True)
class TopicPartitions:
    """Partitions of one topic, in ascending order."""

    topic: str
    partitions: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class MemberView:
    """One member; field names are the keys of the JSON and stay as they are.

    `protocol` is "classic" or "consumer"; `library` and `library_version` are "" where the client did not say
    (KIP-511); `generation` is None for consumer members and `member_epoch` for those of classic groups, who have none.
    """

    member_id: str
    instance_id: str | None
    client_id: str
    client_host: str
    library: str
    library_version: str
    protocol: str
    state: str
    generation: int | None
    member_epoch: int | None
    assigned: tuple[TopicPartitions, ...]
    target: tuple[TopicPartitions, ...]
    pending_revocation: tuple[TopicPartitions, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupSummary:
    """One group in the list; `reason` says why it is refused or bypassed, or what is wrong with its offsets, None if
    nothing is, and `not_convertible` why it can't become one of the other kind at this moment, None if it can.

    `type` is "classic" or "consumer", and of a group that passes although a rule sends it elsewhere ("Passing") what it
    is: "streams", "share" or a protocol type such as "connect", too. A classic group's epochs are its generations, and
    its assignor the protocol that its members agreed on.
    """

    group_id: str
    road: str
    type: str
    state: str
    group_epoch: int
    assignment_epoch: int
    assignor: str
    member_count: int
    reason: str | None = None
    not_convertible: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupView:
    """One group with all its members."""

    summary: GroupSummary
    members: tuple[MemberView, ...]


class Snapshots(Protocol):
    """What the bridge knows at this moment; every method returns at once and leaves all as it is."""

    def groups(self) -> Sequence[GroupSummary]:
        """All groups that the bridge coordinates."""
        ...

    def group(self, name: str) -> GroupView | None:
        """One group by its id; None if the bridge does not coordinate it."""
        ...

    def readiness(self) -> Sequence[str]:
        """Why clients should not come, in sentences; empty when they should."""
        ...

    def troubles(self) -> Sequence[str]:
        """What some clients are served badly by, although others may come, in sentences."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Removal:
    """Whom an operator wants out of a group: single members, single seats, or everybody."""

    group: str
    member_ids: tuple[str, ...] = ()
    instance_ids: tuple[str, ...] = ()
    is_all: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class RemovedSeat:
    """What became of one of them: `error` is Kafka's name of the refusal, "" if the member is out."""

    member_id: str
    instance_id: str | None
    error: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RemovalResult:
    """What became of a removal; `error` is Kafka's name of what refused it as a whole, "" if it was carried out."""

    error: str
    seats: tuple[RemovedSeat, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Conversion:
    """Which kind a group is to be: `to` is "classic" or "consumer"; with `is_dry_run` it is only told what would be."""

    group: str
    to: str
    is_dry_run: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ConvertedMember:
    """What a conversion means to one member: it has to join again if `is_disturbed`, and what it loses and gains."""

    member_id: str
    instance_id: str | None
    client_id: str
    protocol: str
    is_disturbed: bool
    loses: tuple[TopicPartitions, ...]
    gains: tuple[TopicPartitions, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ConversionResult:
    """What a conversion has done, or would do; `error` says why it is not possible, "" if it is."""

    group: str
    to: str
    is_dry_run: bool
    error: str
    members: tuple[ConvertedMember, ...]


class Commands(Protocol):
    """What the bridge can be told to do; every method answers when it is done and durable."""

    async def remove_members(self, removal: Removal) -> RemovalResult | None:
        """Let members leave; None if the bridge does not coordinate the group."""
        ...

    async def convert(self, conversion: Conversion) -> ConversionResult | None:
        """Make a group a classic or a consumer group; None if the bridge does not coordinate it."""
        ...


class Moves(Protocol):
    """Moves of groups between roads, at most one of each group at a time; what it knows of them outlives a restart."""

    async def check(self, order: MoveOrder) -> MoveProgress:
        """What would become of an order: what each member will see, and what stands in the way. Changes nothing.

        The stage is `done` if it can be made and `refused` if not; brokers are asked, so it may take seconds.
        """
        ...

    async def prepare(self) -> None:
        """Load what makes moves, beside what others ask; `start` does it otherwise, and keeps everybody waiting."""
        ...

    def start(self, order: MoveOrder) -> MoveProgress:
        """Begin, and return at once: `preparing`, or `refused` if another move of the group goes on."""
        ...

    def stop(self, group_id: GroupId) -> MoveProgress | None:
        """End a move after the members that are moved now; who was moved stays moved. None: no move goes on."""
        ...

    def progress(self, group_id: GroupId) -> MoveProgress | None:
        """The move of a group that goes on, or else its last one; None if there is none that is remembered."""
        ...

    def all(self) -> Sequence[MoveProgress]:
        """One for each group as `progress` has it, the one begun last first."""
        ...


class Surveys(Protocol):
    """Looks at the whole cluster and at all groups, also those that pass; brokers are asked, so it takes a while."""

    async def census(self) -> "Census":
        """All groups: what they are made of, where each could go, what stands in its way, what it gains."""
        ...

    async def examine(self) -> "Examined":
        """The cluster and this bridge, as far as moves need them; a probe joins and leaves a group of its own."""
        ...


PLAN_CHARS_MAX = 262_144
"""A thousand groups by their whole names."""


class Plans(Protocol):
    """Plans that move groups in stages; they outlive a restart."""

    async def check(self, text: str, source: str) -> "PlanState | tuple[PlanFault, ...]":
        """The plan of a YAML text as it would begin, or all that is wrong with it; `source` names the text."""
        ...

    async def start(self, text: str, source: str) -> "PlanState | tuple[PlanFault, ...]":
        """Begin a plan; all that is wrong with it if it can't be."""
        ...

    def tell(self, name: str, word: "PlanEvent") -> "PlanState | None":
        """Tell a plan what an operator wants, and what it does then; None if there is none of that name."""
        ...

    def plan(self, name: str) -> "PlanState | None":
        """One plan; None if there is none of that name."""
        ...

    def all(self) -> "Sequence[PlanState]":
        """Every plan that is remembered, the one begun last first."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Reload:
    """What became of reading the configuration again: `error` says what is wrong with it, "" if nothing is.

    `changes` tell what is different from now on, or would be if `is_dry_run`; `findings` are about the rules.
    """

    error: str = ""
    changes: tuple[str, ...] = ()
    findings: tuple[str, ...] = ()
    is_dry_run: bool = False


class Reloading(Protocol):
    """Reads the configuration again while the bridge runs."""

    async def reload(self, *, is_dry_run: bool = False, log_level: str = "") -> Reload:
        """Take what has changed, all or nothing; `log_level` is put over it, until the next start."""
        ...


class Metrics(Protocol):
    """Figures for a machine to collect."""

    def render(self, accept: str) -> tuple[bytes, str]:
        """The figures of this moment and their media type, for who sends this `Accept` header."""
        ...


CONNECTIONS_MAX = 256
"""Programs that are connected to the admin API at once, where there are descriptors for so many."""


@dataclass(frozen=True, slots=True)
class AdminSources:
    """All that the admin API reads, and what it passes orders to; `events_path` is the folder of the event log, "" for
    none; `moves` and `open_plans` are None where groups can't be moved, `surveys` where nobody looks at the cluster,
    `reloading` where the configuration can't be read again. `tokens` are empty where none were given.
    """

    snapshots: Snapshots
    metrics: Metrics
    commands: Commands
    events_path: str = ""
    moves: Moves | None = None
    open_plans: Callable[[], Plans] | None = None
    """Gives the same plans whenever it is called; the first call loads what drives them."""
    reloading: Reloading | None = None
    surveys: Surveys | None = None
    tokens: Tokens = field(default_factory=Tokens)
    connections_max: int = CONNECTIONS_MAX
    """How many may ask at once."""


class Screen(Protocol):
    """Where a command shows what strangers wrote; the command line brings one that knows the terminal."""

    def show_line(self, line: str) -> None:
        """Print one line."""
        ...

    def show_table(self, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
        """Print rows under their column names."""
        ...

    def show_live(self, frames: Iterable[tuple[Sequence[str], Sequence[str], Sequence[Sequence[str]]]]) -> None:
        """Show lines, columns and rows one after the other in the same place, until there are no more."""
        ...


class AdminError(Exception):
    """The admin API can't be served; the text says what happened, the likely cause and the next step."""

    def __init__(self, code: str, sentence: str) -> None:
        super().__init__(f"{code}: {sentence}")
        self.code = code
