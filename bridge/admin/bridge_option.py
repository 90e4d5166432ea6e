"""Which running bridge a command asks, with which token, and how in TLS: the options of every command that asks one.

Commands of other rooms take them from here; how a bridge is asked, and what it answers, is theirs.
"""

import ssl
from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import dataclass, replace
from pathlib import Path
from typing import ParamSpec, Protocol, TypeVar

import click

from bridge.config.named_files import FileUnreadable, read_bytes, read_secret

ADMIN_DEFAULT = "127.0.0.1:9190"
TLS_FILE_BYTES_MAX = 16_777_216
"""Of certificates and keys; a whole bundle of authorities has some 200 kB."""
TOKEN: ContextVar[str] = ContextVar("token of the admin API", default="")
"""What the command was given to show; empty: nothing."""
Given = ParamSpec("Given")
Outcome = TypeVar("Outcome")


class Option(Protocol):
    """Adds an option to a command."""

    def __call__(self, command: Callable[Given, Outcome], /) -> Callable[Given, Outcome]:
        """The command with it."""


class CannotAsk(Exception):
    """A file that the command was given can't be used; the text has a code, the likely cause and the next step."""


@dataclass(frozen=True, slots=True)
class TlsFiles:
    """Whose certificate is believed, and what is shown in return; empty: nothing is given."""

    authorities: str = ""
    certificate: str = ""
    key: str = ""

    def __bool__(self) -> bool:
        """Whether anything is given."""
        return self != TlsFiles()


TLS_FILES: ContextVar[TlsFiles] = ContextVar("files of TLS with the admin API", default=TlsFiles())  # noqa: B039 - it is frozen


def bring_files(files: TlsFiles) -> None:
    """Ask in TLS with these files from now on, in this command."""
    TLS_FILES.set(files)


def url_of(admin: str) -> str:
    """The URL of an address, in TLS where files for that are given; raises CannotAsk where both disagree."""
    is_tls = bool(TLS_FILES.get())
    if "://" not in admin:
        return f"{'https' if is_tls else 'http'}://{admin}"
    if is_tls and not admin.lower().startswith("https://"):
        raise CannotAsk(
            f"EB-ADMIN-022: {admin} is asked without TLS, and files for TLS are given, which nothing would read; give "
            "its address as https://HOST:PORT or HOST:PORT"
        )
    return admin


def tls_context() -> ssl.SSLContext:
    """How the bridge is asked in TLS; raises CannotAsk for files that can't be used."""
    files = TLS_FILES.get()
    authorities = _read("--admin-ca-path", files.authorities) if files.authorities else b""
    for option, path in (("--admin-certificate-path", files.certificate), ("--admin-key-path", files.key)):
        # OpenSSL reads them itself, and would read a device for ever; of a pipe nothing would be left for it.
        if path and not Path(path).is_fifo():
            _read(option, path)
    try:
        # What stands between certificates in other signs than ASCII means nothing. Where nothing is left, no others
        # are trusted in their place.
        text = authorities.decode("ascii", "ignore") or " "
        context = ssl.create_default_context(cadata=text if files.authorities else None)
    except (OSError, ValueError) as problem:
        raise _unusable("--admin-ca-path", files.authorities, problem, "certificates of authorities") from None
    if not files.certificate and not files.key:
        return context
    if not files.certificate:
        raise CannotAsk(
            "EB-ADMIN-023: --admin-key-path is given alone; give the certificate with --admin-certificate-path"
        )
    try:
        context.load_cert_chain(files.certificate, files.key or None)
    except (OSError, ValueError) as problem:
        wanted = "a certificate, and its key in the same file or in that of --admin-key-path"
        raise _unusable("--admin-certificate-path", files.certificate, problem, wanted) from None
    return context


def _read(option: str, path: str) -> bytes:
    try:
        return read_bytes(path, TLS_FILE_BYTES_MAX)
    except FileUnreadable as problem:
        raise CannotAsk(f"EB-ADMIN-023: the file of {option} can't be used: {problem}; name a PEM file") from None


def tls_fault(admin: str, problem: BaseException) -> str:
    """Why no TLS came about with the bridge, by what was raised; empty where TLS has nothing to do with it."""
    cause: BaseException | None = problem
    while cause is not None and not isinstance(cause, ssl.SSLError):
        # urllib keeps it in `reason`, httpx in what it was raised from.
        inner: object = getattr(cause, "reason", None)
        cause = inner if isinstance(inner, BaseException) else cause.__cause__ or cause.__context__
    if cause is None:
        return ""
    if isinstance(cause, ssl.SSLCertVerificationError):
        return (
            f"EB-ADMIN-024: the certificate of {admin} is not accepted: {cause.verify_message}; give the authority "
            "that signed it with --admin-ca-path, and ask by a host that it names"
        )
    reason = cause.reason or ""
    if reason in _PLAIN:
        return f"EB-ADMIN-024: {admin} speaks no TLS; ask it as http://HOST:PORT, or set admin.tls in the bridge"
    if "CERTIFICATE" in reason or "UNKNOWN_CA" in reason or "HANDSHAKE_FAILURE" in reason:
        return (
            f"EB-ADMIN-024: {admin} takes no one without a certificate, or not the one that was shown "
            f"({reason.lower().replace('_', ' ')}); give one of an authority of admin.tls.trust.path with "
            "--admin-certificate-path"
        )
    return f"EB-ADMIN-024: no TLS came about with {admin} ({reason or cause}); see admin.tls.version.min of the bridge"


