"""Groups as the admin API shows them, sources that stand still, a servant that obeys, and a screen that remembers."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from bridge.admin.contracts import (
    AdminSources,
    Conversion,
    ConversionResult,
    ConvertedMember,
    GroupSummary,
    GroupView,
    MemberView,
    Moves,
    Reload,
    Removal,
    RemovalResult,
    RemovedSeat,
    Surveys,
    TopicPartitions,
)

CLASSIC = MemberView(
    member_id="m-1",
    instance_id="seat-1",
    client_id="billing-1",
    client_host="127.0.0.1",
    library="apache-kafka-java",
    library_version="4.3.1",
    protocol="classic",
    state="Stable",
    generation=5,
    member_epoch=12,
    assigned=(TopicPartitions("orders", (0, 1, 2, 5)),),
    target=(TopicPartitions("orders", (0, 1, 2)),),
    pending_revocation=(TopicPartitions("orders", (5,)),),
)
CONSUMER = MemberView(
    member_id="m-2",
    instance_id=None,
    client_id="billing-2",
    client_host="127.0.0.1",
    library="",
    library_version="",
    protocol="consumer",
    state="Stable",
    generation=None,
    member_epoch=12,
    assigned=(),
    target=(TopicPartitions("orders", (5,)), TopicPartitions("refunds", (0,))),
    pending_revocation=(),
)
ORDERS = GroupView(
    summary=GroupSummary(
        group_id="orders-billing",
        road="embedded",
        type="consumer",
        state="Reconciling",
        group_epoch=12,
        assignment_epoch=12,
        assignor="uniform",
        member_count=2,
    ),
    members=(CONSUMER, CLASSIC),
)


@dataclass(frozen=True, slots=True)
class StillSnapshots:
    """The same groups and reasons, however often it is asked."""

    views: Sequence[GroupView] = (ORDERS,)
    reasons: Sequence[str] = ()
    troubled: Sequence[str] = ()

    def groups(self) -> Sequence[GroupSummary]:
        """The summaries."""
        return [view.summary for view in self.views]

    def group(self, name: str) -> GroupView | None:
        """The view of that name."""
        return next((view for view in self.views if view.summary.group_id == name), None)

    def readiness(self) -> Sequence[str]:
        """The reasons."""
        return self.reasons

    def troubles(self) -> Sequence[str]:
        """The troubles."""
        return self.troubled


@dataclass(frozen=True, slots=True)
class StillMetrics:
    """The same text, however often it is asked."""

    content_type: str = "text/plain; version=0.0.4; charset=utf-8"
    body: bytes = b"epochbridge_requests_total 7\n"

    def render(self, accept: str) -> tuple[bytes, str]:
        """The text."""
        return self.body, self.content_type


@dataclass(slots=True)
class ObedientCommands:
    """Does what it is told for one group, but knows no member called `stranger`; keeps every order."""

    orders: list[Removal] = field(default_factory=list)
    conversions: list[Conversion] = field(default_factory=list)
    error: str = ""

    async def remove_members(self, removal: Removal) -> RemovalResult | None:
        """Everybody named, and the two members of the group for all."""
        self.orders.append(removal)
        if removal.group != ORDERS.summary.group_id:
            return None
        named = [(name, None) for name in removal.member_ids] + [("", name) for name in removal.instance_ids]
        seats = [(member.member_id, member.instance_id) for member in ORDERS.members] if removal.is_all else named
        return RemovalResult(error=self.error, seats=tuple(_seat(*seat) for seat in seats))

    async def convert(self, conversion: Conversion) -> ConversionResult | None:
        """Always the same conversion, or the same reason against it."""
        self.conversions.append(conversion)
        if conversion.group != ORDERS.summary.group_id:
            return None
        return converted(error=self.error, is_dry_run=conversion.is_dry_run)


@dataclass(slots=True)
class ObedientReloading:
    """Always answers the same, and keeps what was asked."""

    answer: Reload
    asked: list[tuple[bool, str]] = field(default_factory=list)

    async def reload(self, *, is_dry_run: bool = False, log_level: str = "") -> Reload:
        """The answer."""
        self.asked.append((is_dry_run, log_level))
        return self.answer


def converted(*, error: str = "", is_dry_run: bool = False) -> ConversionResult:
    """The group of these tests on its way to a classic one: the consumer member's partitions go to the other."""
    moved = (TopicPartitions("orders", (5,)),)
    member = ConvertedMember(
        member_id="m-1",
        instance_id="seat-1",
        client_id="billing-1",
        protocol="classic",
        is_disturbed=True,
        loses=(),
        gains=moved,
    )
    other = replace(member, member_id="m-2", instance_id=None, client_id="a", is_disturbed=False, loses=moved, gains=())
    members = () if error else (member, other)
    return ConversionResult(group="orders-billing", to="classic", is_dry_run=is_dry_run, error=error, members=members)


def _seat(member_id: str, instance_id: str | None) -> RemovedSeat:
    error = "UNKNOWN_MEMBER_ID" if "stranger" in (member_id, instance_id) else ""
    return RemovedSeat(member_id=member_id, instance_id=instance_id, error=error)


def still_sources(
    snapshots: StillSnapshots | None = None,
    commands: ObedientCommands | None = None,
    moves: Moves | None = None,
    surveys: Surveys | None = None,
) -> AdminSources:
    """Sources of the API that stand still."""
    return AdminSources(
        snapshots=snapshots or StillSnapshots(),
        metrics=StillMetrics(),
        commands=commands or ObedientCommands(),
        moves=moves,
        surveys=surveys,
    )


@dataclass
class RememberingScreen:
    """Keeps what it is told to show."""

    lines: list[str] = field(default_factory=list)
    columns: list[str] = field(default_factory=list)
    rows: list[list[str]] = field(default_factory=list)

    def show_line(self, line: str) -> None:
        """Keep a line."""
        self.lines.append(line)

    def show_table(self, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
        """Keep a table."""
        self.columns, self.rows = list(columns), [list(row) for row in rows]

    def show_live(self, frames: Iterable[tuple[Sequence[str], Sequence[str], Sequence[Sequence[str]]]]) -> None:
        """Keep the last frame."""
        for lines, columns, rows in frames:
            self.lines, self.columns, self.rows = list(lines), list(columns), [list(row) for row in rows]
