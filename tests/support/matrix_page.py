"""The matrix as a page: `python -m tests.support.matrix_page RESULTS.xml …` writes docs/reference/matrix.md."""

import subprocess
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from xml.etree import ElementTree as ET

from bridge.demo.kafka_properties import DEFAULT_VERSION
from tests.support.matrix import table_lines

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "reference" / "matrix.md"
LIBRARIES = ("kafka-python", "aiokafka", "confluent-kafka")
HEAD = """\
# Clients, stories, brokers

Real clients told each story through the bridge to a real broker while records flowed, and were judged from their own
event logs. *Disturbed* are members that were alive throughout a step, had the same assignment before and after it, and
yet saw a revoked or lost callback: on road `embedded` there is none, but for librdkafka's eager members in the story
`grow`, which stop by themselves when they see in Metadata that their topic has grown. *Read twice* counts records that
a killed member had processed and not yet committed. A *stall* is a partition that nobody owns, the session timeout of
a killed member (2.5 s, KIP-848 8 s) and the time that a program takes to start included.
"""

ORDER = ("road", "broker", "clients", "story")

Result = tuple[str, Mapping[str, object]]


def read_results(path: Path) -> Sequence[Result]:
    """Outcome and properties of every story in a junit file, in the order told; ValueError if there is none."""
    results: list[Result] = []
    for case in ET.parse(path).iter("testcase"):
        told = {str(one.get("name")): str(one.get("value")) for one in case.iter("property")}
        if "story" in told:
            failed = case.find("failure") is not None or case.find("error") is not None
            results.append(("failed" if failed else "passed", told))
    if not results:
        raise ValueError(f"{path} holds no story: make it with pytest tests/endtoend --matrix=all --junitxml={path}")
    return results


def render_page(results: Sequence[Result], commit: str) -> str:
    """The page's text; stories in a fixed order."""
    ordered = sorted(results, key=lambda one: [str(one[1].get(name)) for name in ORDER])
    counted = Counter(outcome for outcome, _ in ordered)
    outcomes = ", ".join(f"{number} {outcome}" for outcome, number in sorted(counted.items()))
    libraries = ", ".join(f"{name} {version(name)}" for name in LIBRARIES)
    made = f"Made from commit `{commit}` with `tox run -e matrix`: {outcomes}."
    clients = f"Clients: {libraries}, Java {DEFAULT_VERSION}, kafkajs."
    return "\n".join([HEAD, made, clients, "", *table_lines(ordered), ""])


def current_commit() -> str:
    """The commit that is checked out."""
    answer = subprocess.run(["git", "rev-parse", "HEAD"], cwd=ROOT, check=True, capture_output=True, text=True)
    return answer.stdout.strip()


if __name__ == "__main__":
    told = [result for name in sys.argv[1:] for result in read_results(Path(name))]
    PAGE.write_text(render_page(told, current_commit()), encoding="utf-8")
