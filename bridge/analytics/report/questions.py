"""What a report asks, in words that both engines know: `engines.views` says which those are."""

from bridge.analytics.engines.views import percentile, total
from bridge.telemetry.schema.terms import Departure

SLOWEST, HEAT_ROWS = 15, 24
HOUR_US = 3_600_000_000
QUIET_PHASE = "stable"
SAME_US = 1_000_000
"""What a member had is free in the moment in which it is put out; each event has read the wall clock for itself."""
PUT_OUT = tuple(
    departure.value
    for departure in (
        Departure.SESSION_EXPIRED,
        Departure.CONNECTION_LOST,
        Departure.POLL_TIMED_OUT,
        Departure.REBALANCE_TIMED_OUT,
        Departure.SYNC_TIMED_OUT,
    )
)
"""How members go that are frozen, killed or too late."""


def spread_of(column: str) -> str:
    """The measures of a spread."""
    shares = ", ".join(f"{percentile(column, share)} AS {name}" for name, share in (("p50", 0.5), ("p95", 0.95)))
    return f"count({column}) AS n, {shares}, max({column}) AS most"


FELT = f"felt AS (SELECT * FROM phases WHERE is_closed AND phase <> '{QUIET_PHASE}' AND duration_us IS NOT NULL)"
LATEST = """latest AS (
    SELECT group_id, member_id, client_id, concat_ws(' ', library, library_version) AS library
    FROM (
        SELECT *, row_number() OVER (
            PARTITION BY group_id, member_id ORDER BY began_us DESC NULLS LAST, began_event DESC NULLS LAST
        ) AS place FROM members
    ) AS spans WHERE place = 1
)"""
"""Each member with what it was last."""

REBALANCES = "SELECT count(*) AS n, min(began_us) AS first_us, max(began_us) AS last_us FROM rebalances"
GROUPS = "SELECT DISTINCT group_id FROM rebalances ORDER BY group_id NULLS LAST LIMIT 5"
STALLS = f"SELECT {spread_of('stall_us')} FROM stalls"
PHASES = f"""
WITH {FELT}
SELECT protocol, phase, {spread_of("duration_us")} FROM felt
GROUP BY protocol, phase ORDER BY phase NULLS FIRST, protocol NULLS FIRST
"""
MEMBERS = f"""
WITH {FELT}, {LATEST},
each_phase AS (
    SELECT group_id, member_id, phase, {spread_of("duration_us")}, {total("duration_us")} AS us FROM felt
    GROUP BY group_id, member_id, phase
),
ranked AS (
    SELECT *, {total("us", " OVER (PARTITION BY group_id, member_id)")} AS total,
        row_number() OVER (PARTITION BY group_id, member_id ORDER BY us DESC NULLS LAST, phase NULLS LAST) AS place
    FROM each_phase
),
slowest AS (
    SELECT * FROM ranked WHERE place = 1
    ORDER BY total DESC NULLS LAST, group_id NULLS FIRST, member_id NULLS FIRST LIMIT {SLOWEST}
)
SELECT slowest.group_id, slowest.member_id, trim(coalesce(library, '')) AS library, total, phase, n, p50, p95, most
FROM slowest LEFT JOIN latest ON latest.group_id = slowest.group_id AND latest.member_id = slowest.member_id
ORDER BY total DESC NULLS LAST, slowest.group_id NULLS FIRST, slowest.member_id NULLS FIRST
"""
_AT_THE_END = f"abs(stalls.released_us - gone.ended_us) < {SAME_US}"
_OUT = ", ".join(f"'{departure}'" for departure in PUT_OUT)
CULPRITS = f"""
WITH {LATEST},
named AS (
    SELECT group_id, critical_member AS member_id, critical_phase, waited_us FROM rebalances
    WHERE critical_member <> '' AND waited_us > 0
),
longest AS (
    SELECT *, row_number() OVER (
        PARTITION BY group_id, member_id ORDER BY waited_us DESC NULLS LAST, critical_phase NULLS LAST
    ) AS place FROM named
),
waited AS (
    SELECT group_id, member_id, count(*) AS n, {total("waited_us")} AS waited, max(waited_us) AS most,
        max(CASE WHEN place = 1 THEN critical_phase END) AS phase
    FROM longest GROUP BY group_id, member_id
),
gone AS (
    SELECT group_id, member_id, departure, ended_us, row_number() OVER (
        PARTITION BY group_id, member_id ORDER BY ended_us DESC NULLS LAST, departure NULLS LAST
    ) AS place
    FROM members WHERE departure IN ({_OUT})
),
put_out AS (
    SELECT gone.group_id, gone.member_id, max(CASE WHEN place = 1 THEN departure END) AS departure,
        {total(f"CASE WHEN {_AT_THE_END} THEN stalls.stall_us END")} AS still
    FROM gone LEFT JOIN stalls ON stalls.group_id = gone.group_id AND stalls.before = gone.member_id
    GROUP BY gone.group_id, gone.member_id
),
held_up AS (
    SELECT group_id, member_id, n, waited, most, phase, departure, still,
        CAST(coalesce(waited, 0) AS DECIMAL(38, 0)) + coalesce(still, 0) AS whole
    FROM waited FULL JOIN put_out USING (group_id, member_id)
),
slowest AS (
    SELECT * FROM held_up WHERE whole > 0
    ORDER BY whole DESC NULLS LAST, group_id NULLS FIRST, member_id NULLS FIRST LIMIT {SLOWEST}
)
SELECT slowest.group_id, slowest.member_id, coalesce(client_id, '') AS client_id,
    trim(coalesce(library, '')) AS library, coalesce(n, 0) AS rebalances, coalesce(waited, 0) AS waited_us,
    coalesce(most, 0) AS most_us, coalesce(phase, '') AS phase, coalesce(departure, '') AS departure,
    coalesce(still, 0) AS stall_us
FROM slowest LEFT JOIN latest ON latest.group_id = slowest.group_id AND latest.member_id = slowest.member_id
ORDER BY whole DESC NULLS LAST, slowest.group_id NULLS FIRST, slowest.member_id NULLS FIRST
"""
CAUSES = f"""
SELECT coalesce(cause, 'not told') AS cause, count(*) AS rebalances, coalesce({total("moved")}, 0) AS moved,
    coalesce({total("forced_minimum")}, 0) AS forced_minimum,
    coalesce({total("told")}, 0) AS told, coalesce({total("disturbed")}, 0) AS disturbed
FROM rebalances GROUP BY coalesce(cause, 'not told') ORDER BY rebalances DESC NULLS LAST, cause NULLS LAST
"""
_SPANS = """spans AS (
    SELECT group_id, protocol, began_us, row_number() OVER (
        PARTITION BY group_id ORDER BY began_us NULLS LAST, began_event NULLS LAST, member_id NULLS LAST
    ) AS place FROM members
),
earliest AS (SELECT group_id, protocol AS old_protocol FROM spans WHERE place = 1),
others AS (
    SELECT spans.group_id, old_protocol, protocol AS new_protocol, began_us AS changed_us,
        row_number() OVER (PARTITION BY spans.group_id ORDER BY place) AS place
    FROM spans JOIN earliest ON earliest.group_id = spans.group_id WHERE protocol <> old_protocol
),
changes AS (SELECT group_id, old_protocol, new_protocol, changed_us FROM others WHERE place = 1)"""


