"""What a disturbance is, and which phases are work lost: one definition for drawings, metrics, replays and tables.

The tables of `bridge.analytics` say the same in columns of Spark, which never calls Python; a table of cases holds all
of them to one another (`tests/support/disturbance_cases.py`).
"""

from collections import Counter
from collections.abc import Collection, Iterable

from bridge.telemetry.schema.terms import Phase

IDLE = frozenset((Phase.STABLE, Phase.AWAITING_RELEASE))
"""Phases in which a member goes on with what it has."""
AT_WORK = frozenset((Phase.JOINING, Phase.SYNCING, Phase.REVOKING))
"""Phases in which a member does not do its work, or not all of it, because the group wants something of it."""


def is_disturbed(lost: Collection[str], gained: Collection[str], *, is_gone: bool) -> bool:
    """Whether a member gave something up for nothing: it has the partitions it had before, and is still there.

    `lost` are the partitions that it gave up, `gained` those that it was given, once for each time. One that only had
    to join again went on working (a cooperative member does), so it is not disturbed.
    """
    return not is_gone and bool(lost) and sorted(lost) == sorted(gained)


def without(lost: Iterable[str], again: Iterable[str]) -> list[str]:
    """What a member gave up but for what it was given again (`is_again`): that it has had all along."""
    return [*(Counter(lost) - Counter(again)).elements()]
