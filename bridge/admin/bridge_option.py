"""Which running bridge a command asks, and with which token: the options of every command that asks one.

Commands of other rooms take them from here; how a bridge is asked, and what it answers, is theirs.
"""

from collections.abc import Callable
from contextvars import ContextVar
from pathlib import Path
from typing import ParamSpec, Protocol, TypeVar

import click

ADMIN_DEFAULT = "http://127.0.0.1:9190"
TOKEN: ContextVar[str] = ContextVar("token of the admin API", default="")
"""What the command was given to show; empty: nothing."""
Given = ParamSpec("Given")
Outcome = TypeVar("Outcome")


class Option(Protocol):
    """Adds an option to a command."""

    def __call__(self, command: Callable[Given, Outcome], /) -> Callable[Given, Outcome]:
        """The command with it."""


class NoToken(Exception):
    """A file holds no token that could be shown; the text has a code, the likely cause and the next step."""


def bring_token(path: str) -> None:
    """Ask with the token of a file from now on, in this command; raises NoToken where it can't be read."""
    why: str | None = None
    token = ""
    try:
        token = Path(path).read_text(encoding="ascii").strip() if path else ""
    except (OSError, UnicodeDecodeError) as problem:
        # A decoding error would quote the token.
        why = problem.strerror if isinstance(problem, OSError) else "it is no ASCII"
    # What can't be in a header would be quoted by who refuses it: a key, where the wrong file was named.
    if not token.isprintable() or " " in token:
        why = "it holds more than one word"
    if why is not None:
        raise NoToken(
            f"EB-ADMIN-019: the token for the admin API can't be read from {path}: {why}; name the file that "
            "admin.token.path or admin.token.read.path of the bridge names, or a copy, with --admin-token-path"
        )
    TOKEN.set(token)


def _bring_token(_context: click.Context, _parameter: click.Parameter, path: str) -> None:
    try:
        bring_token(path)
    except NoToken as problem:
        raise click.ClickException(str(problem)) from None


def address_option(words: str) -> Option:
    """The address of the bridge's admin API; `words` say what it is asked for."""
    return click.option(
        "--admin", metavar="URL", default=ADMIN_DEFAULT, show_default=True, envvar="EPOCHBRIDGE_ADMIN", help=words
    )


def token_option(*, is_brought: bool = True) -> Option:
    """The file of the token; it is brought before the command runs, or its path is given to the command."""
    return click.option(
        "--admin-token-path",
        metavar="FILE",
        default="",
        expose_value=not is_brought,
        callback=_bring_token if is_brought else None,
        envvar="EPOCHBRIDGE_ADMIN_TOKEN_FILE",
        help="File that holds the token for it, where it is asked from elsewhere.",
    )


def admin_option(command: Callable[Given, Outcome]) -> Callable[Given, Outcome]:
    """Which bridge is asked, and with which token."""
    return address_option("Admin API of the bridge, as URL or HOST:PORT.")(token_option()(command))