def _sided(began_us: str) -> str:
    return f"CASE WHEN {began_us} < changed_us THEN old_protocol ELSE new_protocol END"


CHANGES = f"""
WITH {_SPANS},
counted AS (
    SELECT rebalances.group_id, {_sided("began_us")} AS side, min(old_protocol) AS old_protocol,
        count(*) AS rebalances, coalesce({total("disturbed")}, 0) AS disturbed, {spread_of("duration_us")}
    FROM rebalances JOIN changes ON changes.group_id = rebalances.group_id
    GROUP BY rebalances.group_id, {_sided("began_us")}
),
stood AS (
    SELECT stalls.group_id, {_sided("coalesce(told_us, released_us)")} AS side, {spread_of("stall_us")}
    FROM stalls JOIN changes ON changes.group_id = stalls.group_id
    GROUP BY stalls.group_id, {_sided("coalesce(told_us, released_us)")}
)
SELECT counted.group_id, counted.side AS protocol, rebalances, disturbed, counted.n, counted.p50, counted.p95,
    counted.most, coalesce(stood.n, 0) AS stall_n, stood.p50 AS stall_p50, stood.p95 AS stall_p95,
    stood.most AS stall_most
FROM counted LEFT JOIN stood ON stood.group_id = counted.group_id AND stood.side = counted.side
ORDER BY counted.group_id NULLS FIRST, CASE WHEN counted.side = old_protocol THEN 0 ELSE 1 END
"""
_WORST = f"""worst AS (
    SELECT group_id, {total("stall_us")} AS whole FROM stalls GROUP BY group_id
    ORDER BY whole DESC NULLS LAST, group_id NULLS FIRST LIMIT {HEAT_ROWS}
)"""
WORST = f"WITH {_WORST} SELECT group_id FROM worst ORDER BY whole DESC NULLS LAST, group_id NULLS FIRST"
HEAT = f"""
WITH {_WORST}
SELECT stalls.group_id, CAST(floor(fetched_us / {HOUR_US}) AS BIGINT) AS hour, coalesce({total("stall_us")}, 0) AS us
FROM stalls JOIN worst ON worst.group_id = stalls.group_id
GROUP BY stalls.group_id, CAST(floor(fetched_us / {HOUR_US}) AS BIGINT)
"""
