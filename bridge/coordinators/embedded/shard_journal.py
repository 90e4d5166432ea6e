"""What of a shard goes into the journal, and how entries become a shard again: `durability.Recorded` of the engine."""

import logging
from collections.abc import Iterable, Iterator
from contextlib import suppress

from bridge.coordinators.catalog import Catalog
from bridge.coordinators.durability import Entry
from bridge.engine import records_codec
from bridge.engine.apply import apply
from bridge.engine.commands import Speaks
from bridge.engine.convert.upgrade import to_ids
from bridge.engine.records import CommitBegun, Record
from bridge.engine.recovery import condense as condense_shard
from bridge.engine.recovery import resume
from bridge.engine.settings import EngineSettings, unknown_in
from bridge.engine.state import NO_PARTITIONS, ClassicGroup, Flight, Partitions, Shard, empty
from bridge.log_lines import of_embedded
from translators.dialects.consumer_protocol import CONSUMER, MalformedBlob, decode_assignment
from translators.dialects.errors import quote
from translators.dialects.ids import ClientIdentity, MemberRef, TopicPartition

LOG = logging.getLogger("epochbridge.coordinators")
ENGINE = b"E"
"""The first byte of an entry that is a record of the engine."""


class ShardJournal:
    """The durable records of a shard; those applied since the last look are kept from `begin` on."""

    kind = ENGINE

    def __init__(self, shard: Shard, catalog: Catalog) -> None:
        self._shard = shard
        self._catalog = catalog
        self._entries: list[Entry] = []
        self._is_writing = False
        self._flights: dict[int, Flight] = {}

    def begin(self) -> None:
        """Keep records from now on; the journal holds the shard as it is."""
        self._is_writing = True
        self._entries = []

    def note(self, records: Iterable[Record]) -> None:
        """These records were applied."""
        if self._is_writing:
            self._entries += [_entry(record) for record in records if record.durable]

    def take(self) -> list[Entry]:
        """What was noted since the last call."""
        entries, self._entries = self._entries, []
        return entries

    def all(self) -> Iterator[Entry]:
        """The fewest records that leave the same shard."""
        return map(_entry, condense_shard(self._shard))

    def apply(self, data: bytes) -> None:
        """Let an entry count, without its first byte; raises `plain.UnreadableRecord`."""
        apply(self._shard, records_codec.decode(data))

    def empty(self) -> None:
        """Forget everything but the settings."""
        empty(self._shard)

    def forget(self) -> None:
        """The same, but commits that are on their way stay so in what is read next."""
        self._flights = dict(self._shard.flights)
        empty(self._shard)

    def resume(self, now_ms: int) -> None:
        """Go on with what was read: members with full sessions and nothing parked (K7.30 to K7.32).

        The topics that the journal knows are the cluster's until it is looked at.
        """
        for commit_id, flight in sorted(self._flights.items()):
            apply(self._shard, CommitBegun(commit_id, flight.group_id, flight.partitions))
        self._flights = {}
        self.note(resume(self._shard, now_ms))
        self._catalog.begin_with(self._shard.topics.values())
        _warn_of_unknown_settings(self._shard)

    def client_of(self, member: MemberRef) -> ClientIdentity | None:
        """Who speaks for a member of a consumer group, None for nobody."""
        group = self._shard.groups.get(member.group_id)
        found = None if group is None else group.members.get(member.member_id)
        return None if found is None else found.subscription.identity

    def translated(self) -> Iterator[MemberRef]:
        """Every member that has to have a machine."""
        for group_id, group in self._shard.groups.items():
            for member_id, member in group.members.items():
                if member.subscription.speaks is Speaks.CLASSIC and member.current.epoch >= 0:
                    yield MemberRef(group_id, member_id)


def blank_journal() -> ShardJournal:
    """That of a shard with nothing in it, to read entries into."""
    return ShardJournal(Shard(settings=EngineSettings(), assignors={}), Catalog())


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


def _warn_of_unknown_settings(shard: Shard) -> None:
    unknown = {group_id: names for group_id, own in shard.configs.items() if (names := unknown_in(own))}
    if unknown:
        group_id = min(unknown)
        LOG.warning(
            "EB-GROUP-025: %d groups have settings of their own that this release does not know, or with values that it"
            " does not, among them %r its %s: they do not count, the rule's do; another release set them: start that"
            " again, or take them away with kafka-configs --delete-config",
            len(unknown),
            quote(group_id),
            quote(unknown[group_id][0]),
            extra=of_embedded(group_id),
        )


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


def _entry(record: Record) -> Entry:
    return Entry(ENGINE, records_codec.TABLE.encode, record)
