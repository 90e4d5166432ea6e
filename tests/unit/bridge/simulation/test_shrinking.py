"""Stories that break a law are made smaller."""

from bridge.simulation.schedule import Act, Conditions, Deed, Phase, Schedule
from bridge.simulation.shrinking import shrink


def story(*phases: tuple[Deed, ...]) -> Schedule:
    """A story of these deeds."""
    acts = (tuple(Act(at_ms=0, deed=deed) for deed in phase) for phase in phases)
    return Schedule(1, Conditions(partitions=1), tuple(Phase(is_calm=False, acts=phase) for phase in acts))


def has(schedule: Schedule, *deeds: Deed) -> bool:
    """Whether all these are done somewhere."""
    return set(deeds) <= {act.deed for phase in schedule.phases for act in phase.acts}


def test_everything_that_does_not_matter_is_left_out() -> None:
    """What remains is needed."""
    long = story((Deed.START, Deed.CUT), (Deed.LAG,), (Deed.PAUSE, Deed.KILL, Deed.GROW))
    shrunk = shrink(long, lambda candidate: has(candidate, Deed.START, Deed.KILL))
    assert shrunk == story((Deed.START,), (Deed.KILL,))


def test_shrinking_ends_after_so_many_tries() -> None:
    """A slow failure is reported as far as it got."""
    long = story((Deed.START, Deed.CUT), (Deed.LAG,))
    tried: list[Schedule] = []

    def note(candidate: Schedule) -> bool:
        tried.append(candidate)
        return False

    assert shrink(long, note, tries_max=2) == long
    assert len(tried) == 2
