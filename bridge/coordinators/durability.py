"""What of a turn goes into the journal, and how a journal becomes an owner's state again.

It must not know where entries are kept, tasks, or when answers are released.
"""

from collections.abc import Collection, Iterable, Iterator
from contextlib import suppress

from bridge.coordinators import facts
from bridge.coordinators.facts import BridgeFact, FactBook
from bridge.coordinators.machines import Machines
from bridge.coordinators.pages import Page, bind
from bridge.engine import records_codec
from bridge.engine.apply import apply
from bridge.engine.classic.group import ClassicGroup
from bridge.engine.commands import Speaks
from bridge.engine.condensing import condense as condense_shard
from bridge.engine.convert.upgrade import to_ids
from bridge.engine.emptying import empty
from bridge.engine.records import CommitBegun, DurableRecord, Record
from bridge.engine.recovery import resume
from bridge.engine.settings import EngineSettings
from bridge.engine.state import NO_PARTITIONS, Flight, Partitions, Shard
from translators.classic_member import remainder_codec
from translators.classic_member.remainder_codec import RemainderBook
from translators.classic_member.resuming import Remainder, remainder
from translators.classic_member.resuming import resume as resume_member
from translators.dialects.consumer_protocol import CONSUMER, MalformedBlob, decode_assignment
from translators.dialects.ids import MemberRef, TopicPartition
from translators.dialects.versioned import UnreadableRecord

ENGINE, MEMBER, FACT, ANEW = b"E", b"M", b"F", b"A"
"""The first byte of an entry: a record of the engine, a part of a classic member, a fact about the bridge, or "what was
before is void".
"""


class Scribe:
    """Collects what has changed durably since it was asked last; silent until `begin`."""

    def __init__(self, shard: Shard, machines: Machines) -> None:
        self._shard = shard
        self._machines = machines
        self._pages: list[Page] = []
        self._written: dict[MemberRef, Remainder] = {}
        self._facts = FactBook()
        self._is_writing = False
        self._is_torn = False

    def begin(self, written: dict[MemberRef, Remainder], told: FactBook) -> None:
        """Write from now on; the journal holds the shard as it is, these members and these facts.

        The first journal is believed all that it tells. Later it has lost what could not be written: facts are no
        part of any turn, so those that hold are written again.
        """
        self._machines.watch()
        self._written = written
        if not self._is_writing:
            for fact in told.facts():
                if self._facts.get(fact.name) is None:
                    self._facts.take(fact)
        self._pages = [_fact_page(fact) for fact in self._facts.since(told)]
        self._is_writing, self._is_torn = True, False

    def fact(self, name: str) -> str | None:
        """What is kept of the bridge under this name."""
        return self._facts.get(name)

    def keep_fact(self, fact: BridgeFact) -> None:
        """Keep this of the bridge from now on; written only where it says something else than before."""
        if self._facts.take(fact) and self._is_writing:
            self._pages.append(_fact_page(fact))

    def note(self, records: Iterable[Record]) -> None:
        """These records were applied."""
        if self._is_writing:
            self._pages += map(_record_page, filter(_is_durable, records))

    def tear(self) -> None:
        """A turn failed, so that records of it may be unknown: what is true now is written in full."""
        self._is_torn = True

    def take(self) -> Collection[bytes]:
        """The entries that make the journal equal to the live state, in one append with nothing in between."""
        if not self._is_writing:
            return ()
        if self._is_torn:
            return self._take_all()
        changed = self._machines.take_changed()
        if not changed and not self._pages:
            return ()
        pages, self._pages = self._pages, []
        for key in changed:
            pages += self._write_member(key)
        return bind(pages)

    def _take_all(self) -> Collection[bytes]:
        self._is_torn, self._pages, self._written = False, [], {}
        self._machines.take_changed()
        pages = [Page(ANEW, _nothing, None), *map(_record_page, condense_shard(self._shard))]
        pages += map(_fact_page, self._facts.facts())
        for key in self._machines:
            pages += self._write_member(key)
        return bind(pages)

    def _write_member(self, key: MemberRef) -> Iterator[Page]:
        state = self._machines.get(key)
        after = None if state is None else remainder(state)
        for entry in remainder_codec.changes((key.group_id, key.member_id), self._written.get(key), after):
            yield Page(MEMBER, remainder_codec.TABLE.encode, entry)
        if after is None:
            self._written.pop(key, None)
        else:
            self._written[key] = after


