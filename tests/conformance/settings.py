"""`python -m tests.conformance.settings` keeps what Kafka says of its settings of groups: kinds, defaults, bounds.

It knows the pages that Kafka's own classes print, and must not know the bridge's settings.
"""

import html
import json
import re
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path

from bridge.demo.kafka_broker import find_tools
from tests.support.conformance.steps import NEWEST
from tests.support.conformance.transcripts import DATA

FILE = DATA.parent / "settings.json"
CLASSES = {"broker": "kafka.server.KafkaConfig", "group": "org.apache.kafka.coordinator.group.GroupConfig"}
ABOUT_GROUPS = ("group.", "offset", "consumer.", "share.", "streams.")
ENTRY = re.compile(r'<h4><a id="([^"]+)">(.*?)(?=<li>\s*<h4>|\Z)', re.DOTALL)
ROW = re.compile(r"<tr><th>(Type|Default|Valid Values):</th><td>(.*?)</td></tr>", re.DOTALL)
EXPLAINED = re.compile(r" \(.*\)$")

Said = Mapping[str, Mapping[str, str]]


def read_page(page: str) -> dict[str, dict[str, str]]:
    """Each setting of groups on a page: its type, default and valid values."""
    found: dict[str, dict[str, str]] = {}
    for name, body in ENTRY.findall(page):
        if name.startswith(ABOUT_GROUPS):
            rows = {title.lower(): html.unescape(value) for title, value in ROW.findall(body)}
            found[name] = {**rows, "default": EXPLAINED.sub("", rows["default"])}
    return dict(sorted(found.items()))


def ask_kafka() -> dict[str, Said]:
    """What the newest Kafka prints of its brokers' and its groups' settings."""
    with tempfile.TemporaryDirectory() as directory:
        tools = find_tools(NEWEST, directory=Path(directory))
        pages = {
            whose: subprocess.run(tools.command(name), check=True, capture_output=True, text=True, timeout=120).stdout
            for whose, name in CLASSES.items()
        }
    return {whose: read_page(page) for whose, page in pages.items()}


def load_settings() -> Mapping[str, Said]:
    """What was kept, by whose settings they are."""
    kept: Mapping[str, Said] = json.loads(FILE.read_text(encoding="utf-8"))
    return kept


if __name__ == "__main__":
    FILE.write_text(json.dumps(ask_kafka(), indent=1) + "\n", encoding="utf-8")
