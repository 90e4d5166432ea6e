"""Records what a real bridge shows while real groups rebalance, as a test of the alerts by Prometheus's own tool.

`python -m tests.support.record_series` writes `deploy/dashboards/recorded.test.yml`: behind a bridge on Kafka 4.3.1 the
members of one group are restarted all the time, those of another are killed one after the other, a third is left alone.
A second of the record counts as ten in the test, as alerts look at minutes.
"""

import re
import tempfile
from collections import defaultdict
from collections.abc import Awaitable, Callable, Mapping, Sequence
from itertools import count
from pathlib import Path

import httpx
import trio
import yaml
from prometheus_client.parser import text_string_to_metric_families

from bridge.demo.cluster import create_topics
from bridge.demo.events import Partition
from bridge.demo.fleet import Fleet
from bridge.demo.fleet_specs import MemberSpec, Target
from bridge.demo.kafka_broker import start_broker
from bridge.demo.kafka_properties import DEFAULT_VERSION, BrokerSettings
from deploy.grafana import FOLDER
from tests.support.bridge_process import QUICK_SETTINGS, bridge_process

RECORD = FOLDER / "recorded.test.yml"
STORMY, DEADLY, CALM = "embedded-stormy", "embedded-deadly", "embedded-calm"
SEATS = ("a", "b", "c")
PARTITIONS = 6
SESSION_MS = 2_000
RESTART_S, KILL_S = 1.0, 6.0
RECORD_S, COUNTS_AS_S = 90, 10
QUICK_GROUPS = {"group.initial.rebalance.delay.ms": "100", "group.min.session.timeout.ms": "1000"}
Values = Mapping[str, Sequence[float | None]]


def asked_for() -> frozenset[str]:
    """The names of series that the alerts look at."""
    text = (FOLDER / "alerts.yml").read_text(encoding="utf-8")
    return frozenset(re.findall(r"epochbridge_\w+", text))


def series_of(text: str, names: frozenset[str]) -> dict[str, float]:
    """The series of these names at one moment."""
    return {
        f"{sample.name}{_labels(sample.labels)}": sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
        if sample.name in names
    }


def _labels(labels: Mapping[str, str]) -> str:
    told = {**labels, "instance": "b"}
    return "{" + ",".join(f'{name}="{value}"' for name, value in sorted(told.items())) + "}"


def as_test(values: Values) -> dict[str, object]:
    """The record as a file of `promtool test rules`, with what is right to fire at its end."""
    end = f"{(RECORD_S - 1) * COUNTS_AS_S}s"
    firing = 'ALERTS{alertstate="firing"'

    def fires(name: str, group: str) -> dict[str, object]:
        labels = f'ALERTS{{alertname="{name}",alertstate="firing",group="{group}",severity="warning"}}'
        return {"labels": labels, "value": 1}

    expected: Mapping[str, list[dict[str, object]]] = {
        f'{firing},alertname="RebalanceStorm",group!="{DEADLY}"}}': [fires("RebalanceStorm", STORMY)],
        f'{firing},alertname="MembersExpire"}}': [fires("MembersExpire", DEADLY)],
        f'{firing},group="{CALM}"}}': [],
        f'{firing},alertname!~"RebalanceStorm|MembersExpire"}}': [],
    }
    return {
        "rule_files": ["alerts.yml"],
        "evaluation_interval": f"{COUNTS_AS_S}s",
        "tests": [
            {
                "name": "groups of real clients: one that is restarted all the time, one whose members die, a calm one",
                "interval": f"{COUNTS_AS_S}s",
                "input_series": [
                    {"series": name, "values": " ".join("_" if one is None else f"{one:g}" for one in told)}
                    for name, told in sorted(values.items())
                ],
                "promql_expr_test": [
                    {"expr": expression, "eval_time": end, "exp_samples": samples}
                    for expression, samples in expected.items()
                ],
            }
        ],
    }


async def record(admin: str) -> Values:
    """The series of each second; None where one was not there yet."""
    names = asked_for()
    found: defaultdict[str, list[float | None]] = defaultdict(list)
    begin_s = trio.current_time()
    async with httpx.AsyncClient(trust_env=False) as client:
        for second in range(RECORD_S):
            await trio.sleep_until(begin_s + second)
            answer = await client.get(f"http://{admin.removeprefix('http://')}/metrics")
            for name, value in series_of(answer.text, names).items():
                found[name].extend([None] * (second - len(found[name])))
                found[name].append(value)
    return found


async def live(bootstrap: str, admin: str, topics: Mapping[str, frozenset[Partition]], folder: Path) -> Values:
    """Let the three groups live, and record."""
    values: Values = {}
    async with trio.open_nursery() as nursery:
        fleets: dict[str, Fleet] = {}
        for group, partitions in topics.items():
            (folder / group).mkdir()
            target = Target(bootstrap=bootstrap, group=group, topics=(f"{group}-topic",))
            fleets[group] = Fleet(nursery, target, partitions, folder / group)
            for seat in SEATS:
                await fleets[group].start(_member(seat))
        await trio.sleep(5)
        nursery.start_soon(_again, fleets[STORMY], fleets[STORMY].stop, RESTART_S)
        nursery.start_soon(_again, fleets[DEADLY], fleets[DEADLY].kill, KILL_S)
        values = await record(admin)
        nursery.cancel_scope.cancel()
    return values


async def _again(fleet: Fleet, end: Callable[[str], Awaitable[None]], every_s: float) -> None:
    for place in count():
        await trio.sleep(every_s)
        seat = SEATS[place % len(SEATS)]
        await end(seat)
        await fleet.start(_member(seat))


def _member(seat: str) -> MemberSpec:
    return MemberSpec(seat=seat, session_timeout_ms=SESSION_MS)


def main() -> None:
    """Live, and write down the test."""
    with (
        tempfile.TemporaryDirectory() as name,
        start_broker(BrokerSettings(version=DEFAULT_VERSION, properties=QUICK_GROUPS), directory=Path(name)) as broker,
    ):
        folder = Path(name)
        topics = {
            group: create_topics(broker.bootstrap, (f"{group}-topic",), PARTITIONS) for group in (STORMY, DEADLY, CALM)
        }
        settings = {**QUICK_SETTINGS, "events.path": str(folder / "events")}
        with bridge_process(broker.bootstrap, ["embedded-*"], folder, settings, has_admin=True) as bridge:
            values = trio.run(live, bridge.bootstrap, bridge.admin, topics, folder)
    head = (
        "# promtool test rules deploy/dashboards/recorded.test.yml; written by python -m tests.support.record_series\n"
        "# What a real bridge showed: a second of its time counts as ten, as alerts look at minutes.\n"
    )
    RECORD.write_text(head + yaml.safe_dump(as_test(values), sort_keys=False, width=10**6), encoding="utf-8")
    print(f"{len(values)} series in {RECORD}")


if __name__ == "__main__":
    main()
