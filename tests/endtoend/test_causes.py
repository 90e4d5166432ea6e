"""Stories with a known cause and a known slow member, told by real clients on a real Kafka."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from bridge.telemetry.rebalances.stories import Rebalance
from tests.support.causes.cast import Case, cases_of, picked_cases
from tests.support.causes.plots import PLOTS
from tests.support.causes.theatre import Told, open_theatre

LIMITS = {name: plot.limits for name, plot in PLOTS.items()}


@pytest.fixture(name="told", scope="module")
def _told(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[Case, Told]]:
    """Every story that is to be judged, told."""
    specs = [getattr(item, "callspec", None) for item in request.session.items]
    cases = [spec.params["case"] for spec in specs if spec is not None and isinstance(spec.params.get("case"), Case)]
    with open_theatre(cases, tmp_path_factory.mktemp("theatre")) as theatre:
        theatre.tell(cases)
        yield theatre.told


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """`--matrix=all` tells every story by every kind of client on both roads and brokers, otherwise each once."""
    if "case" in metafunc.fixturenames:
        everything = metafunc.config.getoption("--matrix") == "all"
        cases = cases_of(LIMITS) if everything else picked_cases(LIMITS)
        metafunc.parametrize("case", cases, ids=["-".join(case) for case in cases])


def test_story_is_labelled_rightly(told: dict[Case, Told], case: Case) -> None:
    """The cause, whose it was, who was waited for in which phase, and who was disturbed, as the story was made."""
    result = told[case]
    if result.fault is not None:
        raise result.fault
    print()
    for one in result.rebalances:
        print(_words(one))
        print("   ", one.explained.sentence)


def _words(one: Rebalance) -> str:
    e = one.explained
    seats = {m.member_id: m.client_id for m in one.members}
    return (
        f"{e.cause} by {''.join(sorted(seats.get(m, m) for m in e.caused_by))} critical {seats.get(e.critical_member, e.critical_member)} {e.critical_phase} "
        f"{e.waited_us / 1e6:.2f} disturbed {one.disturbed_count} {[seats[m.member_id] for m in one.members if m.is_disturbed]} outcome {one.outcome} sup {one.supersedes[-4:]} dur {one.duration_us / 1e6:.2f}"
    )
