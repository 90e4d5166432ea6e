"""What all pages have in common."""

import json

import pytest

from bridge.admin.answers import NAME_CHARS_SHOWN, is_loopback, show, unknown_group


async def test_document_is_json_with_its_status() -> None:
    """One line, as a terminal shows it."""
    answer = await show({"alive": True}, 503)
    assert (answer.status_code, answer.media_type, bytes(answer.body)) == (503, "application/json", b'{"alive":true}\n')


async def test_unknown_group_is_named_in_short() -> None:
    """404 with the next step, however long the name is."""
    answer = await unknown_group("g" * 300)
    assert answer.status_code == 404
    document = json.loads(bytes(answer.body))
    assert document["code"] == "EB-ADMIN-004"
    assert document["error"].startswith(f"the bridge coordinates no group '{'g' * NAME_CHARS_SHOWN}…'; ")


@pytest.mark.parametrize(
    ("host", "local"),
    [
        ("127.0.0.1", True),
        ("127.8.8.8", True),
        ("::1", True),
        ("localhost", True),
        ("a.localhost", True),
        ("0.0.0.0", False),
        ("::", False),
        ("10.0.0.1", False),
        ("localhost.example", False),
        ("", False),
    ],
)
def test_loopback_is_known_by_name_and_address(host: str, *, local: bool) -> None:
    """Everything else is beyond this machine."""
    assert is_loopback(host) is local
