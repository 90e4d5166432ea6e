"""Stories with known causes as a page: `python -m tests.support.causes.page RESULTS.xml …` writes reference/causes.md;
`… docs/reference/causes.md RESULTS.xml` keeps what the page says of stories that were not told anew.

It knows pytest's --junitxml of tests/endtoend/test_causes.py, and must not know how a story is told or judged.
"""

import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from xml.etree import ElementTree as ET

from tests.support.causes.players import cases_of
from tests.support.causes.stories import STORIES

ROOT = Path(__file__).resolve().parents[3]
PAGE = ROOT / "docs" / "reference" / "causes.md"
STORY = "cause of"
COLUMNS = (STORY, "road", "broker", "clients", "causes", "waited for", "disturbed", "frozen out", "stood still")
HEAD = """\
# Stories with known causes

Real clients on real Kafka make a group rebalance for a known reason, and one of them is made slow: it sleeps in its
revoked callback, polls nothing for a while, hears nothing, or takes its time as a leader that assigns. Then the
bridge is asked what happened. A story is told rightly if the causes of all rebalances since the event, whose they
were, the member that was waited for longest with its phase, and the number of those who gave something up for nothing
are what the story was made with, and if a member that was frozen and put out for it had used nothing since it was
frozen: beside how long that is stands how long its log says. Where members are frozen, slow, killed, or poll too late,
partitions must also have stood still as often, and for as long, as the clients wrote down themselves (*stood still*:
how many and for how long by their diaries, then by the log; the two may differ by 1.5 s a partition, or a third). What
each looks like is told in [reading a rebalance](../explanation/reading-a-rebalance.md).

Seats are letters: `a` came first (and leads a classic group), `b` second; whoever comes, goes or is rolled is the
story's. A cause that takes several rebalances, as each in a group of cooperative members does, is written once.
"""
HOW = (
    "pytest tests/endtoend/test_causes.py --matrix=all -o junit_family=xunit1 --junitxml=causes.xml",
    "python -m tests.support.causes.page causes.xml",
)

Properties = Mapping[str, str]


def read_results(path: Path) -> Sequence[Properties]:
    """What each story of a junit file recorded, with `right`: yes, no, or not told; ValueError if there is none."""
    results: list[Properties] = []
    for case in ET.parse(path).iter("testcase"):
        told = {str(one.get("name")): str(one.get("value")) for one in case.iter("property")}
        if STORY in told:
            is_wrong = case.find("failure") is not None or case.find("error") is not None
            results.append({**told, "right": "yes" if not is_wrong else "no" if "causes" in told else "not told"})
    if not results:
        raise ValueError(f"{path} holds no story of a cause: make it with `{HOW[0]}`")
    return results


def read_page(path: Path) -> Sequence[Properties]:
    """What each story recorded that a page tells of; of which of its commits a row is, it does not say."""
    text = path.read_text(encoding="utf-8")
    said = re.search(r"^From commit (.*), with ", text, re.MULTILINE)
    commits = " ".join(re.findall("`([0-9a-f]+)`", said[1])) if said else ""
    rows = [line[2:-2].split(" | ") for line in text.splitlines() if line.startswith("| ")]
    names = (*COLUMNS, "right")
    return [{**dict(zip(names, row, strict=True)), "commit": commits} for row in rows if row[0] in STORIES]


def render_page(results: Iterable[Properties]) -> str:
    """The page's text; stories that can be told in the order in which they are written, of one told twice the last."""
    every = cases_of({name: story.limits for name, story in STORIES.items()})
    playable = {(case.story, case.road, case.version, case.kind.value) for case in every}
    found = {tuple(one.get(name, "") for name in COLUMNS[:4]): one for one in results}
    latest = {place: one for place, one in found.items() if place in playable}
    places = {name: place for place, name in enumerate(STORIES)}
    ordered = sorted(latest.items(), key=lambda item: (places.get(item[0][0], len(places)), item[0][1:]))
    counted = Counter(one["right"] for _, one in ordered)
    outcomes = ", ".join(f"{number} {word}" for word, number in sorted(counted.items(), reverse=True))
    commits = ", ".join(sorted({f"`{commit}`" for _, one in ordered for commit in one.get("commit", "").split()}))
    libraries = ", ".join(f"{name} {version(name)}" for name in ("confluent-kafka", "kafka-python"))
    lines = [HEAD, "## What happens", "", *_tales(), "", "## What was said", ""]
    lines += [f"Told rightly: {outcomes}; of a story that was told again, after a fix or a time-out, the last telling."]
    lines += [f"From commit {commits}, with {libraries}; made with", ""]
    lines += [f"    {command}" for command in HOW]
    lines += ["", _row((*COLUMNS, "right?")), _row(["---"] * (len(COLUMNS) + 1))]
    lines += [_row([*(one.get(name, "") for name in COLUMNS), one["right"]]) for _, one in ordered]
    return "\n".join([*lines, ""])


def _tales() -> Sequence[str]:
    return [f"- *{name}*: {(story.tell.__doc__ or '').strip()}" for name, story in STORIES.items()]


def _row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def current_commit() -> str:
    """The commit that is checked out, cut to twelve digits."""
    answer = subprocess.run(["git", "rev-parse", "HEAD"], cwd=ROOT, check=True, capture_output=True, text=True)
    return answer.stdout.strip()[:12]


if __name__ == "__main__":
    paths = [Path(name) for name in sys.argv[1:]]
    everything = [one for path in paths for one in (read_page if path.suffix == ".md" else read_results)(path)]
    PAGE.write_text(render_page(everything), encoding="utf-8")
