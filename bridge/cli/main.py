"""The command `epochbridge`: its subcommands by name, loaded when used, and what the user is told when one fails.

Commands of other rooms are found through the entry points `epochbridge.commands`.
"""

import gc
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from importlib.metadata import EntryPoint, PackageNotFoundError, distribution, entry_points, version
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import NoReturn

import click

from bridge.cli.late_methods import make_methods_late

PROGRAM = "epochbridge"
ENTRY_POINTS = "epochbridge.commands"
EXTRAS: Mapping[str, str] = {"demo": "demo"}
"""Commands whose libraries come with an extra of our own distribution."""
INTERRUPTED = 130
USAGE_CODE = "EB-CLI-001"
"""The command was called wrongly: what click says of it comes after the code."""
FAILURE_CODE = "EB-CLI-004"
"""The command failed, and what it says of it has no code of its own."""
BUG_CODE = "EB-CLI-099"
DEBUG = "epochbridge.debug"
PACKAGES = ("bridge", "translators")
"""What our distribution installs at the top; the package index has distributions under both names."""
FOREIGN_CODE = "EB-CLI-008"
STREAMS = (("stdin", "r"), ("stdout", "w"), ("stderr", "w"))
"""By their numbers: 0, 1, 2."""


@dataclass(frozen=True, slots=True)
class OwnCommand:
    """A command of this room: where it is, and its line in the list of commands, which must not load it."""

    module: str
    attribute: str
    short_help: str


OWN: Mapping[str, OwnCommand] = {
    "check-config": OwnCommand(
        "bridge.cli.check", "check_config", "Say what is wrong with a configuration file, or that it is ok."
    ),
    "doctor": OwnCommand("bridge.cli.doctor", "doctor", "Say what stands in the way of moving groups, and what helps."),
    "login-line": OwnCommand(
        "bridge.cli.login_line",
        "login_line",
        "Print the lines of a user for the file that listen.sasl.clients.path names.",
    ),
    "serve": OwnCommand("bridge.cli.serve", "serve", "Run the bridge until SIGTERM or Ctrl-C."),
    "verify-regex": OwnCommand(
        "bridge.cli.regex", "verify_regex", "Print the topics that a subscription's pattern matches."
    ),
    "version": OwnCommand("bridge.cli.main", "show_version", "Print the version."),
}


class Commands(click.Group):
    """Loads a command when it is asked for, so that one is not slowed down by the libraries of another."""

    registered: Mapping[str, EntryPoint] | None = None
    """The commands of other rooms, for who knows them better than what is installed; None: those that are."""

    @property
    def _points(self) -> Mapping[str, EntryPoint]:
        return _registered() if self.registered is None else self.registered

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Our own and the registered ones."""
        return sorted({*OWN, *self._points})

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command, or one that says what is missing for it."""
        own = OWN.get(cmd_name)
        if own is not None:
            command: click.Command = getattr(load_module(own.module), own.attribute)
            return command
        registered = self._points.get(cmd_name)
        return None if registered is None else _load(registered)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The list of commands, without loading the rooms that our own ones call."""
        others = {name: _load(point).get_short_help_str(limit=100) for name, point in self._points.items()}
        lines = {**others, **{name: own.short_help for name, own in OWN.items()}}
        with formatter.section("Commands"):
            formatter.write_dl(sorted(lines.items()))

    def invoke(self, ctx: click.Context) -> object:
        """Run the command; a bug is one sentence to the user, and a traceback with --debug only."""
        try:
            outcome: object = super().invoke(ctx)
            return outcome
        except (click.ClickException, click.exceptions.Exit, click.Abort, BrokenPipeError):
            raise
        except Exception as bug:
            if ctx.meta.get(DEBUG):
                raise
            sentence = (
                f"{BUG_CODE}: {PROGRAM} failed with {type(bug).__name__}: {bug}; that is a bug of ours: "
                f"run `{PROGRAM} --debug …` again and report what it prints"
            )
            raise click.ClickException(sentence) from bug


def _note_debug(context: click.Context, _: click.Parameter, value: bool) -> None:
    context.meta[DEBUG] = value


@click.group(name=PROGRAM, cls=Commands, no_args_is_help=False)
@click.option(
    "--debug",
    is_flag=True,
    expose_value=False,
    callback=_note_debug,
    help="Show the traceback when a command fails because of a bug.",
)
@click.pass_context
def cli(context: click.Context) -> None:
    """A bridge between Kafka clients and brokers that coordinates chosen consumer groups itself."""
    # Not sooner: it shows text of strangers by a function of `translators`, which may be somebody else's package.
    context.obj = import_module("bridge.cli.screen").TerminalScreen()


@click.command("version")
def show_version() -> None:
    """Print the version."""
    click.echo(f"{PROGRAM} {version(PROGRAM)}")


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run one command and end the process: status 0 done, 1 failed, 2 called wrongly, 130 interrupted."""
    open_closed_streams()
    make_methods_late()
    sys.exit(run(sys.argv[1:] if arguments is None else arguments))


