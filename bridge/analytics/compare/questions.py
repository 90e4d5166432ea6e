"""What a comparison asks, in words that both engines know, which `engines.views` names."""

from collections.abc import Sequence

from bridge.analytics.engines.views import total
from bridge.telemetry.schema.terms import Phase

UNITS_MAX = 20_000
"""The newest so many units are compared; more would not change what is certain long before."""
HOUR_US = 3_600_000_000
CHOSEN = "chosen"
"""The view of who is in either arm."""
NATURE = ("instance_id", "protocol", "road", "client_id", "client_host", "library", "library_version")

_CHAINS = """named AS (
    SELECT group_id, rebalance_id, road, began_us, ended_us, coalesce(chain_id, rebalance_id) AS unit FROM rebalances
),
whole AS (
    SELECT group_id, unit, min(began_us) AS at_us, max(ended_us) AS over_us FROM named GROUP BY group_id, unit
),
chains AS (
    SELECT named.group_id, rebalance_id, named.unit, road, at_us
    FROM named JOIN whole ON whole.group_id = named.group_id AND whole.unit = named.unit
)"""
"""Rebalances with the first of those that superseded one another: what one cuts short is one wait to a member."""


def _hour(time_us: str) -> str:
    return f"CAST(floor({time_us} / {HOUR_US}) * {HOUR_US} AS BIGINT)"


_OF_CHAINS = f"""{_CHAINS},
there AS (
    SELECT whole.group_id, unit, at_us, members.member_id, {", ".join(f"members.{name}" for name in NATURE)},
        row_number() OVER (
            PARTITION BY whole.group_id, unit, members.member_id
            ORDER BY members.began_us DESC NULLS LAST, began_event DESC NULLS LAST
        ) AS place
    FROM whole JOIN members ON members.group_id = whole.group_id
        AND members.began_us <= coalesce(over_us, at_us)
        AND (members.ended_us IS NULL OR members.ended_us > coalesce(over_us, at_us))
),
waited AS (
    SELECT seen.*, chains.unit FROM seen
    JOIN chains ON chains.group_id = seen.group_id AND chains.rebalance_id = seen.rebalance_id
)"""
"""Who was a member of the group when a rebalance was over, or began where it is not: with its latest nature."""
# Where the wall clock went back, a span ends before it began: Spark refuses a sequence that goes backwards.
_OF_HOURS = f"""known AS (SELECT coalesce(max(greatest(began_us, ended_us)), 0) AS last_us FROM members),
hours AS (
    SELECT members.*, explode(sequence(
        {_hour("began_us")}, {_hour("greatest(began_us, coalesce(ended_us, last_us))")}, CAST({HOUR_US} AS BIGINT)
    )) AS at_us
    FROM members CROSS JOIN known WHERE began_us IS NOT NULL
),
there AS (
    SELECT *, CAST(at_us AS VARCHAR(20)) AS unit, row_number() OVER (
        PARTITION BY group_id, at_us, member_id ORDER BY began_us DESC NULLS LAST, began_event DESC NULLS LAST
    ) AS place
    FROM hours
),
waited AS (SELECT *, CAST({_hour("began_us")} AS VARCHAR(20)) AS unit FROM seen)"""
"""Who was a member of the group in each hour, up to the last hour that the table knows."""


