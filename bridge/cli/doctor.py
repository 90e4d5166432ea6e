"""The command `doctor`: what stands in the way of moving groups, in a running bridge or before there is one."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import click

from bridge.admin.bridge_option import TlsFiles, access_options, address_option
from bridge.app.composition import AppError
from bridge.app.doctor import ask_bridge, look_from_here
from bridge.cli.serve import WrongConfiguration, with_code
from bridge.config.configuration import load
from bridge.config.faults import ConfigError
from bridge.config.sources import read_environment

COLUMNS = ("SEVERITY", "CODE", "FINDING", "REMEDY")
STOPS = "stops"
CONNECT_TIMEOUT_MS = 5_000
Chosen = str | tuple[str, ...] | None
"""The value of an option that belongs to a look from here."""
Findings = Sequence[Mapping[str, object]]


@click.command("doctor")
@click.option("--bootstrap", metavar="HOST:PORT[,…]", help="Look at this cluster from here, without a running bridge.")
@click.option(
    "--config",
    "path",
    type=click.Path(path_type=Path, readable=False),
    metavar="FILE",
    help="Look from here, as a bridge with this configuration would.",
)
@click.option("--set", "assignments", multiple=True, metavar="KEY=VALUE", help="Any setting for that; repeatable.")
@address_option("Admin API of the bridge that is asked otherwise, as URL or HOST:PORT.")
@access_options(is_brought=False)
@click.option("--json", "as_json", is_flag=True, help="Print the findings as JSON.")
@click.pass_context
def doctor(context: click.Context, /, *, path: Path | None, as_json: bool, admin: str, **chosen: Chosen) -> None:
    """Say what stands in the way of moving groups, and what helps.

    The brokers' releases, features, policy and limits, whether they take over members (probed in a group of the
    bridge's own, which is removed again), rights, clocks, settings, ports. A running bridge is asked, or, with
    --bootstrap, --config or --set, the cluster itself. Status 1 if something stands in the way, 0 if nothing does.
    """
    try:
        found = (
            _examine(path, chosen)
            if path is not None or chosen.get("bootstrap") is not None or chosen.get("assignments")
            else ask_bridge(admin, _file(chosen, "token"), _tls_files(chosen))
        )
    except ConfigError as problem:
        raise WrongConfiguration(problem) from None
    except AppError as problem:
        raise click.ClickException(with_code(problem)) from None
    findings = _findings(found)
    if as_json:
        click.echo(json.dumps(found, ensure_ascii=False, separators=(",", ":")))
    else:
        rows = [[str(one.get(key) or "-") for key in ("severity", "code", "text", "remedy")] for one in findings]
        context.obj.show_table(COLUMNS, rows)
    context.exit(any(one.get("severity") == STOPS for one in findings))


def _file(chosen: Mapping[str, Chosen], name: str) -> str:
    return str(chosen.get(f"admin_{name}_path") or "")


def _tls_files(chosen: Mapping[str, Chosen]) -> TlsFiles:
    return TlsFiles(_file(chosen, "ca"), _file(chosen, "certificate"), _file(chosen, "key"))


def _examine(path: Path | None, chosen: Mapping[str, Chosen]) -> Mapping[str, object]:
    """Raises ConfigError and AppError."""
    bootstrap, assignments = chosen.get("bootstrap"), chosen.get("assignments") or ()
    named = [f"connect.timeout.ms={CONNECT_TIMEOUT_MS}", *assignments]
    if bootstrap is not None:
        named.append(f"bootstrap={bootstrap}")
    return look_from_here(load(path, read_environment(), named))


def _findings(found: Mapping[str, object]) -> Findings:
    findings = found.get("findings")
    return [one for one in findings if isinstance(one, Mapping)] if isinstance(findings, list) else []
