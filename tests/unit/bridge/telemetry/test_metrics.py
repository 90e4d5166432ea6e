"""The text is read back with Prometheus' own parser; the figures of owners are named as Kafka's runtime names them."""

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import fields, replace

from prometheus_client.metrics_core import Metric
from prometheus_client.openmetrics import parser as openmetrics_parser
from prometheus_client.parser import text_string_to_metric_families

from bridge.migration.route import Road
from bridge.session.close_reasons import CloseReason
from bridge.session.counters import Counters, Statistics
from bridge.session.fatal_answers import Ended
from bridge.telemetry.metric_names import CONNECTION_COUNTERS, CONNECTION_GAUGES, KAFKA, METRICS, PREFIX
from bridge.telemetry.metrics import (
    GROUPS_MAX,
    OTHERS,
    TEXT_CHARS_MAX,
    CoordinatorFigures,
    GroupCount,
    PrometheusMetrics,
    Readings,
    TimeFigures,
    coordinator_families,
)
from bridge.telemetry.otel.spans import root_id
from bridge.telemetry.passing import PassingLog
from bridge.telemetry.rebalance_metrics import RebalanceMetrics
from bridge.telemetry.rebalances.assembling import assemble
from bridge.telemetry.request_times import RequestTimes
from bridge.wire.apis import ApiKey
from tests.support.event_stories import cooperative_handover
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import GroupId, RequestRef

# The library leaves it untyped.
_parse_openmetrics: Callable[[str], Iterable[Metric]] = openmetrics_parser.text_string_to_metric_families
Samples = dict[tuple[str, tuple[tuple[str, str], ...]], float]
STATISTICS = Counters(
    connections_open=2, connections_accepted=5, requests=70, closed={CloseReason.TLS_ON_PLAIN_PORT: 3}
).picture(bytes_held=99)


def scrape(readings: Readings) -> Samples:
    """Every sample by name and labels."""
    text = PrometheusMetrics(readings).render("")[0].decode()
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


def passing_log(name: str) -> PassingLog:
    """A group that goes through."""
    passing = PassingLog()
    passing.requests = {GroupId(name): Counter({12: 4})}
    return passing


def group(name: str, classic: int = 1) -> GroupCount:
    """A stable group."""
    return GroupCount(group_id=name, state="Stable", classic_members=classic, consumer_members=2)


def test_counters_and_gauges_are_parsed_back() -> None:
    """Counters end in _total, gauges do not."""
    samples = scrape(readings())
    assert samples["epochbridge_requests_total", ()] == 70
    assert samples["epochbridge_connections_open", ()] == 2
    assert samples["epochbridge_bytes_held", ()] == 99


def test_apis_are_counted_by_name() -> None:
    """Keys that nobody knows are one figure, so that no client can make any number of them."""
    counters = Counters()
    for key in (1, 20_000, 20_001):
        counters.count_request(key)
    counters.count_passed(1, 2_500_000_000)
    samples = scrape(readings(statistics=counters.picture(0)))
    assert samples["epochbridge_api_requests_total", (("api", "Fetch"),)] == 1
    assert samples["epochbridge_api_requests_total", (("api", "unknown"),)] == 2
    assert samples["epochbridge_api_requests_passed_total", (("api", "Fetch"),)] == 1
    assert samples["epochbridge_api_inside_seconds_total", (("api", "Fetch"),)] == 2.5


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
    assert samples["epochbridge_group_requests_passed_total", (("api", "Heartbeat"), ("group", "p"))] == 4
    assert samples["epochbridge_group_requests_passed_total", (("api", "Heartbeat"), ("group", OTHERS))] == 1


def test_every_figure_has_a_metric() -> None:
    """What is counted is shown."""
    shown = {metric.name.removeprefix(PREFIX) for metric in (*CONNECTION_COUNTERS, *CONNECTION_GAUGES)}
    assert {field.name for field in fields(Statistics)} == {*shown, "closed", "apis", "endings"}


