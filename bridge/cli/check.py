"""The command `check-config`: every fault of a file with its line, or what the file says."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import click

from bridge.app.composition import AppError
from bridge.app.exposures import find_exposures
from bridge.app.process import find_faults
from bridge.app.rules import tell_findings, tell_rules
from bridge.app.tls import find_fading, find_misnamed
from bridge.app.unread_keys import find_unread
from bridge.cli.serve import with_code
from bridge.config.causes import cause_of_choice
from bridge.config.configuration import Config, load
from bridge.config.entries import WrittenFile
from bridge.config.faults import ConfigError, Fault, FaultCode
from bridge.config.keys import KEYS
from bridge.config.log_choices import FORMATS, LEVELS, VARIABLES
from bridge.config.secrets import shown
from bridge.config.sources import read_environment
from bridge.config.yaml_file import read_file

FOUND, USAGE = 1, 2


@click.command("check-config")
@click.argument("path", type=click.Path(path_type=Path, readable=False), metavar="FILE")
@click.option("--strict", "is_strict", is_flag=True, help="Status 1 if there is any finding.")
@click.pass_context
def check_config(context: click.Context, path: Path, *, is_strict: bool) -> None:
    """Say what is wrong with a configuration file, or that it is ok.

    Names file, line, key, the value seen and what is allowed. EPOCHBRIDGE_… variables are put over it, as in serve.
    Rules that take nothing or everything, or disagree, what shows passwords or tokens to more people than need be, keys
    that nothing reads, and certificates of the bridge's own that are over or soon will be, or that name other hosts
    than clients are told, are findings: the file can be used all the same.
    """
    environment = read_environment()
    faults = list(_log_faults(environment))
    try:
        # Once: of a pipe nothing is left.
        written = read_file(path)
        config = load(written, environment)
        faults += find_faults(config)
    except ConfigError as problem:
        report(path, [*problem.faults, *faults])
        context.exit(USAGE)
    except AppError as problem:
        raise click.ClickException(with_code(problem)) from None
    if faults:
        report(path, faults)
        context.exit(USAGE)
    for line in summarise(path, config):
        click.echo(line)
    findings = [*tell_findings(config), *_exposures(written, config)]
    for number, sentence in findings:
        place = f"{path}:{number}" if number else str(path)
        click.echo(f"  {place}: finding {sentence}")
    if findings and is_strict:
        context.exit(FOUND)


def report(path: Path, faults: Sequence[Fault]) -> None:
    """Print every fault, and the next step, on standard error."""
    count = "1 fault" if len(faults) == 1 else f"{len(faults)} faults"
    click.echo(f"Error: EB-CLI-005: {path}: {count}", err=True)
    for fault in faults:
        click.echo(f"  {fault}", err=True)
    click.echo(f"Mend what is named and run `epochbridge check-config {path}` again.", err=True)


def summarise(path: Path, config: Config) -> Iterator[str]:
    """What the file says: the values that are not the default, and the rules."""
    yield f"{path}: ok"
    for key in KEYS.values():
        value = getattr(config.settings, key.field_name)
        if value != key.default:
            yield f"  {key.name}: {shown(key, value)}"
    yield from (f"  {line}" for line in tell_rules(config))
    if not config.rules:
        yield "  no group rules: every group takes road pass"


def _log_faults(environment: Mapping[str, str]) -> Iterator[Fault]:
    """What of the log is wrong in the environment, which `serve` reads as the values of two options."""
    for name, choices in (("LEVEL", LEVELS), ("FORMAT", FORMATS)):
        variable = f"{VARIABLES}_{name}"
        seen = environment.get(variable)
        if seen and seen not in choices:
            yield Fault(
                code=FaultCode.OUT_OF_BOUNDS,
                source="environment",
                key=variable,
                seen=f"{seen!r} is none of the choices",
                allowed=" or ".join(f"`{choice}`" for choice in choices),
                hint=cause_of_choice(choices, seen) or "write one of these, or unset it to use its default",
            )


def _exposures(written: WrittenFile, config: Config) -> Iterator[tuple[int, str]]:
    """With the line of the key, as far as the file has it: it may be a default, or come from a variable."""
    told = [(exposure.key, str(exposure)) for exposure in find_exposures(config.settings)]
    judges = (find_fading, find_misnamed, find_unread)
    found = [one for judge in judges for one in judge(config.settings)]
    for key, sentence in (*told, *found):
        entry = written.entries.get(key)
        yield 0 if entry is None else entry.line, sentence
