"""What a bridge that only serves does not load: who uses none of it pays for it neither at the start nor in memory."""

import sys
from collections.abc import Mapping
from importlib.util import find_spec
from subprocess import run

import pytest

SERVE = """
import sys
import trio
from bridge.cli.late_methods import Late, make_methods_late
make_methods_late()
import bridge.cli.serve
from bridge.app.composition import serve
from bridge.config.configuration import Config
from bridge.config.keys import Settings

async def main():
    with trio.CancelScope() as bridge:
        await serve(
            Config(Settings(bootstrap=("127.0.0.1:1",), listen="127.0.0.1:0", admin_listen="off", drain_timeout_ms=0)),
            say=lambda line: bridge.cancel(),
        )

trio.run(main)
print(*sys.modules)
names = {name for name in sys.modules if name.startswith(("bridge.", "translators."))}
classes = {one for name in names for one in vars(sys.modules[name]).values() if isinstance(one, type)}
inits = [vars(one)["__init__"] for one in classes if {"__init__", "__match_args__"} <= vars(one).keys()]
print(len(inits), sum(isinstance(one, Late) for one in inits))
"""
"""A bridge from its start to its first word: that no broker answers, by when all its jobs run."""

LATE: Mapping[str, str] = {
    "bridge.coordinators.moving.journey": "a move was ordered, or the journal has one that goes on",
    "bridge.coordinators.moving.judgement": "a move was ordered",
    "bridge.coordinators.rounds": "a move plays a round",
    "bridge.app.plans": "the journal has a plan, or the admin API is asked",
    "bridge.app.surveys": "a census is taken, the doctor asked, or a move ordered",
    "bridge.migration.census": "a census is taken",
    "bridge.migration.diagnosis": "the doctor is asked",
    "bridge.migration.observed": "a move was ordered, or a census is taken",
    "bridge.migration.probe": "the doctor is asked",
    "bridge.migration.readiness": "a move was ordered, or a census is taken",
    "bridge.net.cluster_survey": "somebody asks a whole cluster",
    "bridge.migration.canary.judging": "a plan judges canaries",
    "bridge.migration.plans.values": "there is a plan, or the admin API is asked",
    "bridge.migration.moves.takeover": "members are taken over",
    "bridge.migration.moves.release": "a group is released",
    "bridge.migration.moves.round_values": "a move plays a round",
    "bridge.admin.web_server": "the admin API was asked, or is about to be",
    "bridge.net.token_endpoint": "the bridge logs in by tokens of an endpoint",
    "bridge.telemetry.event_log.topic_sink": "events go to a topic",
    "bridge.telemetry.otel.exporting": "traces are exported",
    "confluent_kafka": "events go to a topic",
    "cryptography": "a key is in a PKCS#12 file",
    "httpx": "a token endpoint, or a bridge, is asked",
    "opentelemetry": "traces are exported",
    "rich": "a command draws on a terminal",
    "starlette": "the admin API was asked",
    "yaml": "there is a configuration file or a plan",
}
"""Modules and libraries, and what has to happen before one is loaded."""


@pytest.fixture(scope="module")
def told() -> tuple[str, str]:
    """What a bridge that has just started says of its modules, and of the methods of its values."""
    modules, methods = run(
        [sys.executable, "-c", SERVE], check=True, capture_output=True, text=True
    ).stdout.splitlines()
    return modules, methods


@pytest.fixture
def loaded(told: tuple[str, str]) -> frozenset[str]:
    """The modules of a bridge that has just started."""
    return frozenset(told[0].split())


@pytest.mark.parametrize("name", LATE)
def test_start_loads_only_what_serves(name: str, loaded: frozenset[str]) -> None:
    """A seventh of all classes were those of moves, which most bridges never make."""
    assert find_spec(name) is not None, "gone: take it from the list, or say what it is called now"
    assert name not in loaded, f"load it at a door (`test_lazy_imports.DOORS`), once {LATE[name]}"


def test_start_loads_what_serves(loaded: frozenset[str]) -> None:
    """The bridge came as far as its moves: a start that failed would have loaded nothing late, either."""
    assert {"bridge.coordinators.moving.moves", "bridge.net.proxy", "bridge.engine.turn"} <= loaded


def test_start_makes_methods_of_few_values(told: tuple[str, str]) -> None:
    """Three quarters of them are for later: whoever looks through all classes as it starts has all of them made."""
    every, late = map(int, told[1].split())
    assert every >= 400
    assert late >= 0.7 * every