def test_clients_that_were_ended_are_counted_by_what_ended_them() -> None:
    """The log names them."""
    counters = Counters()
    ended = Ended(Road.PASS, ApiKey.HEARTBEAT, ErrorCode.FENCED_INSTANCE_ID, GroupId("g"), None)
    counters.count_ending(ended)
    counters.count_ending(ended)
    samples = scrape(readings(statistics=counters.picture(0)))
    labels = ("api", "Heartbeat"), ("error", "FENCED_INSTANCE_ID"), ("road", "pass")
    assert samples["epochbridge_client_endings_total", labels] == 2


def test_groups_are_counted_as_kafka_counts_them() -> None:
    """KIP-848's names: by protocol, and by state within each."""
    classic = GroupCount(
        group_id="c", state="PreparingRebalance", group_type="classic", classic_members=1, consumer_members=0
    )
    samples = scrape(readings((group("a"), classic)))
    prefix = "kafka_server_group_coordinator_metrics_"
    assert samples[f"{prefix}group_count", (("protocol", "classic"),)] == 1
    assert samples[f"{prefix}consumer_group_count", (("state", "Stable"),)] == 1
    assert samples[f"{prefix}classic_group_count", (("state", "PreparingRebalance"),)] == 1


def test_requests_are_measured_by_api() -> None:
    """A histogram in seconds, and how many wait."""
    times = RequestTimes()
    for connection in (1, 2):
        times.asked(RequestRef(1, connection, 1), "JoinGroup", 0)
    times.answered(RequestRef(1, 1, 1), 700)
    samples = scrape(replace(readings(), times=times))
    assert samples["epochbridge_requests_held", ()] == 1
    assert samples["epochbridge_group_request_seconds_bucket", (("api", "JoinGroup"), ("le", "0.001"))] == 1
    assert samples["epochbridge_group_request_seconds_sum", (("api", "JoinGroup"),)] == 0.0007


def test_openmetrics_has_examples_with_traces() -> None:
    """Whoever accepts it gets from a slow bucket to the trace; others get the plain text."""
    rebalances = RebalanceMetrics(has_traces=True)
    (rebalance,) = assemble(cooperative_handover().events)
    rebalances.take(rebalance)
    metrics = PrometheusMetrics(replace(readings(), rebalances=rebalances))
    text, media_type = metrics.render("application/openmetrics-text;version=1.0.0,text/plain;q=0.5")
    families = _parse_openmetrics(text.decode())
    examples = [sample.exemplar for family in families for sample in family.samples if sample.exemplar]
    assert media_type.startswith("application/openmetrics-text")
    trace_id = f"{root_id(rebalance.rebalance_id).trace:032x}"
    assert {example.labels["trace_id"] for example in examples} == {trace_id}
    plain, plain_type = metrics.render("text/plain")
    assert (b"trace_id" in plain, plain_type.startswith("text/plain")) == (False, True)


def test_examples_are_there_only_where_their_traces_are() -> None:
    """An id that leads nowhere costs and misleads."""
    rebalances = RebalanceMetrics(has_traces=False)
    for rebalance in assemble(cooperative_handover().events):
        rebalances.take(rebalance)
    text, _ = PrometheusMetrics(replace(readings(), rebalances=rebalances)).render("application/openmetrics-text")
    assert b"trace_id" not in text


def test_counters_of_known_labels_begin_at_zero() -> None:
    """`increase()` knows a figure from its second sample: of 1,166 rebalances it saw 342."""
    samples = scrape(readings((group("a"),), passing=passing_log("p")))
    for name in ("a", "p"):
        assert samples["epochbridge_rebalances_total", (("cause", "join"), ("group", name))] == 0
    labels = (("group", "a"), ("protocol", "classic"))
    assert samples["epochbridge_members_disturbed_total", labels] == 0
    assert samples["epochbridge_member_stall_seconds_count", labels] == 0
    assert samples["epochbridge_api_requests_total", (("api", "OffsetCommit"),)] == 0
    assert samples["epochbridge_connections_closed_total", (("code", "EB-NET-010"), ("reason", "idle"))] == 0
    assert samples["epochbridge_conversions_total", (("outcome", "policy"), ("to", "consumer"))] == 0


