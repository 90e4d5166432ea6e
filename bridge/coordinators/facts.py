"""What the journal keeps of the bridge itself, beside the groups: a text under a name, the last one counts.

It must not know what any fact means: who puts one down reads it again, after a restart too.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from translators.dialects.plain import TEXT, structure
from translators.dialects.versioned import Row, Table

FORGOTTEN = ""
"""The text of a fact that does not hold any more."""


@dataclass(frozen=True, slots=True)
class BridgeFact:
    """Something about the bridge that has to survive a restart: which versions its brokers spoke, who it is."""

    name: str
    text: str


TABLE = Table((Row(tag="fact", record=BridgeFact, form=structure(BridgeFact, name=TEXT, text=TEXT)),))


def encode(fact: BridgeFact) -> bytes:
    """A fact as bytes."""
    return TABLE.encode(fact)


def decode(data: bytes) -> BridgeFact:
    """The fact that was encoded, by this release or an older one; raises `versioned.UnreadableRecord`."""
    fact = TABLE.decode(data)
    assert isinstance(fact, BridgeFact)
    return fact


@dataclass(slots=True)
class FactBook:
    """Facts by their names, as those that came so far leave them."""

    _texts: dict[str, str] = field(default_factory=dict)

    def get(self, name: str) -> str | None:
        """The text under this name, None where there is none."""
        return self._texts.get(name)

    def take(self, fact: BridgeFact) -> bool:
        """Let one count from now on; whether that changes anything."""
        if self._texts.get(fact.name, FORGOTTEN) == fact.text:
            return False
        if fact.text == FORGOTTEN:
            del self._texts[fact.name]
        else:
            self._texts[fact.name] = fact.text
        return True

    def clear(self) -> None:
        """Forget all."""
        self._texts.clear()

    def facts(self) -> Iterator[BridgeFact]:
        """The fewest facts that leave the same book."""
        return (BridgeFact(name, text) for name, text in self._texts.items())

    def since(self, written: "FactBook") -> Iterator[BridgeFact]:
        """What has to be written so that `written` becomes this book."""
        mine: Mapping[str, str] = self._texts
        for name, text in mine.items():
            if written.get(name) != text:
                yield BridgeFact(name, text)
        yield from (BridgeFact(fact.name, FORGOTTEN) for fact in written.facts() if fact.name not in mine)
