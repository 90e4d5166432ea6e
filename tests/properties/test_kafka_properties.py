"""Laws of the properties files that brokers are started with."""

import re

from hypothesis import example, given
from hypothesis import strategies as st

from bridge.demo.kafka_properties import render_properties

texts = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"))
NAMED = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}


def unescape(text: str) -> str:
    """Undo java.util.Properties escapes, as its load method documents them."""

    def one(match: re.Match[str]) -> str:
        escape = match[1]
        return chr(int(escape[1:], 16)) if len(escape) == 5 else NAMED.get(escape, escape)

    units = re.sub(r"\\(u[0-9a-f]{4}|.)", one, text)
    return units.encode("utf-16-be", "surrogatepass").decode("utf-16-be")


def read_properties(text: str) -> dict[str, str]:
    """Read entries as Java does: key up to the first bare separator, blanks around it dropped."""
    entries = (re.fullmatch(r"((?:\\.|[^\\=: ])*)=(.*)", line) for line in text.splitlines())
    return {unescape(entry[1]): unescape(entry[2].lstrip(" ")) for entry in entries if entry}


@given(st.dictionaries(texts.filter(bool), texts))
@example({"a=b": " c: d ", "#": "\\u0041"})
def test_rendered_properties_read_back_unchanged(properties: dict[str, str]) -> None:
    """render then read is the identity, whatever an operator writes."""
    assert read_properties(render_properties(properties)) == properties
