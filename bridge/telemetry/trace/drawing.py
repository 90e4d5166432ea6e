"""What drawings share: the time axis with its ticks, and the words for members and phases."""

from dataclasses import dataclass
from datetime import UTC, datetime

from bridge.telemetry.cause.sentences import is_named_after, shorten, tell_duration
from bridge.telemetry.rebalances.rebalance import MemberStory, Rebalance, Stretch
from bridge.telemetry.schema.terms import Cause, Phase, Protocol

CAUSE_WORDS = {cause: cause.value.replace("-", " ") for cause in Cause}
PHASE_WORDS = {
    Phase.JOINING: "joining",
    Phase.SYNCING: "syncing",
    Phase.REVOKING: "giving up",
    Phase.AWAITING_RELEASE: "waiting for release",
    Phase.FETCHING: "until first fetch",
    Phase.STABLE: "stable",
}


def tell_time(wall_us: int) -> str:
    """A wall time in UTC, with milliseconds."""
    return datetime.fromtimestamp(wall_us / 1_000_000, UTC).strftime("%Y-%m-%d %H:%M:%S.%f")[:-3] + " UTC"


def tell_outcome(rebalance: Rebalance) -> str:
    """How it ended."""
    return "open: the log ends before it did" if rebalance.outcome is None else rebalance.outcome.value


def tell_moved(rebalance: Rebalance) -> str:
    """Partitions that moved, and how many had to."""
    if rebalance.moved < 0:
        return "unknown"
    return f"{rebalance.moved} ({rebalance.forced_minimum} had to)"


def tell_name(member: MemberStory) -> str:
    """What a member is called: its client where its own id is a random one, and the id cut to what can be read."""
    short = shorten(member.member_id)
    is_clear = is_named_after(member.member_id, member.client_id)
    return short if is_clear else f"{shorten(member.client_id)} · {short}"


def tell_client(member: MemberStory) -> str:
    """Protocol, the generation or epoch that the member has come to, and its library."""
    library = f"{member.library} {member.library_version}".strip()
    number = ""
    if member.protocol is Protocol.CLASSIC and member.generation >= 0:
        number = f"generation {member.generation}"
    if member.member_epoch >= 0:
        number = f"{number} -> epoch {member.member_epoch}" if number else f"epoch {member.member_epoch}"
    return " · ".join(part for part in (member.protocol.value, number, library) if part)


def tell_roles(rebalance: Rebalance, member: MemberStory) -> list[str]:
    """What the member was in the rebalance, in a word or two each."""
    explained = rebalance.explained
    roles = ["cause"] if member.member_id in explained.caused_by else []
    roles += ["waited for"] if member.member_id == explained.critical_member else []
    roles += ["new"] if member.is_newcomer else []
    return roles + ([member.departure.value] if member.departure is not None else [])


def tell_waited(rebalance: Rebalance) -> str:
    """Who was waited for, and for how long."""
    explained = rebalance.explained
    if not explained.critical_member:
        return "nobody"
    names = {member.member_id: tell_name(member) for member in rebalance.members}
    name = names.get(explained.critical_member) or shorten(explained.critical_member)
    return f"{name} for {tell_duration(explained.waited_us)}"


def longest_stall_us(rebalance: Rebalance) -> int:
    """The longest time that any member stood still."""
    return max((member.stall_us for member in rebalance.members), default=0)


STEPS_US = tuple(digit * 10**power for power in range(2, 12) for digit in (1, 2, 5))
TICKS_MAX = 8
MARGIN_US = 5_000_000


@dataclass(frozen=True, slots=True)
class Axis:
    """Microseconds from the beginning of the rebalance."""

    begin_us: int
    end_us: int

    @property
    def length_us(self) -> int:
        """How much time it shows, never nothing."""
        return max(1, self.end_us - self.begin_us)

    def place(self, at_us: int) -> float:
        """Where a time is, from 0 to 1; what lies beyond is at the edge."""
        return min(1.0, max(0.0, (at_us - self.begin_us) / self.length_us))

    def shows(self, at_us: int) -> bool:
        """Whether a time is on the axis."""
        return self.begin_us <= at_us <= self.end_us

    def cut(self, stretch: Stretch) -> tuple[float, float] | None:
        """From where to where a stretch is drawn, None if none of it is on the axis."""
        if stretch.end_us < self.begin_us or stretch.begin_us > self.end_us:
            return None
        return self.place(stretch.begin_us), self.place(stretch.end_us)


def axis_of(rebalance: Rebalance) -> Axis:
    """The axis that shows all of a rebalance: what a member did long before or long after is cut off."""
    stretches = [stretch for member in rebalance.touched for stretch in member.stretches]
    longest = rebalance.duration_us
    begin_us = min((0, *(stretch.begin_us for stretch in stretches)))
    end_us = max((longest, *(stretch.end_us for stretch in stretches)))
    begin_us = max(begin_us, -(longest // 4 + MARGIN_US // 5))
    end_us = min(end_us, 2 * longest + MARGIN_US)
    return Axis(begin_us, max(end_us, begin_us + 1_000))


def ticks_of(axis: Axis) -> list[int]:
    """Round times on the axis, at most eight."""
    step_us = next((step for step in STEPS_US if axis.length_us / step <= TICKS_MAX), STEPS_US[-1])
    first = -(-axis.begin_us // step_us)
    return [number * step_us for number in range(first, axis.end_us // step_us + 1)]