def open_closed_streams() -> None:
    """Let standard streams that whoever started us has closed (`2>&-`) lead nowhere.

    Python has no object for them, and the next file or socket would get their number: what a library or a child says
    there would end up in a journal or at a client.
    """
    for name, mode in STREAMS:
        if getattr(sys, name) is None:
            nowhere = os.open(os.devnull, os.O_RDWR)
            os.set_inheritable(nowhere, True)
            setattr(sys, name, os.fdopen(nowhere, mode, encoding="utf-8", closefd=False))


def run(arguments: Sequence[str]) -> int:
    """Run one command and return the exit status; errors are told on standard error."""
    foreign = foreign_package()
    if foreign is not None:
        click.ClickException(foreign).show()
        return 1
    try:
        status: object = cli.main(list(arguments), PROGRAM, standalone_mode=False)
    except click.Abort:
        return INTERRUPTED
    except click.UsageError as wrong:
        click.UsageError(_with_code(wrong, USAGE_CODE), wrong.ctx).show()
        return wrong.exit_code
    except click.ClickException as failure:
        click.ClickException(_with_code(failure, FAILURE_CODE)).show()
        return failure.exit_code
    except BrokenPipeError:
        # Whoever read our output has enough; without this Python complains when it flushes.
        sys.stdout = None
        return 1
    return status if isinstance(status, int) else 0


def foreign_package() -> str | None:
    """A sentence about a foreign package in the place of one of ours, None if there is none.

    It may stand before ours on the path, or have been installed over it: pip lets two distributions write one file.
    Nothing of it is imported: the `translators` of the package index asks the network as soon as it is.
    """
    ours = Path(__file__).resolve().parents[2]
    for name in PACKAGES:
        spec = find_spec(name)
        origin = None if spec is None or spec.origin is None else Path(spec.origin).resolve()
        if origin is None or origin.parent != ours / name:
            return _foreign(name, f"{origin or 'a folder without code'} stands before {ours / name} on Python's path")
        if _is_overwritten(name):
            return _foreign(name, f"a distribution named {name!r} has been installed over {ours / name}")
    return None


def _is_overwritten(name: str) -> bool:
    try:
        files = distribution(name).files
    except PackageNotFoundError:
        return False
    return f"{name}/__init__.py" in map(str, files or ())


def _foreign(name: str, seen: str) -> str:
    return (
        f"{FOREIGN_CODE}: the package {name!r} is not {PROGRAM}'s own: {seen}; give {PROGRAM} an environment of its "
        f"own: `python3 -m venv PLACE && PLACE/bin/pip install {PROGRAM}`"
    )


def _with_code(problem: click.ClickException, code: str) -> str:
    text = problem.format_message()
    return text if "EB-" in text else f"{code}: {text}"


def load_module(name: str) -> ModuleType:
    """Import a module with all that it needs, without the garbage collector, which would search a heap that only
    grows; it never looks at what was imported.
    """
    gc.disable()
    try:
        return import_module(name)
    finally:
        gc.freeze()
        gc.enable()


def _registered() -> dict[str, EntryPoint]:
    return {point.name: point for point in entry_points(group=ENTRY_POINTS)}


def _load(point: EntryPoint) -> click.Command:
    try:
        command: object = point.load()
    except ImportError as missing:
        return _missing(point, missing)
    if isinstance(command, click.Command):
        return command
    return _missing(point, TypeError(f"{point.value} is no click command"))


def _missing(point: EntryPoint, problem: Exception) -> click.Command:
    step = f"run `pip install '{PROGRAM}[{EXTRAS[point.name]}]'`" if point.name in EXTRAS else "install it again"
    sentence = f"EB-CLI-003: `{PROGRAM} {point.name}` can't be loaded ({problem}); {step}"

    def refuse() -> None:
        raise click.ClickException(sentence)

    return click.Command(point.name, callback=refuse, help=f"Not available: {step}.", add_help_option=False)
