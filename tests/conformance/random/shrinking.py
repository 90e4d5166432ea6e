"""A sequence that differs made as short as it can be while the same still differs.

It knows nothing of coordinators: playing is a function it is given.
"""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

from tests.conformance.random.judging import Verdict
from tests.conformance.random.sequences import Drawn, Probe, Settle
from tests.support.conformance.steps import Call

AT_ONCE = 8
Examine = Callable[[Drawn], Verdict]


def shrink(examine: Examine, drawn: Drawn, verdict: Verdict) -> tuple[Drawn, Verdict]:
    """Drop what comes after the difference, then halves, quarters and single steps as long as the same differs."""
    kind = signature(drawn, verdict)
    drawn = until(drawn, verdict)
    size = max(1, len(drawn.moves) // 2)
    while size:
        tries = [without(drawn, at, size) for at in range(0, len(drawn.moves), size)]
        with ThreadPoolExecutor(AT_ONCE) as pool:
            verdicts = list(pool.map(examine, tries))
        kept = [(one, its) for one, its in zip(tries, verdicts, strict=True) if signature(one, its) & kind]
        if kept:
            drawn, verdict = until(*kept[-1]), kept[-1][1]
        else:
            size //= 2
        size = min(size, max(1, len(drawn.moves) // 2))
        if len(drawn.moves) <= 1:
            break
    return drawn, verdict


def until(drawn: Drawn, verdict: Verdict) -> Drawn:
    """The sequence up to the difference."""
    return replace(drawn, moves=drawn.moves[: verdict.steps])


def without(drawn: Drawn, at: int, size: int) -> Drawn:
    """The sequence less some steps, and less the questions to a group that nothing brought to rest any more."""
    moves = drawn.moves[:at] + drawn.moves[at + size :]
    pairs = zip((None, *moves), moves, strict=False)
    kept = (move for before, move in pairs if not isinstance(move, Probe) or isinstance(before, Settle))
    return replace(drawn, moves=tuple(kept))


def signature(drawn: Drawn, verdict: Verdict) -> set[str]:
    """What a difference is about, so that shrinking keeps to it."""
    kinds = set()
    for one in verdict.unexplained:
        move = drawn.moves[one.asked - 1]
        api = move.api if isinstance(move, Call) else type(move).__name__
        kinds.add(f"{api if one.path.startswith('answer') else 'view'} {one.leaf()} {one.kafka!r} {one.ours!r}")
    return kinds
