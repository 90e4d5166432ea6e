"""The command line as a user meets it: statuses, sentences, and what is loaded when."""

import gc
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from importlib.metadata import EntryPoint, version
from pathlib import Path

import click
import pytest

from bridge.cli import main as command_line
from bridge.cli.main import OWN, Commands, cli, load_module, main, run
from bridge.config.configuration import OTHER_VARIABLES, load

HEAVY = ("trio", "kafka", "httpx", "starlette", "hypercorn", "rich", "yaml", "confluent_kafka")
LATER = ("starlette", "hypercorn", "anyio", "httpx", "yaml", "opentelemetry", "confluent_kafka")


@pytest.fixture
def register(monkeypatch: pytest.MonkeyPatch) -> Callable[[Mapping[str, str]], None]:
    """Pretend that exactly these entry points are installed."""

    def set_points(points: Mapping[str, str]) -> None:
        found = [EntryPoint(name=name, value=value, group="epochbridge.commands") for name, value in points.items()]

        def installed(*, group: str) -> list[EntryPoint]:
            return [point for point in found if point.group == group]

        monkeypatch.setattr(command_line, "entry_points", installed)

    return set_points


@click.command("broken")
def broken() -> None:
    """Fail as a bug does."""
    raise KeyError("odd")


@click.command("interrupted")
def interrupted() -> None:
    """Be interrupted."""
    raise KeyboardInterrupt


@click.command("refused")
@click.option("--why", default="no code")
def refused(why: str) -> None:
    """Fail as a command does."""
    raise click.ClickException(why)


HERE = "tests.unit.bridge.cli.main.test_main"


def test_version_is_the_distributions(capsys: pytest.CaptureFixture[str]) -> None:
    """Name and number on one line."""
    assert run(["version"]) == 0
    assert capsys.readouterr().out == f"epochbridge {version('epochbridge')}\n"


def test_version_as_a_process_loads_no_room() -> None:
    """It stays fast because it loads nothing that it does not need."""
    program = (
        "import sys\n"
        "from bridge.cli.main import run\n"
        "status = run(['version'])\n"
        f"print(sorted(set({HEAVY!r}) & set(sys.modules)), status)\n"
    )
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60)
    assert ran.stdout.splitlines()[1:] == ["[] 0"]


def test_module_is_the_same_command() -> None:
    """`python -m bridge`."""
    ran = subprocess.run(
        [sys.executable, "-m", "bridge", "version"], capture_output=True, text=True, check=False, timeout=60
    )
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, f"epochbridge {version('epochbridge')}\n", "")


def test_help_lists_own_and_registered_commands(capsys: pytest.CaptureFixture[str]) -> None:
    """All commands of the design are there."""
    assert run(["--help"]) == 0
    shown = {line.split()[0] for line in capsys.readouterr().out.partition("Commands:")[2].splitlines() if line.strip()}
    assert shown >= {"check-config", "demo", "describe", "groups", "serve", "version"}


@pytest.mark.parametrize("name", sorted(OWN))
def test_short_help_is_the_commands_own(name: str) -> None:
    """The line in the list, written twice so that the list loads nothing, says the same."""
    command = cli.get_command(click.Context(cli), name)
    assert command is not None
    assert command.get_short_help_str(limit=200) == OWN[name].short_help


def variables(command: click.Command) -> Iterator[str]:
    """Those of the environment that a command, or one below it, reads as values of options."""
    for parameter in command.params:
        yield from [parameter.envvar] if isinstance(parameter.envvar, str) else parameter.envvar or ()
    if isinstance(command, click.Group):
        with click.Context(command) as context:
            below = [command.get_command(context, name) for name in command.list_commands(context)]
        yield from (name for one in below if one is not None for name in variables(one))


def test_no_variable_of_any_command_is_taken_for_a_misspelt_key() -> None:
    """Those of TLS with the admin API were: whoever had set one for `status` could start no bridge in that shell."""
    named = set(variables(cli))
    assert {"EPOCHBRIDGE_ADMIN_CA_FILE", "EPOCHBRIDGE_EVENTS_PATH", "EPOCHBRIDGE_LOG_LEVEL"} <= named
    for name in sorted(named):
        load(None, {name: "x" if name in OTHER_VARIABLES else "/"})


def commands_below(command: click.Command) -> Iterator[click.Command]:
    """A command, and those that are found by words behind it."""
    yield command
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            below = command.get_command(context, name)
            assert below is not None
            yield from commands_below(below)


def test_files_are_judged_by_who_reads_them() -> None:
    """click said of a configuration that may not be read that its path is no value, without a next step."""
    options = [one for command in commands_below(cli) for one in command.params]
    files = [(one.name, one.type) for one in options if isinstance(one.type, click.Path)]
    assert {"path", "password_path"} <= {name for name, _ in files}
    assert [name for name, kind in files if kind.exists or kind.readable] == []


def test_unknown_command_is_called_wrongly(capsys: pytest.CaptureFixture[str]) -> None:
    """Exit status 2, a code, and where the help is."""
    assert run(["srve"]) == 2
    shown = capsys.readouterr().err
    assert "EB-CLI-001: No such command 'srve'" in shown
    assert "--help" in shown


def test_no_command_is_called_wrongly(capsys: pytest.CaptureFixture[str]) -> None:
    """Exit status 2."""
    assert run([]) == 2
    assert "EB-CLI-001: Missing command." in capsys.readouterr().err


def test_bug_is_one_sentence_without_traceback(
    register: Callable[[Mapping[str, str]], None], capsys: pytest.CaptureFixture[str]
) -> None:
    """EB-CLI-099 says what to do."""
    register({"broken": f"{HERE}:broken"})
    assert run(["broken"]) == 1
    shown = capsys.readouterr().err
    assert shown.startswith("Error: EB-CLI-099: epochbridge failed with KeyError: 'odd'; ")
    assert "Traceback" not in shown


