"""The command `serve`: options in, one configuration out, and the bridge run with it."""

import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import click

from bridge.app.composition import AppError
from bridge.app.process import LogChoice, run_bridge
from bridge.config.configuration import Config, load
from bridge.config.faults import ConfigError
from bridge.config.log_choices import FORMATS, LEVELS, VARIABLES
from bridge.config.sources import quick_rules, read_environment

NO_BROKER = "EB-CLI-002: no broker is named; give --config FILE with `bootstrap`, or --bootstrap HOST:PORT"
QUICK_KEYS = (
    ("bootstrap", "bootstrap"),
    ("listen", "listen"),
    ("admin", "admin.listen"),
    ("events", "events.path"),
)
Quick = str | tuple[str, ...] | bool | None
"""The value of an option of the quick form."""


@click.command("serve")
@click.option(
    "--config",
    "path",
    type=click.Path(path_type=Path, readable=False),
    metavar="FILE",
    help="Configuration in YAML.",
)
@click.option("--bootstrap", metavar="HOST:PORT[,…]", help="Brokers to ask first.")
@click.option("--listen", metavar="HOST:PORT", help="Where clients bootstrap; brokers get the ports after it.")
@click.option("--embedded", "globs", multiple=True, metavar="GLOB", help="Coordinate groups that match; repeatable.")
@click.option(
    "--upstream",
    multiple=True,
    metavar="GLOB",
    help="Make classic clients of groups that match members of the broker's consumer group; repeatable.",
)
@click.option("--set", "assignments", multiple=True, metavar="KEY=VALUE", help="Any setting; repeatable.")
@click.option("--events", metavar="DIR", help="Write the event log to files in this folder.")
@click.option("--recover", is_flag=True, help="Go on with what is whole of a damaged journal; the file is kept.")
@click.option("--admin", metavar="HOST:PORT|off", help="Where the admin API listens.")
@click.option(
    "--log-format",
    type=click.Choice(FORMATS),
    envvar=f"{VARIABLES}_FORMAT",
    help="How lines on standard error are written; console on a terminal, else json.",
)
@click.option("--log-level", type=click.Choice(LEVELS), default="info", envvar=f"{VARIABLES}_LEVEL", show_default=True)
def serve(*, path: Path | None, log_format: str | None, log_level: str, **quick: Quick) -> None:
    """Run the bridge until SIGTERM or Ctrl-C.

    Give --config FILE, or the quick form: --bootstrap HOST:PORT --listen HOST:PORT [--embedded GLOB …]
    [--upstream GLOB …]. What is
    written here counts more than EPOCHBRIDGE_… variables, and those more than the file. One line on standard output
    says when clients may come; the log goes to standard error.
    """
    chosen_format = log_format or ("console" if sys.stderr.isatty() else "json")
    try:
        config = read_config(path, quick)
        run_bridge(config, LogChoice(chosen_format, log_level), announce, partial(load_config, path, quick))
    except ConfigError as problem:
        raise WrongConfiguration(problem) from None
    except AppError as problem:
        raise click.ClickException(with_code(problem)) from None


def read_config(path: Path | None, quick: dict[str, Quick]) -> Config:
    """The configuration that these options name; raises ConfigError, and UsageError when no broker is named."""
    config = load_config(path, quick)
    if not config.settings.bootstrap:
        raise click.UsageError(NO_BROKER)
    return config


def load_config(path: Path | None, quick: dict[str, Quick]) -> Config:
    """The configuration as it is now in file and environment, under what these options say; raises ConfigError."""
    rules = quick_rules(_many(quick.get("globs")), _many(quick.get("upstream")))
    return load(path, read_environment(), [*_many(quick.get("assignments")), *_named(quick)], rules)


def announce(line: str) -> None:
    """Print the line that says when clients may come, at once: others wait for it."""
    click.echo(line)
    sys.stdout.flush()


class WrongConfiguration(click.ClickException):
    """Every fault on its own line, as an error of usage."""

    exit_code = 2

    def __init__(self, problem: ConfigError) -> None:
        super().__init__("\n  ".join(["EB-CLI-005: the configuration can't be used:", *map(str, problem.faults)]))


def with_code(problem: AppError) -> str:
    """The error's text with its code in front, once."""
    text = str(problem)
    return text if text.startswith("EB-") else f"{problem.code}: {text}"


def _named(quick: dict[str, Quick]) -> Iterator[str]:
    for option, key in QUICK_KEYS:
        if quick.get(option) is not None:
            yield f"{key}={quick[option]}"
    if quick.get("recover"):
        yield "journal.recover=true"


def _many(value: Quick) -> tuple[str, ...]:
    return value if isinstance(value, tuple) else ()
