"""The command line of member processes. It must not know any client library."""

import pytest

from bridge.demo.events import Mode
from bridge.demo.members.process import parse_member_options

NEEDED = ("--bootstrap", "h:1", "--group", "g", "--topic", "t", "--name", "n")


@pytest.mark.parametrize(
    ("more", "mode"),
    [
        ((), Mode.EAGER),
        (("--assignor", "sticky"), Mode.EAGER),
        (("--assignor", "cooperative-sticky"), Mode.INCREMENTAL),
        (("--protocol", "consumer"), Mode.INCREMENTAL),
    ],
)
def test_mode_follows_protocol_and_assignor(more: tuple[str, ...], mode: Mode) -> None:
    """Only cooperative assignors and KIP-848 members get differences (KIP-429)."""
    assert parse_member_options((*NEEDED, *more)).mode is mode


def test_client_id_defaults_to_the_name() -> None:
    """The broker's views show the seat."""
    assert parse_member_options(NEEDED).client_id == "n"
    assert parse_member_options((*NEEDED, "--client-id", "c")).client_id == "c"


def test_unknown_protocol_is_a_usage_error(capsys: pytest.CaptureFixture[str]) -> None:
    """Exit status 2 with what is allowed."""
    with pytest.raises(SystemExit) as refused:
        parse_member_options((*NEEDED, "--protocol", "streams"))
    assert refused.value.code == 2
    assert "consumer" in capsys.readouterr().err