def test_rebalances_that_nobody_counts_show_no_zeros() -> None:
    """With `metrics.rebalances` off a 0 would be a claim."""
    rebalances = RebalanceMetrics(is_fed=False)
    samples = scrape(replace(readings((group("a"),)), rebalances=rebalances))
    assert not [name for name, _ in samples if name.startswith("epochbridge_rebalances")]


def test_counters_tell_since_when_they_count() -> None:
    """By `_created`, which tells a restart from a figure that is new."""
    samples = scrape(replace(readings((group("a"),)), started_s=1_763_000_000.5))
    assert samples["epochbridge_requests_created", ()] == 1_763_000_000.5
    assert ("epochbridge_rebalances_created", (("cause", "join"), ("group", "a"))) in samples


def test_process_build_and_configuration_are_shown() -> None:
    """What a graph of a limit is drawn against, and which version began to differ."""
    own = replace(readings(), build={"version": "9", "python": "3"}, settings={"limits.connections.max": 7})
    samples = scrape(own)
    assert samples["epochbridge_build_info", (("python", "3"), ("version", "9"))] == 1
    assert samples["epochbridge_setting", (("key", "limits.connections.max"),)] == 7
    assert samples["process_open_fds", ()] > 2


def test_every_family_is_in_the_glossary() -> None:
    """And the glossary names nothing that is not there."""
    rebalances = RebalanceMetrics()
    text, _ = PrometheusMetrics(replace(readings((group("a"),)), rebalances=rebalances)).render("")
    families = {family.name: family for family in text_string_to_metric_families(text.decode())}
    kept = {name for name in families if not name.endswith("_created")}
    assert kept == METRICS.keys()
    for name, metric in METRICS.items():
        assert (families[name].type, families[name].documentation) == (metric.kind.value, metric.meaning)


def values(figures: CoordinatorFigures) -> dict[tuple[str, str], float]:
    """Samples by their name without Kafka's domain, and their only label."""
    return {
        (sample.name.removeprefix(KAFKA), "".join(sample.labels.values())): sample.value
        for family in coordinator_families(figures)
        for sample in family.samples
    }


def test_every_figure_has_its_family() -> None:
    """Buckets add up, as Prometheus wants them."""
    waited = TimeFigures(bounds_s=(0.001, 0.1), counts=(2, 1, 4), sum_s=9.5)
    loaded = TimeFigures(bounds_s=(1.0,), counts=(1, 0), sum_s=0.5)
    shown = values(
        CoordinatorFigures(
            by_state={"active": 1, "failed": 1, "loading": 0},
            queued=3,
            idle_ratio=0.75,
            queue_time=waited,
            load_time=loaded,
        )
    )
    assert shown["num_partitions", "active"] == shown["num_partitions", "failed"] == 1
    assert shown["num_partitions", "loading"] == 0
    assert shown["event_queue_size", ""] == 3
    assert shown["thread_idle_ratio_avg", ""] == 0.75
    buckets = [shown["event_queue_time_seconds_bucket", bound] for bound in ("0.001", "0.1", "+Inf")]
    assert buckets == [2, 3, 7]
    assert shown["event_queue_time_seconds_sum", ""] == 9.5
    assert shown["event_processing_time_seconds_count", ""] == 0
    assert shown["partition_load_time_seconds_count", ""] == 1


def test_bridge_that_owns_nothing_is_idle() -> None:
    """Every sum is there from 0 on."""
    shown = values(CoordinatorFigures())
    assert shown["thread_idle_ratio_avg", ""] == 1
    assert shown["event_processing_time_seconds_bucket", "+Inf"] == 0


def test_whether_clients_may_come_is_a_metric() -> None:
    """As /readyz answers at that moment: whoever has Prometheus alone asks nothing else."""
    for is_ready in (True, False):
        shown = scrape(replace(readings(), is_ready=lambda: is_ready))  # noqa: B023 - it is read within the turn
        assert shown[f"{PREFIX}ready", ()] == is_ready