_PLAIN = frozenset({"WRONG_VERSION_NUMBER", "RECORD_LAYER_FAILURE", "PACKET_LENGTH_TOO_LONG", "HTTP_REQUEST"})
"""What bytes without TLS look like to OpenSSL, by its release."""


def _unusable(option: str, path: str, problem: Exception, wanted: str) -> CannotAsk:
    why = problem.reason if isinstance(problem, ssl.SSLError) else getattr(problem, "strerror", None)
    return CannotAsk(
        f"EB-ADMIN-023: {path} of {option} can't be used ({why or problem}); name a PEM file with {wanted}"
    )


def bring_token(path: str) -> None:
    """Ask with the token of a file from now on, in this command; raises CannotAsk where it can't be read."""
    why, token = "", ""
    try:
        token = read_secret(path).strip() if path else ""
    except FileUnreadable as problem:
        why = str(problem)
    # What can't be in a header would be quoted by who refuses it: a key, where the wrong file was named.
    if not token.isascii() or not token.isprintable() or " " in token:
        why = f"{path} holds something else than one word of ASCII"
    if why:
        raise CannotAsk(
            f"EB-ADMIN-019: the token for the admin API can't be read: {why}; name the file that admin.token.path or "
            "admin.token.read.path of the bridge names, or a copy, with --admin-token-path"
        )
    TOKEN.set(token)


def _bring_token(_context: click.Context, _parameter: click.Parameter, path: str) -> None:
    try:
        bring_token(path)
    except CannotAsk as problem:
        raise click.ClickException(str(problem)) from None


def address_option(words: str) -> Option:
    """The address of the bridge's admin API; `words` say what it is asked for."""
    return click.option(
        "--admin", metavar="URL", default=ADMIN_DEFAULT, show_default=True, envvar="EPOCHBRIDGE_ADMIN", help=words
    )


def _bring_file(name: str) -> Callable[[click.Context, click.Parameter, str], None]:
    def bring(_context: click.Context, _parameter: click.Parameter, path: str) -> None:
        TLS_FILES.set(replace(TLS_FILES.get(), **{name: path}))

    return bring


def _tls_option(name: str, place: tuple[str, str], words: str, *, is_brought: bool) -> Option:
    option, variable = place
    return click.option(
        option,
        metavar="FILE",
        default="",
        expose_value=not is_brought,
        callback=_bring_file(name) if is_brought else None,
        envvar=variable,
        help=words,
    )


TLS_OPTIONS = (
    (
        "authorities",
        ("--admin-ca-path", "EPOCHBRIDGE_ADMIN_CA_FILE"),
        "PEM file of the authorities that its certificate is judged by, instead of the system's; asks in TLS.",
    ),
    (
        "certificate",
        ("--admin-certificate-path", "EPOCHBRIDGE_ADMIN_CERTIFICATE_FILE"),
        "PEM file of a certificate to show it, with its key; asks in TLS.",
    ),
    ("key", ("--admin-key-path", "EPOCHBRIDGE_ADMIN_KEY_FILE"), "PEM file of that key, where it is in another file."),
)


def access_options(*, is_brought: bool = True) -> Option:
    """The files of the token and of TLS; they are brought before the command runs, or their paths are given to it."""

    def add(command: Callable[Given, Outcome]) -> Callable[Given, Outcome]:
        for name, place, words in reversed(TLS_OPTIONS):
            command = _tls_option(name, place, words, is_brought=is_brought)(command)
        return click.option(
            "--admin-token-path",
            metavar="FILE",
            default="",
            expose_value=not is_brought,
            callback=_bring_token if is_brought else None,
            envvar="EPOCHBRIDGE_ADMIN_TOKEN_FILE",
            help="File that holds the token for it, where it is asked from elsewhere.",
        )(command)

    return add


def admin_option(command: Callable[Given, Outcome]) -> Callable[Given, Outcome]:
    """Which bridge is asked, with which token, and how in TLS."""
    return address_option("Admin API of the bridge, as URL or HOST:PORT.")(access_options()(command))
