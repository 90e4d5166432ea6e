"""What of a turn goes into the journal, in which form, and how a journal becomes an owner's state again."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import NamedTuple, Protocol

from bridge.coordinators.machines import NOBODY, Machines
from bridge.ports import TellsGroups
from translators.classic_member import member_records
from translators.classic_member.member_records import DurableMember, DurableMembers, durable_part
from translators.classic_member.member_records import resume as resume_member
from translators.dialects.ids import NOWHERE, ClientIdentity, GroupId, MemberRef
from translators.dialects.plain import TEXT, Row, Table, UnreadableRecord, structure

# ---------------------------------------------------------------------------------- journal entries
# Entries for the journal that are encoded when somebody reads them: a big turn's by the thread that writes them.

AT_ONCE_MAX = 500
"""Encoding more than this keeps everybody waiting for longer than a thread costs: thousands of members converted."""


class Entry(NamedTuple):
    """A value that never changes, and how it becomes the bytes of its entry behind the first one, its `kind`."""

    kind: bytes
    encode: Callable[[object], bytes]
    value: object


class Entries(Collection[bytes], TellsGroups):
    """The entries of these values, made anew at each reading; any thread may read."""

    def __init__(self, entries: Iterable[Entry]) -> None:
        self._entries = tuple(entries)

    @property
    def groups(self) -> frozenset[GroupId]:
        """Which groups they concern."""
        return _groups_of(self._entries)

    def __len__(self) -> int:
        """How many entries there are."""
        return len(self._entries)

    def __iter__(self) -> Iterator[bytes]:
        """The entries in their order."""
        return (kind + encode(value) for kind, encode, value in self._entries)

    def __contains__(self, entry: object) -> bool:
        """Whether this entry is among them; encodes all before it."""
        return any(one == entry for one in self)


class EncodedEntries(Collection[bytes], TellsGroups):
    """Entries that are encoded already, and which groups they concern."""

    def __init__(self, entries: Sequence[Entry]) -> None:
        self._groups = _groups_of(entries)
        self._entries = tuple([kind + encode(value) for kind, encode, value in entries])

    @property
    def groups(self) -> frozenset[GroupId]:
        """Which groups they concern."""
        return self._groups

    def __len__(self) -> int:
        """How many entries there are."""
        return len(self._entries)

    def __iter__(self) -> Iterator[bytes]:
        """The entries in their order."""
        return iter(self._entries)

    def __contains__(self, entry: object) -> bool:
        """Whether this entry is among them."""
        return entry in self._entries


class EntryBlocks(Collection[bytes], TellsGroups):
    """Several collections of entries, one behind the other, not read before they are wanted."""

    def __init__(self, blocks: Iterable[Collection[bytes]]) -> None:
        self._blocks = tuple(blocks)

    @property
    def groups(self) -> frozenset[GroupId]:
        """Which groups they concern, as far as they tell."""
        return frozenset[GroupId]().union(*(block.groups for block in self._blocks if isinstance(block, TellsGroups)))

    def __len__(self) -> int:
        """How many entries there are in all of them."""
        return sum(map(len, self._blocks))

    def __iter__(self) -> Iterator[bytes]:
        """The entries in their order."""
        return chain.from_iterable(self._blocks)

    def __contains__(self, entry: object) -> bool:
        """Whether this entry is in any of them."""
        return any(entry in block for block in self._blocks)


def encode_entries(entries: list[Entry]) -> Collection[bytes]:
    """The entries of a turn: encoded now, or when they are read if they are many."""
    if not entries:
        return ()
    return Entries(entries) if len(entries) > AT_ONCE_MAX else EncodedEntries(entries)


def _groups_of(entries: Iterable[Entry]) -> frozenset[GroupId]:
    named: set[object] = {getattr(entry.value, "group_id", None) for entry in entries}
    return frozenset(GroupId(group_id) for group_id in named if isinstance(group_id, str))


# --------------------------------------------------------------------------------------- durability
# What of a turn goes into the journal, and what becomes of it at a start.

FORGOTTEN = ""
"""The text of a fact that does not hold any more."""


@dataclass(frozen=True, slots=True)
class BridgeFact:
    """Something about the bridge that has to survive a restart: which versions its brokers spoke, who it is."""

    name: str
    text: str


_FACTS = Table((Row(tag="fact", record=BridgeFact, form=structure(BridgeFact, name=TEXT, text=TEXT)),))


def encode_fact(fact: BridgeFact) -> bytes:
    """A fact as bytes."""
    return _FACTS.encode(fact)


def decode_fact(data: bytes) -> BridgeFact:
    """The fact that was encoded, by this release or an older one; raises `plain.UnreadableRecord`."""
    fact = _FACTS.decode(data)
    assert isinstance(fact, BridgeFact), "its table has no other"
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


MEMBER, FACT, ANEW = b"M", b"F", b"A"
"""The first byte of an entry: a part of a classic member, a fact about the bridge, or "what was before is void"; an
entry with the `kind` of a coordinator is its own.
"""


class Recorded(Protocol):
    """The part of a coordinator that survives a restart, as entries of the journal."""

    @property
    def kind(self) -> bytes:
        """The first byte of its entries."""
        ...

    def begin(self) -> None:
        """Keep what is to be written from now on; the journal holds everything as it is."""
        ...

    def take(self) -> list[Entry]:
        """What has to be written since the last call."""
        ...

    def all(self) -> Iterable[Entry]:
        """The fewest entries from which the same state is read."""
        ...

    def apply(self, data: bytes) -> None:
        """Let an entry count, without its first byte; raises `plain.UnreadableRecord`."""
        ...

    def empty(self) -> None:
        """Forget everything."""
        ...

    def forget(self) -> None:
        """Forget everything but what is under way, which is to be in what is read next."""
        ...

    def resume(self, now_ms: int) -> None:
        """Everything was read: go on with it."""
        ...

    def client_of(self, member: MemberRef) -> ClientIdentity | None:
        """Who speaks for a member, None for nobody."""
        ...

    def translated(self) -> Iterator[MemberRef]:
        """Every member that has to have a machine."""
        ...


@dataclass(frozen=True, slots=True)
class Unrecorded:
    """The part of a coordinator of which nothing survives (`Recorded`): what it knows, somebody else keeps."""

    kind: bytes

    def begin(self) -> None:
        """See `Recorded`."""

    def take(self) -> list[Entry]:
        """See `Recorded`."""
        return []

    def all(self) -> Iterable[Entry]:
        """See `Recorded`."""
        return ()

    def apply(self, data: bytes) -> None:
        """See `Recorded`: there are none to be read."""

    def empty(self) -> None:
        """See `Recorded`."""

    def forget(self) -> None:
        """See `Recorded`."""

    def resume(self, now_ms: int) -> None:
        """See `Recorded`."""

    def client_of(self, member: MemberRef) -> ClientIdentity | None:
        """See `Recorded`: whoever is heard next on its behalf, by that connection."""
        return NOBODY

    def translated(self) -> Iterator[MemberRef]:
        """See `Recorded`."""
        return iter(())


class JournalWriter:
    """Collects what has changed durably since it was asked last; silent until `begin`."""

    def __init__(self, recorded: Recorded, machines: Machines) -> None:
        self._recorded = recorded
        self._machines = machines
        self._entries: list[Entry] = []
        self._written: dict[MemberRef, DurableMember] = {}
        self._facts = FactBook()
        self._is_writing = False
        self._is_torn = False

    def begin(self, written: dict[MemberRef, DurableMember], told: FactBook) -> None:
        """Write from now on; the journal holds the coordinator's part as it is, these members and these facts.

        The first journal is believed all that it tells. Later it has lost what could not be written: facts are no
        part of any turn, so those that hold are written again.
        """
        self._machines.watch()
        self._recorded.begin()
        self._written = written
        if not self._is_writing:
            for fact in told.facts():
                if self._facts.get(fact.name) is None:
                    self._facts.take(fact)
        self._entries = [_fact_entry(fact) for fact in self._facts.since(told)]
        self._is_writing, self._is_torn = True, False

    def fact(self, name: str) -> str | None:
        """What is kept of the bridge under this name."""
        return self._facts.get(name)

    def facts(self, start: str) -> Mapping[str, str]:
        """Every fact whose name begins like this, by its name."""
        return {fact.name: fact.text for fact in self._facts.facts() if fact.name.startswith(start)}

    def keep_fact(self, fact: BridgeFact) -> None:
        """Keep this of the bridge from now on; written only where it says something else than before."""
        if self._facts.take(fact) and self._is_writing:
            self._entries.append(_fact_entry(fact))

    def tear(self) -> None:
        """A turn failed, so that records of it may be unknown: what is true now is written in full."""
        self._is_torn = True

    def take(self) -> Collection[bytes]:
        """The entries that make the journal equal to the live state, in one append with nothing in between."""
        if not self._is_writing:
            return ()
        recorded = self._recorded.take()
        if self._is_torn:
            return self._take_all()
        changed = self._machines.take_changed()
        if not changed and not self._entries and not recorded:
            return ()
        entries, self._entries = self._entries, []
        entries += recorded
        for key in changed:
            entries += self._write_member(key)
        return encode_entries(entries)

    def _take_all(self) -> Collection[bytes]:
        self._is_torn, self._entries, self._written = False, [], {}
        self._machines.take_changed()
        entries = [Entry(ANEW, _nothing, None), *self._recorded.all()]
        entries += map(_fact_entry, self._facts.facts())
        for key in self._machines:
            entries += self._write_member(key)
        return encode_entries(entries)

    def _write_member(self, key: MemberRef) -> Iterator[Entry]:
        state = self._machines.get(key)
        after = None if state is None else durable_part(state)
        for entry in member_records.changes((key.group_id, key.member_id), self._written.get(key), after):
            yield Entry(MEMBER, member_records.TABLE.encode, entry)
        if after is None:
            self._written.pop(key, None)
        else:
            self._written[key] = after


def _fact_entry(fact: BridgeFact) -> Entry:
    return Entry(FACT, _FACTS.encode, fact)


def _nothing(_value: object) -> bytes:
    return b""


def replay(entries: Iterable[bytes], recorded: Recorded, told: FactBook | None = None) -> DurableMembers:
    """Read a journal into an empty coordinator and gather its classic members and facts; raises UnreadableRecord."""
    book = DurableMembers()
    told = FactBook() if told is None else told
    own = recorded.kind
    for entry in entries:
        kind = entry[:1]
        if kind == own:
            recorded.apply(entry[1:])
        elif kind == MEMBER:
            book.take(member_records.decode(entry[1:]))
        elif kind == FACT:
            told.take(decode_fact(entry[1:]))
        elif kind == ANEW:
            recorded.empty()
            book.clear()
            told.clear()
        else:
            raise UnreadableRecord(f"entry of {len(entry)} bytes begins with {kind!r}: a newer release wrote it")
    return book


def condense(entries: Iterable[bytes], recorded: Recorded) -> Iterator[bytes]:
    """Fewer entries from which the same state is read; `recorded` is that of an empty coordinator."""
    told = FactBook()
    book = replay(entries, recorded, told)
    for fact in told.facts():
        yield FACT + encode_fact(fact)
    for kind, encode, value in recorded.all():
        yield kind + encode(value)
    for entry in book.entries():
        yield MEMBER + member_records.encode(entry)


def revive(
    entries: Iterable[bytes], recorded: Recorded, machines: Machines, writer: JournalWriter, now_ms: int
) -> list[MemberRef]:
    """Make the owner what its journal says: members with full sessions and nothing parked (K7.30 to K7.32).

    Commits that were on their way stay so. Gives the classic members that the coordinator knows without a machine:
    their client had been handed out nothing yet and joins anew, so they have to leave.
    """
    recorded.forget()
    machines.clear()
    told = FactBook()
    book = replay(entries, recorded, told)
    members = {MemberRef(*key): former for key, former in book.members(machines.limits).items()}
    writer.begin(members, told)
    recorded.resume(now_ms)
    for key, former in members.items():
        machines.begin(key, resume_member(former, now_ms))
        client = recorded.client_of(key)
        if client is not None:
            machines.meet(key, client, NOWHERE)
    return [key for key in recorded.translated() if key not in members]