def test_bug_with_debug_is_shown_whole(register: Callable[[Mapping[str, str]], None]) -> None:
    """The traceback is for those who ask."""
    register({"broken": f"{HERE}:broken"})
    with pytest.raises(KeyError, match="odd"):
        run(["--debug", "broken"])


def test_interrupt_is_quiet(register: Callable[[Mapping[str, str]], None], capsys: pytest.CaptureFixture[str]) -> None:
    """Ctrl-C needs no explanation."""
    register({"interrupted": f"{HERE}:interrupted"})
    assert run(["interrupted"]) == 130
    assert capsys.readouterr().err.strip() == ""


@pytest.mark.parametrize(
    ("why", "shown"), [("no code", "EB-CLI-004: no code"), ("EB-ADMIN-011: nobody", "EB-ADMIN-011: nobody")]
)
def test_failure_has_one_code(
    why: str,
    shown: str,
    register: Callable[[Mapping[str, str]], None],
    capsys: pytest.CaptureFixture[str],
) -> None:
    """A command's own code stays, one without gets ours."""
    register({"refused": f"{HERE}:refused"})
    assert run(["refused", "--why", why]) == 1
    assert capsys.readouterr().err == f"Error: {shown}\n"


@pytest.mark.parametrize(("name", "step"), [("demo", "pip install 'epochbridge[demo]'"), ("other", "install it again")])
def test_missing_library_is_one_sentence(
    name: str,
    step: str,
    register: Callable[[Mapping[str, str]], None],
    capsys: pytest.CaptureFixture[str],
) -> None:
    """EB-CLI-003 names the extra to install; the list of commands still works."""
    register({name: "no_such_library:command"})
    assert run([name]) == 1
    shown = capsys.readouterr().err
    assert "EB-CLI-003" in shown
    assert step in shown
    assert run(["--help"]) == 0
    assert step in " ".join(capsys.readouterr().out.split())


def test_registered_thing_that_is_no_command_is_refused(
    register: Callable[[Mapping[str, str]], None], capsys: pytest.CaptureFixture[str]
) -> None:
    """A wrong entry point of another distribution harms nobody else."""
    register({"odd": f"{HERE}:HERE"})
    assert run(["odd"]) == 1
    assert f"{HERE}:HERE is no click command" in capsys.readouterr().err


def test_own_command_wins_over_a_registered_one(register: Callable[[Mapping[str, str]], None]) -> None:
    """Another distribution can't take `serve` over."""
    register({"version": f"{HERE}:broken"})
    assert isinstance(cli, Commands)
    assert cli.get_command(click.Context(cli), "version") is command_line.show_version


def test_reader_that_went_away_is_no_bug() -> None:
    """`epochbridge groups | head -1`."""
    ran = subprocess.run(
        ["/bin/sh", "-c", f"{sys.executable} -m bridge --help | true"],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert ran.stderr == ""


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", ">&- 2>&-", "<&- >&- 2>&-"])
def test_closed_stream_leads_nowhere(closed: str, tmp_path: Path) -> None:
    """`epochbridge serve 2>&-` was a bug of ours, and the first file opened had the number of standard error."""
    program = """
import os, subprocess, sys
from pathlib import Path
from bridge.cli import main
main.open_closed_streams()
file = Path(sys.argv[1]).open("w")
print("words")
print("more words", file=sys.stderr, flush=True)
sys.stdout.flush()
os.write(2, b"of a library")
child = subprocess.run(["/bin/sh", "-c", "echo of a child; echo of a child >&2; read line"], check=False)
file.write(f"{file.fileno() > 2} {sys.stderr.fileno()} {sys.stdin.fileno()}")
"""
    told = tmp_path / "told"
    shell = f'"$0" -c "$1" "$2" {closed}'
    ran = subprocess.run(["/bin/sh", "-c", shell, sys.executable, program, str(told)], check=False, timeout=60)
    assert (ran.returncode, told.read_text(encoding="utf-8")) == (0, "True 2 0")


@pytest.mark.parametrize("closed", [">&-", "2>&-", "<&- >&- 2>&-"])
def test_command_is_the_same_without_its_streams(closed: str) -> None:
    """What is wrong with a configuration is status 2 for whoever asks for no words, too."""
    wrong = f"{sys.executable} -m bridge serve --bootstrap 127.0.0.1:1 --listen nowhere {closed}"
    assert subprocess.run(["/bin/sh", "-c", wrong], check=False, capture_output=True, timeout=60).returncode == 2


def test_main_ends_the_process_with_the_status(monkeypatch: pytest.MonkeyPatch) -> None:
    """The console script."""
    monkeypatch.setattr(sys, "argv", ["epochbridge", "nothing"])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 2


def test_collector_rests_only_while_a_module_is_imported() -> None:
    """Also when the import fails."""
    assert load_module("bridge.cli.table").__name__ == "bridge.cli.table"
    with pytest.raises(ModuleNotFoundError):
        load_module("bridge.not_there")
    assert gc.isenabled()


def test_collector_never_looks_at_what_was_imported() -> None:
    """Its first look would be at everything."""
    gc.unfreeze()
    load_module("bridge.cli.table")
    assert gc.get_freeze_count() > 0
    gc.unfreeze()


def test_serve_loads_no_library_that_its_start_does_not_need() -> None:
    """Kafka's clients wait for the start; whoever asks the admin API can wait for what serves it."""
    program = (
        "import sys\n"
        "from bridge.cli.main import load_module\n"
        "load_module('bridge.cli.serve')\n"
        f"print(sorted(set({LATER!r}) & set(sys.modules)))\n"
    )
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60)
    assert ran.stdout == "[]\n"
