"""A Prometheus of Debian's package that scrapes a bridge, for as long as a test wants it."""

import json
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.error import URLError
from urllib.parse import urlencode
from urllib.request import ProxyHandler, build_opener

import yaml

from bridge.demo.kafka_broker import free_ports
from tests.support.debian import Program

START_S = 60.0
LOOK_S = 0.2
SCRAPE_S = 1
JOB = "bridge"


@dataclass(frozen=True, slots=True)
class Prometheus:
    """A running one."""

    url: str

    def ask(self, query: str) -> list[float]:
        """The values of an instant query, one for each series; raises HTTPError for a query that is none."""
        answer = self._get(f"/api/v1/query?{urlencode({'query': query})}")
        data = answer["data"]
        assert isinstance(data, dict)
        return [float(one["value"][1]) for one in data["result"]]

    def wait_for(self, query: str) -> None:
        """Until a query has an answer; raises TimeoutError."""
        deadline = time.monotonic() + START_S
        while not self.ask(query):
            if time.monotonic() > deadline:
                raise TimeoutError(f"nothing answers {query}")
            time.sleep(LOOK_S)

    def is_ready(self) -> bool:
        """Whether it answers."""
        try:
            return self._get("/api/v1/status/buildinfo")["status"] == "success"
        except (URLError, ConnectionError):
            return False

    def _get(self, path: str) -> Mapping[str, object]:
        with build_opener(ProxyHandler({})).open(f"{self.url}{path}", timeout=START_S) as answer:
            document: Mapping[str, object] = json.loads(answer.read())
        return document


@contextmanager
def prometheus(program: Program, target: str, rules: Path, directory: Path) -> Iterator[Prometheus]:
    """One that scrapes `target` each second and holds these rules; it ends with the context."""
    (port,) = free_ports(1)
    settings = {
        "global": {"scrape_interval": f"{SCRAPE_S}s", "evaluation_interval": f"{SCRAPE_S}s"},
        "rule_files": [str(rules)],
        "scrape_configs": [{"job_name": JOB, "static_configs": [{"targets": [target]}]}],
    }
    config = directory / "prometheus.yml"
    config.write_text(yaml.safe_dump(settings), encoding="utf-8")
    command = [
        program.path,
        f"--config.file={config}",
        f"--storage.tsdb.path={directory / 'series'}",
        f"--web.listen-address=127.0.0.1:{port}",
    ]
    log = directory / "prometheus.log"
    with log.open("wb") as lines:
        process = subprocess.Popen(command, stdout=lines, stderr=lines, env=dict(program.environment))
    running = Prometheus(f"http://127.0.0.1:{port}")
    try:
        deadline = time.monotonic() + START_S
        while not running.is_ready():
            if process.poll() is not None or time.monotonic() > deadline:
                raise TimeoutError(f"Prometheus does not answer: {log.read_text(encoding='utf-8')[-2_000:]}")
            time.sleep(LOOK_S)
        yield running
    finally:
        process.terminate()
        process.wait(START_S)
