"""The command `verify-regex`: what a subscription's pattern matches, before any member subscribes with it."""

from pathlib import Path

import click

from bridge.app.composition import AppError
from bridge.app.regex import resolve_in_cluster
from bridge.cli.serve import NO_BROKER, with_code
from bridge.config.configuration import load
from bridge.config.faults import ConfigError
from bridge.config.sources import read_environment

ANSWER_MAX_MS = 5_000
UNREADABLE = 1


@click.command("verify-regex")
@click.argument("pattern")
@click.option("--bootstrap", metavar="HOST:PORT[,…]", help="Brokers, or a bridge, to ask for topics.")
@click.option(
    "--config",
    "path",
    type=click.Path(path_type=Path, readable=False),
    metavar="FILE",
    help="Ask as a bridge with this configuration would: at its brokers, in its TLS, by its login.",
)
@click.pass_context
def verify_regex(context: click.Context, pattern: str, bootstrap: str | None, path: Path | None) -> None:
    """Print the topics that a subscription's pattern matches.

    The pattern of KIP-848 members: RE2, and the whole name has to match; internal topics count too. Status 1 for a
    pattern that can't be read, with the reason that members get with INVALID_REGULAR_EXPRESSION.
    """
    assignments = [f"connect.timeout.ms={ANSWER_MAX_MS}"]
    assignments += [] if bootstrap is None else [f"bootstrap={bootstrap}"]
    try:
        config = load(path, {} if path is None else read_environment(), assignments)
        if not config.settings.bootstrap:
            raise click.UsageError(NO_BROKER)
        found = resolve_in_cluster(pattern, config)
    except ConfigError as problem:
        raise click.UsageError("\n  ".join(map(str, problem.faults))) from None
    except AppError as problem:
        raise click.ClickException(with_code(problem)) from None
    if found.error is not None:
        click.echo(f"Error: EB-CLI-007: the pattern {pattern!r} can't be read: {found.error}", err=True)
        context.exit(UNREADABLE)
    if not found.topics:
        click.echo(f"No topic's whole name matches {pattern!r}.", err=True)
    for name in sorted(found.topics):
        context.obj.show_line(name)
