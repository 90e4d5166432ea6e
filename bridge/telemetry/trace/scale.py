"""The time axis of a drawing: from where to where, and where its ticks are.

It must not know what it is drawn on.
"""

from dataclasses import dataclass

from bridge.telemetry.rebalances.stories import Rebalance, Stretch

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
