"""Draws the generated parts of the docs from the tables in the code, and says where a page is out of date.

It must not know prose: it only replaces what stands between a page's markers.
"""

import sys
import tomllib
from collections.abc import Callable, Iterator, Mapping
from copy import copy
from functools import partial
from importlib.metadata import EntryPoint
from pathlib import Path

import click

from bridge.cli.main import ENTRY_POINTS, cli
from bridge.config.configuration import allowed
from bridge.config.fields import Key, Origin
from bridge.config.keys import KEYS
from bridge.migration.moves import adopt, giveback, release, reseat, rest, round_values, takeover
from bridge.supervision import TASKS
from bridge.telemetry.metric_names import METRICS
from bridge.telemetry.otel import names
from deploy.error_codes import error_pages
from deploy.event_pages import event_pages
from deploy.machine_diagram import draw, draw_stages
from deploy.table_pages import table_pages
from translators.classic_member.states import TRANSITIONS, Absent
from translators.machine import Transitions

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
MOVES = DOCS / "explanation" / "moves"
BEGIN = "<!-- generated: {name} -->"
END = "<!-- end of generated: {name} -->"


def diagram(transitions: Transitions, first: type) -> str:
    """A machine as mermaid, from this state on."""
    return f"```mermaid\n{draw(transitions, first)}```"


def take_over_diagram() -> str:
    """One member of a take-over as mermaid."""
    return f"```mermaid\n{draw_stages(takeover.TRANSITIONS, takeover.Stage.WAITING)}```"


def give_back_diagram() -> str:
    """One member of a give-back as mermaid."""
    return f"```mermaid\n{draw_stages(giveback.TRANSITIONS, giveback.Stage.WAITING)}```"


def configuration_table() -> str:
    """Every key with default, bounds and meaning, Kafka's own ones last."""
    ours = [key for key in KEYS.values() if key.origin is Origin.BRIDGE]
    kafkas = [key for key in KEYS.values() if key.origin is Origin.KAFKA]
    return "\n".join(["### The bridge's own", "", *_table(ours), "", "### Kafka's own names", "", *_table(kafkas)])


def declared_commands() -> dict[str, EntryPoint]:
    """The commands that this tree declares, by name."""
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["entry-points"]
    return {name: EntryPoint(name, value, ENTRY_POINTS) for name, value in declared[ENTRY_POINTS].items()}


def command_pages() -> str:
    """Every command's help, as the command line prints it where this tree is installed: an environment that was
    installed from an older one knows fewer.
    """
    whole = copy(cli)
    whole.registered = declared_commands()
    context = click.Context(whole, info_name="epochbridge")
    names = sorted(whole.list_commands(context))
    pages = [_page(["epochbridge"], whole)]
    for name in names:
        command = whole.get_command(context, name)
        if command is not None:
            pages.append(_page(["epochbridge", name], command))
        if isinstance(command, click.Group):
            pages += [_page(["epochbridge", name, part], command.commands[part]) for part in sorted(command.commands)]
    return "\n\n".join(pages)


def metrics_table() -> str:
    """Every metric, as queries write it."""
    rows = [
        (
            ", ".join(f"`{name}`" for name in metric.sample_names),
            metric.kind.value,
            ", ".join(metric.labels),
            metric.meaning,
            f"`{metric.kafka}`" if metric.kafka else "",
        )
        for metric in METRICS.values()
    ]
    head = ["| samples | kind | labels | meaning | Kafka's name |", "|---|---|---|---|---|"]
    lines = (f"| {' | '.join(row)} |" for row in rows)
    return "\n".join([*head, *lines])


def traces_tables() -> str:
    """Every span, attribute, event and metric that is sent by OTLP."""
    tables = {
        "Spans": names.SPANS,
        "Attributes": names.ATTRIBUTES,
        "Events on spans": names.SPAN_EVENTS,
        "Metrics": names.METRICS,
    }
    scope = f"Instrumentation scope `{names.SCOPE}`, schema `{names.SCHEMA_URL}`."
    return "\n\n".join([scope, *(_glossary(title, table) for title, table in tables.items())])


def _glossary(title: str, table: Mapping[str, str]) -> str:
    rows = (f"| `{name}` | {meaning} |" for name, meaning in table.items())
    return "\n".join([f"## {title}", "", "| name | meaning |", "|---|---|", *rows])


def tasks_table() -> str:
    """Every kind of task of a running bridge."""
    rows = (f"| `{task.name}` | {task.runs} | {task.ends} |" for task in TASKS.values())
    return "\n".join(["| task | what it does | what its failure ends |", "|---|---|---|", *rows])


GENERATED: dict[str, tuple[Path, Callable[[], str]]] = {
    "member machine": (DOCS / "explanation" / "member-machine.md", partial(diagram, TRANSITIONS, Absent)),
    "configuration": (DOCS / "reference" / "configuration.md", configuration_table),
    "commands": (DOCS / "reference" / "command-line.md", command_pages),
    "events": (DOCS / "reference" / "events.md", event_pages),
    "tables": (DOCS / "reference" / "tables.md", table_pages),
    "metrics": (DOCS / "reference" / "metrics.md", metrics_table),
    "errors": (DOCS / "reference" / "errors.md", error_pages),
    "tasks": (DOCS / "explanation" / "failures.md", tasks_table),
    "move round": (MOVES / "round.md", partial(diagram, round_values.TRANSITIONS, round_values.AskingIds)),
    "move adopt": (MOVES / "adopt.md", partial(diagram, adopt.TRANSITIONS, rest.Gathering)),
    "move take over": (MOVES / "take-over.md", take_over_diagram),
    "move give back": (MOVES / "give-back.md", give_back_diagram),
    "move reseat": (MOVES / "reseat.md", partial(diagram, reseat.TRANSITIONS, reseat.Looking)),
    "move release": (MOVES / "release.md", partial(diagram, release.TRANSITIONS, release.ComingToRest)),
    "traces": (DOCS / "reference" / "traces.md", traces_tables),
}


def outdated() -> list[str]:
    """The names of generated parts that are not what the code says."""
    return [
        name
        for name, (path, make) in GENERATED.items()
        if path.read_text(encoding="utf-8") != _page_with(name, path, make)
    ]


def _page_with(name: str, path: Path, make: Callable[[], str]) -> str:
    begin, end = BEGIN.format(name=name), END.format(name=name)
    before, _, rest = path.read_text(encoding="utf-8").partition(begin)
    _, _, after = rest.partition(end)
    return f"{before}{begin}\n\n{make()}\n\n{end}{after}"


def _table(keys: list[Key]) -> Iterator[str]:
    yield "| key | default | allowed | per group | meaning |"
    yield "|---|---|---|---|---|"
    for key in keys:
        per_group = "yes" if key.per_group else ""
        yield f"| `{key.name}` | {_default(key)} | {allowed(key)} | {per_group} | {key.text} |"


def _default(key: Key) -> str:
    if isinstance(key.default, tuple):
        return ", ".join(f"`{item}`" for item in key.default) or "none"
    if isinstance(key.default, bool):
        return f"`{str(key.default).lower()}`"
    return f"`{key.default}`" if key.default != "" else "empty"


def _page(path: list[str], command: click.Command) -> str:
    context = click.Context(command, info_name=" ".join(path), max_content_width=100, terminal_width=100)
    return f"## `{' '.join(path)}`\n\n```text\n{command.get_help(context)}\n```"


def main() -> int:
    """Write every generated part anew."""
    for name, (path, make) in GENERATED.items():
        path.write_text(_page_with(name, path, make), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
