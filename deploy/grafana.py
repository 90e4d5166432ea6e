"""Draws the Grafana dashboards of deploy/dashboards from a table of panels.

It must not know Grafana's API: the files are imported or provisioned. `python -m deploy.grafana` writes them.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

FOLDER = Path(__file__).resolve().parent / "dashboards"
COLUMNS = 24
SOURCE = {"type": "prometheus", "uid": "${datasource}"}
GROUP = 'group=~"$group"'
RATE = "[$__rate_interval]"

Json = Mapping[str, object]


@dataclass(frozen=True, slots=True, kw_only=True)
class Panel:
    """One panel: Grafana's kind of it, its size in grid units, and its queries with their legends."""

    title: str
    text: str
    kind: str
    queries: Mapping[str, str]
    width: int = 12
    height: int = 8
    unit: str = "short"
    options: Json | None = None
    custom: Json | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Dashboard:
    """One file."""

    uid: str
    title: str
    panels: Sequence[Panel]


def _quantile(share: float, metric: str, by: str, where: str = GROUP) -> str:
    return f"histogram_quantile({share}, sum by ({by}, le) (rate({metric}_bucket{{{where}}}{RATE})))"


def _rate(metric: str, by: str, where: str = "") -> str:
    return f"sum by ({by}) (rate({metric}{{{where}}}{RATE}))"


def _grown(metric: str, by: str, where: str = GROUP) -> str:
    return f"sum by ({by}) (increase({metric}{{{where}}}{RATE}))"


STACKED: Json = {"drawStyle": "bars", "fillOpacity": 80, "lineWidth": 0, "stacking": {"mode": "normal"}}
STAT: Json = {"reduceOptions": {"calcs": ["lastNotNull"]}, "colorMode": "value", "graphMode": "area"}

REBALANCES = Dashboard(
    uid="epochbridge-rebalances",
    title="epochbridge: rebalances",
    panels=(
        Panel(
            title="Rebalances",
            text="How many there were in the range shown.",
            kind="stat",
            queries={"rebalances": f"sum(increase(epochbridge_rebalances_total{{{GROUP}}}[$__range]))"},
            width=6,
            height=4,
            options=STAT,
        ),
        Panel(
            title="Member stall, 99 %",
            text="How long all but one in a hundred members stood still at most.",
            kind="stat",
            queries={
                "stall": "histogram_quantile(0.99, sum by (le) "
                f"(increase(epochbridge_member_stall_seconds_bucket{{{GROUP}}}[$__range])))"
            },
            width=6,
            height=4,
            unit="s",
            options=STAT,
        ),
        Panel(
            title="Members disturbed",
            text="Members that stopped what they did though their assignment stayed.",
            kind="stat",
            queries={"disturbed": f"sum(increase(epochbridge_members_disturbed_total{{{GROUP}}}[$__range]))"},
            width=6,
            height=4,
            options=STAT,
        ),
        Panel(
            title="Partitions moved without need",
            text="Those that some assignor could have left where they were.",
            kind="stat",
            queries={
                "needless": f"sum(increase(epochbridge_partitions_moved_total{{{GROUP}}}[$__range])) - "
                f"sum(increase(epochbridge_partitions_forced_total{{{GROUP}}}[$__range]))"
            },
            width=6,
            height=4,
            options=STAT,
        ),
        Panel(
            title="Rebalances by group",
            text="One row for each group; a dark cell is a storm.",
            kind="status-history",
            queries={"{{group}}": _grown("epochbridge_rebalances_total", "group")},
            width=24,
            height=9,
            custom={"fillOpacity": 80, "lineWidth": 0},
            options={"showValue": "never", "rowHeight": 0.9},
        ),
        Panel(
            title="How long rebalances took",
            text="Heat map; with exemplars on, a point leads to the trace.",
            kind="heatmap",
            queries={
                "{{le}}": f"sum by (le) (increase(epochbridge_rebalance_duration_seconds_bucket{{{GROUP}}}{RATE}))"
            },
            unit="s",
            options={"calculate": False, "yAxis": {"unit": "s"}, "exemplars": {"color": "rgba(255,0,255,0.7)"}},
        ),
        Panel(
            title="Member stall by protocol",
            text="How long members stood still, by what their clients speak.",
            kind="timeseries",
            queries={
                "{{protocol}} 50 %": _quantile(0.5, "epochbridge_member_stall_seconds", "protocol"),
                "{{protocol}} 99 %": _quantile(0.99, "epochbridge_member_stall_seconds", "protocol"),
            },
            unit="s",
        ),
        Panel(
            title="Causes",
            text="Why groups rebalanced.",
            kind="timeseries",
            queries={"{{cause}}": _grown("epochbridge_rebalances_total", "cause")},
            custom=STACKED,
        ),
        Panel(
            title="Waited for the slowest member, 95 %",
            text="How long everybody waited for one, by group.",
            kind="timeseries",
            queries={"{{group}}": _quantile(0.95, "epochbridge_rebalance_waited_seconds", "group")},
            unit="s",
        ),
        Panel(
            title="Generation against epoch",
            text="Epochs rise with every change of a group; a generation only when that client's own share changes.",
            kind="timeseries",
            queries={
                "{{group}} epoch": f"epochbridge_group_epoch{{{GROUP}}}",
                "{{group}} generation": f"epochbridge_group_generation{{{GROUP}}}",
            },
        ),
        Panel(
            title="Partitions moved, and those that had to",
            text="Equal lines are the best there is.",
            kind="timeseries",
            queries={
                "moved": f"sum(increase(epochbridge_partitions_moved_total{{{GROUP}}}{RATE}))",
                "had to": f"sum(increase(epochbridge_partitions_forced_total{{{GROUP}}}{RATE}))",
            },
        ),
    ),
)

