"""Every command that asks a running bridge takes its address and its token the same way."""

import os
import ssl
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from bridge.admin.bridge_option import (
    ADMIN_DEFAULT,
    TLS_FILES,
    TOKEN,
    CannotAsk,
    TlsFiles,
    bring_files,
    bring_token,
    tls_context,
    tls_fault,
    url_of,
)
from bridge.cli.main import cli
from tests.support.certificates import Authority


@pytest.fixture(autouse=True)
def no_token() -> Iterator[None]:
    """What one test brought is not there for the next."""
    reset, reset_files = TOKEN.set(""), TLS_FILES.set(TlsFiles())
    yield
    TOKEN.reset(reset)
    TLS_FILES.reset(reset_files)


def test_token_of_a_file_is_shown_from_then_on(tmp_path: Path) -> None:
    """Without the end of its line; without a file nothing is shown."""
    path = tmp_path / "token"
    path.write_text("a-token\n", encoding="ascii")
    bring_token(str(path))
    assert TOKEN.get() == "a-token"
    bring_token("")
    assert TOKEN.get() == ""


@pytest.mark.parametrize("content", [b"my secret", "geh\N{LATIN SMALL LETTER E WITH ACUTE}im".encode(), b"a\nsecret"])
def test_what_is_no_token_is_told_and_not_shown(tmp_path: Path, content: bytes) -> None:
    """It may be a key, where the wrong file was named."""
    path = tmp_path / "token"
    path.write_bytes(content)
    with pytest.raises(CannotAsk, match="EB-ADMIN-019") as refused:
        bring_token(str(path))
    assert "secret" not in str(refused.value)
    with pytest.raises(CannotAsk, match=r"EB-ADMIN-019.*No such file"):
        bring_token(str(tmp_path / "none"))


def commands_below(command: click.Command) -> Iterator[click.Command]:
    """The command with its subcommands, at any depth."""
    yield command
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            if (below := command.get_command(context, name)) is not None:
                yield from commands_below(below)


def test_commands_ask_the_same_bridge_with_the_same_token() -> None:
    """Address and token have one name, variable and default, whichever room the command is of.

    `serve` is told by `--admin` where to listen: it asks nobody.
    """
    asking = [
        {option.name: option for option in command.params}
        for command in commands_below(cli)
        if command.name != "serve" and any(option.name == "admin" for option in command.params)
    ]
    assert len(asking) > 10
    for options in asking:
        admin, token = options["admin"], options["admin_token_path"]
        assert (admin.opts, admin.envvar, admin.default) == (["--admin"], "EPOCHBRIDGE_ADMIN", ADMIN_DEFAULT)
        assert (token.opts, token.envvar) == (["--admin-token-path"], "EPOCHBRIDGE_ADMIN_TOKEN_FILE")
        for name in ("ca", "certificate", "key"):
            file = options[f"admin_{name}_path"]
            assert (file.opts, file.envvar) == ([f"--admin-{name}-path"], f"EPOCHBRIDGE_ADMIN_{name.upper()}_FILE")


def test_files_of_tls_choose_how_the_bridge_is_asked(tmp_path: Path) -> None:
    """A token would else go over the wire as it is."""
    assert url_of("host:1") == "http://host:1"
    assert url_of("https://host:1") == "https://host:1"
    bring_files(TlsFiles(authorities=str(Authority(tmp_path).trust)))
    assert url_of("host:1") == "https://host:1"
    assert url_of("HTTPS://host:1") == "HTTPS://host:1"
    with pytest.raises(CannotAsk, match="EB-ADMIN-022: http://host:1 is asked without TLS"):
        url_of("http://host:1")


def test_files_of_tls_that_cannot_be_used_are_named(tmp_path: Path) -> None:
    """With the option that named them."""
    authority = Authority(tmp_path)
    pair = authority.pair("me")
    bring_files(TlsFiles(str(authority.trust), str(pair)))
    assert tls_context().verify_mode is ssl.CERT_REQUIRED
    for files, said in (
        (TlsFiles(authorities=str(tmp_path / "none")), "--admin-ca-path.*none can't be read: No such file"),
        (TlsFiles(authorities=str(Path(__file__))), "test_bridge_option.py of --admin-ca-path"),
        (TlsFiles(certificate=str(authority.trust)), "--admin-certificate-path.*--admin-key-path"),
        (TlsFiles(key=str(pair)), "--admin-key-path is given alone"),
    ):
        bring_files(files)
        with pytest.raises(CannotAsk, match=f"EB-ADMIN-023: .*{said}"):
            tls_context()


def through_pipe(path: Path) -> str:
    """Where what a file holds can be read once, as behind `<(cat path)`."""
    read_end, write_end = os.pipe()
    # Less than a pipe holds.
    os.write(write_end, path.read_bytes())
    os.close(write_end)
    return f"/dev/fd/{read_end}"


def test_files_of_tls_may_be_pipes(tmp_path: Path) -> None:
    """Which give what they hold to the first who reads it."""
    authority = Authority(tmp_path)
    leaf = authority.issue("me")
    certificate, key = tmp_path / "certificate", tmp_path / "key"
    leaf.cert_chain_pems[0].write_to_path(str(certificate))
    leaf.private_key_pem.write_to_path(str(key))
    pipes = [through_pipe(path) for path in (authority.trust, certificate, key)]
    try:
        bring_files(TlsFiles(*pipes))
        assert len(tls_context().get_ca_certs()) == 1
        with pytest.raises(CannotAsk, match=r"EB-ADMIN-023: .*--admin-ca-path"):
            # They are empty now, and what the system trusts is no substitute.
            tls_context()
    finally:
        for pipe in pipes:
            os.close(int(pipe.rpartition("/")[2]))


def test_authorities_may_have_names_in_any_language_between_them(tmp_path: Path) -> None:
    """As bundles have, which tell whose each is."""
    path = Authority(tmp_path).trust
    path.write_text(
        f"# Autorit\N{LATIN SMALL LETTER E WITH ACUTE}\n{path.read_text(encoding='utf-8')}", encoding="utf-8"
    )
    bring_files(TlsFiles(str(path)))
    assert len(tls_context().get_ca_certs()) == 1


def test_faults_of_tls_are_told_apart() -> None:
    """From what was raised, however deep; what is none of TLS is for others to tell."""

    def raised(cause: Exception) -> str:
        problem = OSError("wrapped")
        problem.__cause__ = cause
        return tls_fault("host:1", problem)

    def with_reason(reason: str) -> ssl.SSLError:
        error = ssl.SSLError()
        error.reason = reason
        return error

    unknown = ssl.SSLCertVerificationError()
    unknown.verify_message = "unable to get local issuer certificate"
    assert "unable to get local issuer certificate; give the authority" in raised(unknown)
    assert "speaks no TLS; ask it as http://" in raised(with_reason("WRONG_VERSION_NUMBER"))
    assert "--admin-certificate-path" in raised(with_reason("TLSV13_ALERT_CERTIFICATE_REQUIRED"))
    assert "admin.tls.version.min" in raised(with_reason("TLSV1_ALERT_PROTOCOL_VERSION"))
    assert raised(ConnectionRefusedError()) == ""
