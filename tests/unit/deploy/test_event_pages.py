"""The reference names everything that the schema has."""

from bridge.telemetry.schema.fields import COLUMNS, KINDS
from deploy.event_pages import VOCABULARIES, event_pages


def test_every_kind_field_and_word_is_on_the_page() -> None:
    """Each kind has its heading, and no field is left undescribed."""
    page = event_pages()
    assert [name for name in KINDS if f"### `{name}`" not in page] == []
    assert [name for name in COLUMNS if f"| `{name}` |" not in page] == []
    assert [word for words in VOCABULARIES for word in words if f"`{word.value}`" not in page] == []


def test_kind_shows_its_own_fields_and_names_those_it_shares() -> None:
    """A reader of one kind is not made to read what all have."""
    section = event_pages().partition("### `member-left`")[2].partition("###")[0]
    assert "Has the group fields and member fields, and:" in section
    assert "| `departure` |" in section
    assert "| `member_id` |" not in section