def _record_page(record: Record) -> Page:
    return Page(ENGINE, records_codec.TABLE.encode, record)


def _fact_page(fact: BridgeFact) -> Page:
    return Page(FACT, facts.TABLE.encode, fact)


def _is_durable(record: Record) -> bool:
    return isinstance(record, DurableRecord)


def _nothing(_value: object) -> bytes:
    return b""


def replay(entries: Iterable[bytes], shard: Shard, told: FactBook | None = None) -> RemainderBook:
    """Apply a journal to an empty shard and gather its classic members and facts; raises UnreadableRecord."""
    book = RemainderBook()
    told = FactBook() if told is None else told
    for entry in entries:
        match entry[:1]:
            case b"E":
                apply(shard, records_codec.decode(entry[1:]))
            case b"M":
                book.take(remainder_codec.decode(entry[1:]))
            case b"F":
                told.take(facts.decode(entry[1:]))
            case b"A":
                empty(shard)
                book.clear()
                told.clear()
            case kind:
                raise UnreadableRecord(f"entry of {len(entry)} bytes begins with {kind!r}: a newer release wrote it")
    return book


def condense(entries: Iterable[bytes]) -> Iterator[bytes]:
    """Fewer entries from which the same state is replayed."""
    shard = Shard(settings=EngineSettings(), assignors={})
    told = FactBook()
    book = replay(entries, shard, told)
    for fact in told.facts():
        yield FACT + facts.encode(fact)
    for record in condense_shard(shard):
        yield ENGINE + records_codec.encode(record)
    for entry in book.entries():
        yield MEMBER + remainder_codec.encode(entry)


def revive(entries: Iterable[bytes], shard: Shard, machines: Machines, scribe: Scribe, now_ms: int) -> list[MemberRef]:
    """Make the owner what its journal says: members with full sessions and nothing parked (K7.30 to K7.32).

    Commits that were on their way stay so. Gives the classic members that the engine knows without a machine: their
    client had been handed out nothing yet and joins anew, so they have to leave.
    """
    flights = dict(shard.flights)
    empty(shard)
    machines.clear()
    told = FactBook()
    book = replay(entries, shard, told)
    for commit_id, flight in sorted(flights.items()):
        apply(shard, CommitBegun(commit_id, flight.group_id, flight.partitions))
    members = {MemberRef(*key): former for key, former in book.remainders(machines.limits).items()}
    scribe.begin(members, told)
    scribe.note(resume(shard, now_ms))
    for key, former in members.items():
        group = shard.groups.get(key.group_id)
        member = None if group is None else group.members.get(key.member_id)
        machines.begin(key, resume_member(former, now_ms))
        if member is not None:
            machines.meet(key, member.subscription.identity)
    return [key for key in _translated(shard) if key not in members]


def hold_commits(shard: Shard) -> list[int]:
    """After a restart, treat every partition that somebody has or shall have as if a commit of it were on its way.

    Its owner goes on as before, and nobody else gets it until the commit has ended (decision 2); classic groups hand
    out nothing new until then, whatever becomes of them meanwhile. Gives the commits' ids.
    """
    begun: list[int] = []
    for group_id, group in shard.groups.items():
        partitions = frozenset(group.owners).union(*group.target.values())
        if partitions:
            begun.append(_begin_flight(shard, Flight(group_id, partitions)))
    for classic in shard.classic_groups.values():
        begun.append(_begin_flight(shard, Flight(classic.group_id, _assigned(shard, classic))))
    return begun


def _assigned(shard: Shard, group: ClassicGroup) -> Partitions:
    """What the members of a classic group were assigned, as far as anybody but they can read it."""
    if group.synced.protocol_type != CONSUMER:
        return NO_PARTITIONS
    assigned: set[TopicPartition] = set()
    for member in group.synced.members.values():
        with suppress(MalformedBlob):
            assigned |= decode_assignment(member.assignment).partitions
    return to_ids(shard, frozenset(assigned))


def _begin_flight(shard: Shard, flight: Flight) -> int:
    commit_id = shard.last_commit_id + 1
    apply(shard, CommitBegun(commit_id, flight.group_id, flight.partitions))
    return commit_id


def _translated(shard: Shard) -> Iterator[MemberRef]:
    for group_id, group in shard.groups.items():
        for member_id, member in group.members.items():
            if member.subscription.speaks is Speaks.CLASSIC and member.current.epoch >= 0:
                yield MemberRef(group_id, member_id)
