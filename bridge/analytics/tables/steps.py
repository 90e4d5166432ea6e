"""Which table is made from which: the functions, as data."""

from collections.abc import Callable, Mapping
from functools import partial

from pyspark.sql import DataFrame

from bridge.analytics.tables.daily import daily
from bridge.analytics.tables.definitions import DAILY, FLAPS, MEMBERS, PHASES, REBALANCES, STALLS, STORMS, Table
from bridge.analytics.tables.flaps import flaps
from bridge.analytics.tables.members import members
from bridge.analytics.tables.phases import phases
from bridge.analytics.tables.rebalances import rebalances
from bridge.analytics.tables.stalls import stalls
from bridge.analytics.tables.storms import storms

Tables = Mapping[str, DataFrame]
Stage = Mapping[str, Callable[[], None]]
Make = Callable[[DataFrame], DataFrame]
FROM_EVENTS: Mapping[str, tuple[Table, Make]] = {
    table.name: (table, make)
    for table, make in (
        (PHASES, phases),
        (REBALANCES, rebalances),
        (STALLS, stalls),
        (MEMBERS, members),
        (FLAPS, flaps),
    )
}
"""Tables made from the events in order."""


def makers(begun: DataFrame | None, marks: DataFrame | None = None) -> Mapping[str, tuple[Table, Make]]:
    """`FROM_EVENTS`, where what the own facts of rebalances say may be known already (`carrying.begun_of`), or what
    others say of members.
    """
    return {**FROM_EVENTS, REBALANCES.name: (REBALANCES, partial(rebalances, begun=begun, marks=marks))}


FROM_TABLES: Mapping[str, tuple[Table, Callable[[Tables], DataFrame]]] = {
    STORMS.name: (STORMS, lambda tables: storms(tables[REBALANCES.name])),
    DAILY.name: (DAILY, daily),
}
"""Tables made from what is already written."""
