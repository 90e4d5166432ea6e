"""The command `login-line`: what the file of those who log in at the bridge has to say of one of them."""

from pathlib import Path

import click

from bridge.app.kept_logins import make_lines
from bridge.config.named_files import FileUnreadable, read_secret


@click.command("login-line")
@click.argument("name")
@click.option(
    "--password-path",
    type=click.Path(path_type=Path, readable=False),
    metavar="FILE",
    help="File that holds the password; it is asked for otherwise.",
)
def login_line(name: str, password_path: Path | None) -> None:
    """Print the lines of a user for the file that listen.sasl.clients.path names.

    They hold keys that prove the password and do not tell it (SCRAM), one line for each of SCRAM-SHA-256 and
    SCRAM-SHA-512; PLAIN is judged by them, too.
    """
    try:
        password = _asked() if password_path is None else read_secret(password_path)
    except FileUnreadable as problem:
        raise click.ClickException(
            f"EB-CLI-015: the password can't be read: {problem}; name a file that holds it alone"
        ) from None
    # A line end of any kind, U+2028 among them, would make two lines of one.
    if not name.isprintable() or not name or not password or "\0" in password:
        raise click.ClickException(
            "EB-CLI-016: the name is empty or can't be printed, or the password is empty or has a zero in it; give "
            "both as the client will"
        )
    for line in make_lines(name, password):
        click.echo(line)


def _asked() -> str:
    return str(click.prompt("Password", hide_input=True, confirmation_prompt=True, err=True))
