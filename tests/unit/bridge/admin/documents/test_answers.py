"""What all pages have in common."""

import json

from bridge.admin.documents import NAME_CHARS_SHOWN, show, unknown_group


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
