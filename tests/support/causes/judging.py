"""What the bridge said of a story's rebalances in the words of what is right, and where the two differ."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from bridge.telemetry.rebalances.rebalance import Rebalance
from bridge.telemetry.schema.terms import Cause, Outcome, Phase
from tests.support.causes.diaries import Accounts
from tests.support.causes.players import Case, Name
from tests.support.causes.running import Told
from tests.support.causes.setting import Silence
from tests.support.causes.stories import ANYBODY, NOBODY, STORIES, Right

STIRRED_US = 200_000
"""Who is made slow takes longer; others may do so by themselves where the machine is busy, so that says nothing."""

FIRST = ("a", "s")
"""Who comes first, and leads a classic group."""
Label = tuple[Cause, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """Causes with the seats behind them, one after the other; who was waited for longest; how many were disturbed."""

    causes: tuple[Label, ...]
    slow: str
    phase: Phase | None
    waited_us: int
    disturbed: int
    silences: Mapping[str, Silence] = field(default_factory=dict)
    accounts: Accounts | None = None


def read(case: Case, told: Told) -> Said:
    """What was said; of what clients do on their own account only that which is no part of the story is left out."""
    right = STORIES[case.story].says(case)
    labels = [(one.explained.cause, _seats(told, one.explained.caused_by)) for one in told.rebalances]
    merged = tuple(_merge(labels))
    causes = merged if _is_right(merged, right) else tuple(_merge(_without(labels, right, case)))
    held = [one for one in told.rebalances if _is_by(one, told, right)] or list(told.rebalances)
    longest = max(held, key=lambda one: one.explained.waited_us, default=None)
    critical = "" if longest is None else longest.explained.critical_member
    completed = [one for one in told.rebalances if one.outcome is Outcome.COMPLETED]
    done = [
        one
        for one in _rejoined_once(completed, case)
        if (one.explained.cause, _seats(told, one.explained.caused_by)) not in _extras(right, case)
    ]
    return Said(
        causes=causes,
        slow=told.names.get(critical, critical),
        phase=None if longest is None else longest.explained.critical_phase,
        waited_us=0 if longest is None else longest.explained.waited_us,
        disturbed=sum(one.disturbed_count for one in done),
        silences=told.silences,
        accounts=told.accounts if right.has_diaries and not _is_restless(labels, right) else None,
    )


def _is_restless(labels: Iterable[Label], right: Right) -> bool:
    """Whether a leader joined again on its own account: kafka-python's may give back, unused, what it was just given,
    which its diary has as one more stand-still and the log, rightly, has not.
    """
    wanted = {cause for cause, _ in right.causes}
    return Cause.LEADER_REJOINED not in wanted and any(cause is Cause.LEADER_REJOINED for cause, _ in labels)


def _rejoined_once(rebalances: Sequence[Rebalance], case: Case) -> Sequence[Rebalance]:
    """Without what a leader does on its own account after the rejoin that the story is about."""
    if case.story != "leader-rejoin":
        return rebalances
    return [
        one for place, one in enumerate(rebalances) if not place or one.explained.cause is not Cause.LEADER_REJOINED
    ]


def _is_by(one: Rebalance, told: Told, right: Right) -> bool:
    """Whether it names the slow member, in the phase that it was slow in."""
    critical = told.names.get(one.explained.critical_member, "")
    return critical == right.slow and right.phase in (None, one.explained.critical_phase)


def in_words(said: Said) -> dict[str, str]:
    """What was said, for the page."""
    causes = [f"{cause} ({', '.join(seats)})" if seats else cause.value for cause, seats in said.causes]
    is_told = said.slow and said.waited_us >= STIRRED_US
    waited = f"{said.slow}, {said.phase}, {said.waited_us / 1_000_000:.1f} s" if is_told else "nobody"
    words = {"causes": ", then ".join(causes) or "none", "waited for": waited, "disturbed": str(said.disturbed)}
    silent = [
        f"{seat}, {one.felt_us / 1e6:.1f} s, told {one.told_us / 1e6:.1f} s" for seat, one in said.silences.items()
    ]
    stood = "" if said.accounts is None else str(said.accounts)
    return {**words, "frozen out": ", ".join(silent) or "nobody", "stood still": stood}


def faults(case: Case, said: Said) -> Iterator[str]:
    """Where what was said is not what is right."""
    right = STORIES[case.story].says(case)
    if not _is_right(said.causes, right):
        yield f"causes {said.causes}, not {right.causes}"
    if right.slow == ANYBODY:
        pass
    elif right.slow:
        is_right = said.slow == right.slow and right.phase in (None, said.phase)
        if not is_right or said.waited_us < STIRRED_US:
            yield f"{said.slow or 'nobody'} in {said.phase} waited for, not {right.slow} in {right.phase}"
    if right.silent:
        silence = said.silences.get(right.silent)
        # A heartbeat before it was frozen it was heard last; what a busy machine adds to that is less than this.
        if silence is None or abs(silence.felt_us - silence.told_us) * 2 > silence.felt_us:
            yield f"{right.silent} was silent as in {silence}"
    if said.accounts is not None and not said.accounts.is_equal:
        yield f"partitions stood still {said.accounts}"
    if right.disturbed not in (None, said.disturbed):
        yield f"{said.disturbed} disturbed, not {right.disturbed}"


def _is_right(causes: tuple[Label, ...], right: Right) -> bool:
    """Whether these are the right ones, or those that count as well."""
    chances = [tuple(_merge(wanted)) for wanted in (right.causes, right.instead)]
    chances = chances if right.instead else chances[:1]
    return any(len(causes) == len(wanted) and all(map(_fits, causes, wanted)) for wanted in chances)


def _fits(label: Label, right: Label) -> bool:
    return label == right or (label[0] is right[0] and right[1] == ANYBODY)


def _seats(told: Told, member_ids: Iterable[str]) -> str:
    return "".join(sorted({told.names.get(member_id, member_id) for member_id in member_ids}))


def _extras(right: Right, case: Case) -> frozenset[Label]:
    """Labels that may be among the right ones; kafka-python's leader joins again when Metadata comes as it assigns."""
    is_restless = case.kind is Name.PYTHON and case.is_met and case.story != "leader-rejoin"
    return right.maybe | (frozenset((Cause.LEADER_REJOINED, seat) for seat in FIRST) if is_restless else frozenset())


def _without(labels: Iterable[Label], right: Right, case: Case) -> Iterator[Label]:
    """What is left without extras; one that comes first where it is right is none."""
    awaited = list(right.causes)
    extras = _extras(right, case)
    for label in labels:
        is_awaited = any(_fits(label, one) for one in awaited)
        if is_awaited:
            awaited = [one for one in awaited if not _fits(label, one)]
        if is_awaited or (label not in extras and (label[0], ANYBODY) not in extras):
            yield label


def _merge(labels: Iterable[Label]) -> Iterator[Label]:
    """One label for one cause, whether it took one rebalance or several rounds."""
    last: Label | None = None
    for label in labels:
        if last is not None and last[0] is not label[0]:
            yield last
            last = None
        seats = NOBODY if last is None else last[1]
        last = (label[0], "".join(sorted({*seats, *label[1]})))
    if last is not None:
        yield last


def describe(rebalances: Iterable[Rebalance]) -> str:
    """What was said, for a failed test's message."""
    return "\n".join(
        f"{one.outcome}: {one.explained.sentence} (waited {one.explained.waited_us} us for "
        f"{one.explained.critical_phase}; {one.disturbed_count} disturbed)"
        for one in rebalances
    )
