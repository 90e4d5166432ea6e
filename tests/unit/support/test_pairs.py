"""Two trees of sources are told apart by what they cost: the ratio, its interval, and what is compared with what."""

import json
import math
from importlib import import_module
from pathlib import Path

import pytest

from tests.benchmarks import pair_run
from tests.benchmarks.__main__ import IN_PROCESS, WITH_BROKER
from tests.benchmarks.pair_run import MEASURES, NEED_BROKER, SMALL, SMALL_ARGUMENTS
from tests.benchmarks.pairs import DEFAULT, Cost, Ratio, Trees, costs_of, ratio_of, table_of
from tests.benchmarks.processes import ROOT, BenchmarkError


def _told(name: str, value: float, unit: str, note: str = "", baseline: float | None = None) -> dict[str, object]:
    return {"name": name, "value": value, "unit": unit, "note": note, "baseline": baseline, "baseline_name": ""}


def test_ratio_is_the_geometric_mean_with_the_interval_of_students_t() -> None:
    """Worked out by hand for logarithms of ln 2, -ln 2 and 0."""
    ratio = ratio_of([(1.0, 2.0), (1.0, 0.5), (1.0, 1.0)])
    assert ratio is not None
    reach = 4.303 * math.log(2) / math.sqrt(3)
    assert (ratio.mean, ratio.low, ratio.high) == pytest.approx((1.0, math.exp(-reach), math.exp(reach)))


def test_count_of_zero_has_no_ratio() -> None:
    """Nor has one pair alone an interval."""
    assert ratio_of([(0, 0), (1, 1)]) is None
    assert ratio_of([(1.0, 1.0)]) is None


@pytest.mark.parametrize(
    ("low", "high", "verdict"),
    [
        (1.031, 1.2, "DEARER"),
        (1.03, 1.2, "not shown to be dearer"),
        (0.9, 1.03, "not dearer"),
        (0.9, 1.1, "not shown to be dearer"),
    ],
)
def test_only_a_whole_interval_above_the_limit_is_dearer(low: float, high: float, verdict: str) -> None:
    """The limit itself is still right, on both sides."""
    assert Ratio((low + high) / 2, low, high).verdict == verdict


def test_rate_is_turned_round_and_cpu_time_is_read_from_the_note() -> None:
    """A unit such as s/GB is a cost although it has a stroke in it."""
    costs = costs_of(
        json.dumps(
            [
                _told("beats", 4.0, "/CPU s", baseline=8.0),
                _told("formed", 3.5, "s", note="3 s of it delay; CPU of the bridge 1.25 s"),
                _told("relayed", 0.7, "s/GB"),
            ]
        )
    )
    assert costs == {
        "beats, /CPU s (inverse)": Cost(0.25, 0.125),
        "formed: CPU, s": Cost(1.25),
        "formed, s": Cost(3.5),
        "relayed, s/GB": Cost(0.7),
    }


def test_memory_after_so_many_events_is_one_figure_however_many_members_there_were() -> None:
    """Older trees have the count in the name, and it differs from run to run."""
    named = ["memory after 0.2 million events of 1,720 members", "memory after 0.2 million events"]
    assert [list(costs_of(json.dumps([_told(name, 80.0, "MB")]))) for name in named] == [
        ["memory after 0.2 million events, MB"]
    ] * 2


def test_table_names_what_is_dearer_and_what_one_tree_lacks() -> None:
    """What only one tree measures is said and not judged."""
    rounds = [
        (
            {"same": Cost(1.0, 5.0), "worse": Cost(1.0), "gone": Cost(1.0)},
            {"same": Cost(1.0, 5.0), "worse": Cost(worse)},
        )
        for worse in (1.10, 1.11, 1.12)
    ]
    lines, dearer = table_of(rounds)
    assert dearer == ["worse"]
    assert "| same | 1 | 1 | 1.000 [1.000, 1.000] | 1.000 [1.000, 1.000] | not dearer |" in lines
    assert lines[-1] == "\nnot in all runs of both trees: gone"


def test_every_benchmark_is_where_a_run_looks_for_it_and_has_the_constants_of_its_short_form(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A short form of a constant that is gone would silently be the whole benchmark."""
    measures = {**IN_PROCESS, **WITH_BROKER}
    assert set(measures) == set(MEASURES)
    assert set(WITH_BROKER) == NEED_BROKER
    assert {*SMALL, *SMALL_ARGUMENTS, *DEFAULT} <= set(measures)
    for name, measure in measures.items():
        module, function = MEASURES[name]
        assert (measure.__module__, measure.__name__) == (f"tests.benchmarks.{module}", function)
        for constant in SMALL.get(name, {}):
            # That shrinking sets it back is the monkeypatch's doing.
            place = f"tests.benchmarks.{module}.{constant}"
            monkeypatch.setattr(place, getattr(import_module(f"tests.benchmarks.{module}"), constant))
        pair_run.shrink(name)


def test_run_says_which_tree_it_was_and_why_it_failed(tmp_path: Path) -> None:
    """An empty folder has no `tests`: Python would take this tree's, which would compare it with itself."""
    with pytest.raises(BenchmarkError, match=f"tests came from .* which is not in {tmp_path}"):
        Trees(tmp_path, ROOT, is_whole=False).compare("engine", 1)