def member_waits(*, is_hourly: bool, hidden: Sequence[str]) -> str:
    """A row per unit and member of its group then: its time in all phases but `stable` and hidden ones, 0 for none."""
    passed_over = ", ".join(f"'{phase}'" for phase in (Phase.STABLE.value, *hidden))
    natures = ", ".join(
        f"coalesce(present.{name}, sums.{name}) AS {name}" if name in {"protocol", "road"} else f"present.{name}"
        for name in NATURE
    )
    return f"""
WITH seen AS (SELECT * FROM phases WHERE phase NOT IN ({passed_over}) AND duration_us IS NOT NULL),
{_OF_HOURS if is_hourly else _OF_CHAINS},
present AS (SELECT group_id, unit, member_id, at_us, {", ".join(NATURE)} FROM there WHERE place = 1),
latest AS (
    SELECT group_id, unit, member_id, duration_us, began_us, protocol, road, row_number() OVER (
        PARTITION BY group_id, unit, member_id ORDER BY began_us DESC NULLS LAST, began_event DESC NULLS LAST
    ) AS place FROM waited
),
sums AS (
    SELECT group_id, unit, member_id, {total("duration_us")} AS in_phases, min(began_us) AS phase_us,
        max(CASE WHEN place = 1 THEN protocol END) AS protocol, max(CASE WHEN place = 1 THEN road END) AS road
    FROM latest GROUP BY group_id, unit, member_id
)
SELECT group_id, unit, member_id, coalesce(at_us, phase_us) AS at_us,
    CAST(coalesce(in_phases, 0) AS BIGINT) AS waited_us, {natures}
FROM present FULL JOIN sums USING (group_id, unit, member_id)
"""


def partition_waits(*, is_hourly: bool) -> str:
    """A row per unit and speaker of the next owners: how long partitions stood still in all, 0 where none did.

    `protocol` is what the client speaks that has the partition afterwards, null where no partition changed hands.
    """
    unit = f"CAST({_hour('at_us')} AS VARCHAR(20))" if is_hourly else "unit"
    return f"""
WITH {_CHAINS},
still AS (SELECT group_id, rebalance_id, stall_us, protocol_after FROM stalls WHERE stall_us IS NOT NULL),
each AS (
    SELECT chains.group_id, {unit} AS unit, road, protocol_after AS protocol, stall_us, at_us
    FROM chains LEFT JOIN still ON still.group_id = chains.group_id AND still.rebalance_id = chains.rebalance_id
)
SELECT group_id, unit, road, protocol, coalesce({total("stall_us")}, 0) AS waited_us, min(at_us) AS at_us
FROM each GROUP BY group_id, unit, road, protocol
"""


def arms(rows: str, control: str, treatment: str) -> str:
    """Rows of either arm, marked with which. The conditions have lines of their own, as they may end with a comment."""
    return f"""
SELECT * FROM (
    SELECT *, coalesce(CAST((
        {control}
    ) AS BOOLEAN), false) AS is_control, coalesce(CAST((
        {treatment}
    ) AS BOOLEAN), false) AS is_treatment
    FROM ({rows}) AS whoever
) AS marked WHERE is_control OR is_treatment
"""


SHARED = f"SELECT * FROM {CHOSEN} WHERE is_control AND is_treatment LIMIT 1"
ROADS = f"SELECT DISTINCT road FROM {CHOSEN}"
GROUPS = f"SELECT DISTINCT is_control, group_id FROM {CHOSEN}"


def values(who: Sequence[str]) -> str:
    """Every value of the newest units, oldest unit first, those of a unit in an order that says nothing about them:
    by a digest of the columns that tell who it is.
    """
    digested = ", ".join(("newest.group_id", "newest.unit", *(f"coalesce(chosen.{name}, '')" for name in who)))
    return f"""
WITH units AS (SELECT group_id, unit, min(at_us) AS at_us FROM {CHOSEN} GROUP BY group_id, unit),
newest AS (
    SELECT * FROM units
    ORDER BY at_us DESC NULLS LAST, unit DESC NULLS LAST, group_id DESC NULLS LAST LIMIT {UNITS_MAX}
)
SELECT newest.group_id, newest.unit, newest.at_us, is_control, waited_us
FROM {CHOSEN} AS chosen JOIN newest ON newest.group_id = chosen.group_id AND newest.unit = chosen.unit
ORDER BY newest.at_us NULLS FIRST, newest.unit NULLS FIRST, newest.group_id NULLS FIRST,
    md5(concat_ws('/', {digested})), waited_us
"""
