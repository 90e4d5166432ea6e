"""The text is read back with Prometheus' own parser."""

from collections import Counter
from dataclasses import fields, replace

from prometheus_client.parser import text_string_to_metric_families

from bridge.session.close_reasons import CloseReason
from bridge.session.counters import Counters, Statistics
from bridge.telemetry.metrics import (
    COUNTERS,
    GAUGES,
    GROUPS_MAX,
    OTHERS,
    TEXT_CHARS_MAX,
    GroupCount,
    PrometheusMetrics,
    Readings,
)
from bridge.telemetry.passing import PassingLog
from translators.dialects.ids import GroupId

Samples = dict[tuple[str, tuple[tuple[str, str], ...]], float]
STATISTICS = Counters(
    connections_open=2, connections_accepted=5, requests=70, closed={CloseReason.TLS_ON_PLAIN_PORT: 3}
).picture(bytes_held=99)


def scrape(readings: Readings) -> Samples:
    """Every sample by name and labels."""
    text = PrometheusMetrics(readings).text().decode()
    return {
        (sample.name, tuple(sorted(sample.labels.items()))): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def readings(
    groups: tuple[GroupCount, ...] = (), statistics: Statistics = STATISTICS, passing: PassingLog | None = None
) -> Readings:
    """Readings that stand still."""
    return Readings(statistics=lambda: statistics, groups=lambda: groups, passing=passing or PassingLog())


def group(name: str, classic: int = 1) -> GroupCount:
    """A stable group."""
    return GroupCount(group_id=name, state="Stable", classic_members=classic, consumer_members=2)


def test_counters_and_gauges_are_parsed_back() -> None:
    """Counters end in _total, gauges do not."""
    samples = scrape(readings())
    assert samples["epochbridge_requests_total", ()] == 70
    assert samples["epochbridge_connections_open", ()] == 2
    assert samples["epochbridge_bytes_held", ()] == 99


def test_conversions_are_counted_by_kind_and_outcome() -> None:
    """An operator sees why groups stay what they are."""
    counts = {("consumer", "done"): 2, ("classic", "no-common-protocol"): 1}
    samples = scrape(replace(readings(), conversions=lambda: counts))
    assert samples["epochbridge_conversions_total", (("outcome", "done"), ("to", "consumer"))] == 2
    assert samples["epochbridge_conversions_total", (("outcome", "no-common-protocol"), ("to", "classic"))] == 1


def test_closed_connections_carry_reason_and_code() -> None:
    """The code is the one of the log line."""
    labels = (("code", "EB-NET-003"), ("reason", "tls_on_plain_port"))
    assert scrape(readings())["epochbridge_connections_closed_total", labels] == 3


def test_groups_are_counted_by_state_and_members_by_protocol() -> None:
    """A label holds the group, never a member."""
    samples = scrape(readings((group("a"), replace(group("b"), state="Empty"))))
    assert samples["epochbridge_groups", (("state", "Stable"),)] == 1
    assert samples["epochbridge_groups", (("state", "Empty"),)] == 1
    assert samples["epochbridge_group_members", (("group", "a"), ("protocol", "classic"))] == 1
    assert samples["epochbridge_group_members", (("group", "a"), ("protocol", "consumer"))] == 2


def test_groups_beyond_the_limit_are_added_up() -> None:
    """At the limit each has its name, one beyond are the others."""
    at_limit = tuple(group(f"g{number:04}") for number in range(GROUPS_MAX))
    names = {dict(labels).get("group") for _, labels in scrape(readings(at_limit))}
    assert OTHERS not in names
    beyond = scrape(readings((*at_limit, group("z1", classic=5), group("z2", classic=6))))
    assert beyond["epochbridge_group_members", (("group", OTHERS), ("protocol", "classic"))] == 11


def test_long_group_id_is_cut() -> None:
    """A group id of 300 kB does not fill the answer."""
    samples = scrape(readings((group("g" * 300_000),)))
    assert samples["epochbridge_group_members", (("group", "g" * TEXT_CHARS_MAX), ("protocol", "classic"))] == 1


def test_strange_group_id_is_escaped() -> None:
    """Quotes and line breaks can't forge a metric."""
    strange = 'a"} 1\nforged_total 7'
    samples = scrape(readings((group(strange),)))
    assert samples["epochbridge_group_members", (("group", strange), ("protocol", "classic"))] == 1
    assert ("forged_total", ()) not in samples


def test_passing_requests_are_counted_by_group_and_api() -> None:
    """Groups on road `pass` are seen too; those beyond PassingLog's own limit have no name."""
    passing = PassingLog()
    passing.requests = {GroupId("p"): Counter({12: 4}), GroupId(""): Counter({12: 1})}
    samples = scrape(readings(passing=passing))
    assert samples["epochbridge_group_requests_passed_total", (("api_key", "12"), ("group", "p"))] == 4
    assert samples["epochbridge_group_requests_passed_total", (("api_key", "12"), ("group", OTHERS))] == 1


def test_every_figure_has_a_metric() -> None:
    """What is counted is shown."""
    assert {field.name for field in fields(Statistics)} == {*COUNTERS, *GAUGES, "closed"}
