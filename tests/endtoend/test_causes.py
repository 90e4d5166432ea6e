"""Stories with a known cause and a known slow member, told by real clients on a real Kafka."""

from collections.abc import Callable, Iterator

import pytest

from tests.support.causes.judging import describe, faults, in_words, read
from tests.support.causes.page import STORY, current_commit
from tests.support.causes.players import Case, cases_of, picked_cases
from tests.support.causes.running import Told, open_runner
from tests.support.causes.stories import STORIES

LIMITS = {name: story.limits for name, story in STORIES.items()}


@pytest.fixture(name="told", scope="module")
def _told(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[Case, Told]]:
    """Every story that is to be judged, told."""
    specs = [getattr(item, "callspec", None) for item in request.session.items]
    cases = [spec.params["case"] for spec in specs if spec is not None and isinstance(spec.params.get("case"), Case)]
    with open_runner(cases, tmp_path_factory.mktemp("runner")) as runner:
        runner.tell(cases)
        yield runner.told


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """`--matrix=all` tells every story by every kind of client on both roads and brokers, otherwise each story once."""
    if "case" in metafunc.fixturenames:
        everything = metafunc.config.getoption("--matrix") == "all"
        cases = (cases_of if everything else picked_cases)(LIMITS)
        metafunc.parametrize("case", cases, ids=["-".join(case) for case in cases])


def test_story_is_labelled_rightly(
    told: dict[Case, Told], case: Case, record_property: Callable[[str, object], None]
) -> None:
    """The cause, whose it was, who was waited for in which phase, and who was disturbed, as the story was made."""
    for name, value in (*zip(("broker", "road", "clients", STORY), case, strict=True), ("commit", current_commit())):
        record_property(name, str(value))
    result = told[case]
    if result.fault is not None:
        raise result.fault
    said = read(case, result)
    for name, words in in_words(said).items():
        record_property(name, str(words))
    print(describe(result.rebalances))
    assert [*faults(case, said)] == []