HEALTH = Dashboard(
    uid="epochbridge-health",
    title="epochbridge: health",
    panels=(
        Panel(
            title="Client connections",
            text="Open ones.",
            kind="timeseries",
            queries={"{{instance}}": "sum by (instance) (epochbridge_connections_open)"},
        ),
        Panel(
            title="Requests",
            text="By who answers.",
            kind="timeseries",
            queries={
                "relayed": "sum(rate(epochbridge_requests_relayed_total[$__rate_interval]))",
                "answered here": "sum(rate(epochbridge_requests_answered_total[$__rate_interval]))",
            },
            unit="reqps",
        ),
        Panel(
            title="Group requests by api",
            text="Those that the bridge answers itself; repeated heartbeats are not measured.",
            kind="timeseries",
            queries={"{{api}}": _rate("epochbridge_group_request_seconds_count", "api")},
            unit="reqps",
        ),
        Panel(
            title="Time inside the bridge, 99 %",
            text="From arrival to answer; a JoinGroup may be parked on purpose.",
            kind="timeseries",
            queries={"{{api}}": _quantile(0.99, "epochbridge_group_request_seconds", "api", "")},
            unit="s",
        ),
        Panel(
            title="Requests held",
            text="Group requests that wait for their answer.",
            kind="timeseries",
            queries={"{{instance}}": "sum by (instance) (epochbridge_requests_held)"},
        ),
        Panel(
            title="Bytes held",
            text="In the buffers of all connections.",
            kind="timeseries",
            queries={"{{instance}}": "sum by (instance) (epochbridge_bytes_held)"},
            unit="bytes",
        ),
        Panel(
            title="Traffic",
            text="From and to clients.",
            kind="timeseries",
            queries={
                "from clients": "sum(rate(epochbridge_bytes_from_clients_total[$__rate_interval]))",
                "to clients": "sum(rate(epochbridge_bytes_to_clients_total[$__rate_interval]))",
            },
            unit="Bps",
        ),
        Panel(
            title="Connections that ended",
            text="By reason.",
            kind="timeseries",
            queries={
                "{{reason}}": "sum by (reason) (increase(epochbridge_connections_closed_total[$__rate_interval]))"
            },
            custom=STACKED,
        ),
        Panel(
            title="Groups by protocol",
            text="As a broker counts them (KIP-848).",
            kind="timeseries",
            queries={"{{protocol}}": "sum by (protocol) (kafka_server_group_coordinator_metrics_group_count)"},
        ),
        Panel(
            title="Idle time of the coordinator",
            text="Idle time of its thread, as a broker tells it (KIP-848); near 0, waits grow.",
            kind="timeseries",
            queries={
                "idle": "min(kafka_server_group_coordinator_metrics_thread_idle_ratio_avg)",
            },
            unit="percentunit",
        ),
        Panel(
            title="Members by protocol",
            text="How far a migration has come.",
            kind="timeseries",
            queries={"{{protocol}}": "sum by (protocol) (epochbridge_group_members)"},
        ),
        Panel(
            title="Events",
            text="Of the event log; anything but written is a gap.",
            kind="timeseries",
            queries={"{{fate}}": _rate("epochbridge_events_total", "fate")},
            unit="cps",
        ),
    ),
)
DASHBOARDS = {"rebalances.json": REBALANCES, "health.json": HEALTH}


def draw(dashboard: Dashboard) -> str:
    """The dashboard as Grafana reads it."""
    document = {
        "uid": dashboard.uid,
        "title": dashboard.title,
        "tags": ["kafka", "epochbridge"],
        "schemaVersion": 39,
        "editable": True,
        "refresh": "30s",
        "time": {"from": "now-6h", "to": "now"},
        "templating": {"list": list(_variables())},
        "panels": list(_panels(dashboard.panels)),
    }
    return json.dumps(document, indent=1) + "\n"


def _variables() -> Iterator[Json]:
    yield {"name": "datasource", "type": "datasource", "query": "prometheus", "label": "Data source"}
    yield {
        "name": "group",
        "type": "query",
        "label": "Group",
        "datasource": SOURCE,
        "query": {"query": "label_values(epochbridge_rebalances_total, group)", "refId": "group"},
        "refresh": 2,
        "multi": True,
        "includeAll": True,
        "allValue": ".*",
        "current": {"text": "All", "value": "$__all"},
    }


def _panels(panels: Sequence[Panel]) -> Iterator[Json]:
    x = y = row_height = 0
    for number, panel in enumerate(panels, 1):
        if x + panel.width > COLUMNS:
            x, y, row_height = 0, y + row_height, 0
        yield _panel(panel, number, {"x": x, "y": y, "w": panel.width, "h": panel.height})
        x, row_height = x + panel.width, max(row_height, panel.height)


def _panel(panel: Panel, number: int, place: Json) -> Json:
    return {
        "id": number,
        "type": panel.kind,
        "title": panel.title,
        "description": panel.text,
        "datasource": SOURCE,
        "gridPos": place,
        "fieldConfig": {"defaults": {"unit": panel.unit, "custom": panel.custom or {}}, "overrides": []},
        "options": panel.options or {},
        "targets": [
            {
                "refId": chr(ord("A") + place_of),
                "expr": query,
                "legendFormat": legend,
                "datasource": SOURCE,
                "exemplar": "_bucket" in query,
                "format": "heatmap" if panel.kind == "heatmap" else "time_series",
            }
            for place_of, (legend, query) in enumerate(panel.queries.items())
        ],
    }


def main() -> None:
    """Write every file."""
    for name, dashboard in DASHBOARDS.items():
        (FOLDER / name).write_text(draw(dashboard), encoding="utf-8")


if __name__ == "__main__":
    main()
