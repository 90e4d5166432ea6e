"""What is remembered of a group and its members between one observation and the next."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from itertools import groupby, islice
from typing import ClassVar, assert_never

from bridge.telemetry.following.joins import NO_PARTITIONS, Inputs, Joins, Partitions
from bridge.telemetry.schema.facts import UNKNOWN_EPOCH, Event, unguarded
from bridge.telemetry.schema.terms import Departure, Phase, Protocol, Road
from translators.dialects.ids import GroupId, InstanceId, MemberId, TopicPartition

NONE_UNUSED: tuple[int, Partitions] = (UNKNOWN_EPOCH, NO_PARTITIONS)


@unguarded()
class Heard:
    """A member for which this connection spoke last; None: nobody has spoken for it yet."""

    connection: int | None = None
    since_us: ClassVar[None] = None


@unguarded()
class Silent:
    """The connection that spoke for it is gone; it may come back over another one."""

    connection: int
    since_us: int


@unguarded()
class Away:
    """A static member that said it will be back."""

    connection: ClassVar[None] = None
    since_us: int


@unguarded()
class Leaving:
    """Its client has left or was told that it is out, and the engine still has it.

    `since_us` is None when it was heard again meanwhile, over this connection.
    """

    departure: Departure
    since_us: int | None
    connection: int | None


Presence = Heard | Silent | Away | Leaving
"""Each says since when the member can't have used anything, and over which connection it spoke last."""


@unguarded()
class InPhase:
    """What a member is doing, as part of which rebalance, and whom it waits for in it."""

    phase: Phase
    rebalance_id: str
    waits_on: tuple[str, ...] = ()


@dataclass(slots=True, kw_only=True)
class MemberTrack:
    """One member: where it stands, what it has, what it was told to give up, and what it has not fetched yet.

    Its methods alone write it (`tests/architecture/test_tracks.py`). `reached` is the epoch or generation that it is at
    rest in, `holders` are members that have part of its target, `due` is what its coordinator has for it, None where
    nobody tells. `former` is what it had when it joined last, by whatever id: its fetch sessions may still name that.
    `fetch_rebalance` is the rebalance that gave it what it has not fetched, but for what another one dealt since
    (`dealt_later`). `unused` is what it gave up last, and in which generation, if it had used nothing since it was
    given it. `left_out` is what its JoinGroup did not name though nobody had told it to give that up: it never took it
    up, and may get it again. `parting_words` is why it says that it leaves, `is_removed` that somebody else wants it
    to. `interval_ms` is how often it is to send heartbeats, 0 where nobody told.
    """

    member_id: MemberId
    protocol: Protocol
    instance_id: InstanceId | None = None
    inputs: Inputs = field(default_factory=Inputs)
    joined_by_id: bool = False
    presence: Presence = Heard()
    activity: InPhase | None = None

    member_epoch: int = UNKNOWN_EPOCH
    generation: int = UNKNOWN_EPOCH
    reached: int = UNKNOWN_EPOCH

    assigned: Partitions = NO_PARTITIONS
    due: Partitions | None = None
    told: Partitions = NO_PARTITIONS
    former: Partitions = NO_PARTITIONS
    unfetched: Partitions = NO_PARTITIONS
    unused: tuple[int, Partitions] = NONE_UNUSED
    left_out: Partitions = NO_PARTITIONS
    fetch_rebalance: str = ""
    dealt_later: dict[TopicPartition, str] = field(default_factory=dict)
    owes_commit: bool = False
    holders: tuple[str, ...] = ()
    parting_words: str = ""
    is_removed: bool = False
    interval_ms: int = 0
    since_us: int = 0
    _written: tuple[Partitions, tuple[str, ...]] = (NO_PARTITIONS, ())

    # ------------------------------------------------------------------ what is read of it

    @property
    def phase(self) -> Phase | None:
        """What it is doing, None for nothing that is known."""
        return None if self.activity is None else self.activity.phase

    @property
    def connection(self) -> int | None:
        """The connection that spoke for it last."""
        return self.presence.connection

    @property
    def unheard_since_us(self) -> int | None:
        """Since when it can't have used anything, None while it is there."""
        return self.presence.since_us

    @property
    def departure(self) -> Departure | None:
        """Why its client is out though the engine still has it."""
        return self.presence.departure if isinstance(self.presence, Leaving) else None

    @property
    def is_eager(self) -> bool:
        """Whether it gives up everything before it joins: the only protocol that doesn't is the cooperative one."""
        return self.protocol is Protocol.CLASSIC and not all("cooperative" in name for name in self.inputs.assignors)

    @property
    def is_at_rest(self) -> bool:
        """Whether it has nothing to do for the rebalance under way."""
        activity = self.activity
        is_stable = activity is not None and activity.phase is Phase.STABLE
        return is_stable and (self.due is None or self.due == self.assigned)

    @property
    def is_calm(self) -> bool:
        """Whether it was told nothing that it has not done yet."""
        return self.phase is Phase.STABLE and not self.told

    @property
    def has_used_nothing(self) -> bool:
        """Whether it has neither fetched nor committed anything since it was given something."""
        return self.owes_commit and self.assigned <= self.unfetched

    def is_unaware_of(self, partitions: Partitions) -> bool:
        """Whether its application may not have heard that it has these: nobody told it to give anything up, and since
        it was given something it has committed nothing, and fetched from none of these. It goes on with the others.
        """
        return not self.told and self.owes_commit and partitions <= self.unfetched

    def gets_again(self, partitions: Partitions) -> bool:
        """Whether it gave all of these up in the generation that it is in, and had not used anything by then."""
        generation, unused = self.unused
        return generation == self.generation != UNKNOWN_EPOCH and partitions <= unused

    def write(self, partitions: Partitions) -> tuple[str, ...]:
        """Partitions as `written`; the same are told, released, assigned and fetched one after the other."""
        if self._written[0] != partitions:
            self._written = partitions, written(partitions)
        return self._written[1]

    def dealt_by(self, partitions: Partitions) -> Mapping[str, Partitions]:
        """Partitions that it has not fetched yet, by the rebalance that gave them to it."""
        dealt: dict[str, set[TopicPartition]] = {}
        for partition in sorted(partitions):
            dealt.setdefault(self.dealt_later.get(partition, self.fetch_rebalance), set()).add(partition)
        return {rebalance_id: frozenset(share) for rebalance_id, share in dealt.items()}

    # ------------------------------------------------------------------ whether it is there

    def be_heard(self, connection: int) -> None:
        """A connection spoke for it; who is leaving goes on leaving."""
        match self.presence:
            case Leaving(departure):
                self.presence = Leaving(departure, None, connection)
            case Heard() | Silent() | Away():
                self.presence = Heard(connection)
            case _:
                assert_never(self.presence)

    def fall_silent(self, connection: int, at_us: int) -> bool:
        """A connection is gone; says whether the member is silent by that."""
        match self.presence:
            case Heard(known) | Silent(known) if known == connection:
                self.presence = Silent(connection, at_us)
                return True
            case Heard() | Silent() | Away() | Leaving():
                return False
            case _:
                assert_never(self.presence)

    def go_away(self, at_us: int) -> None:
        """It said that it will be back."""
        self.presence = Away(at_us)

    def begin_leaving(self, departure: Departure, at_us: int) -> None:
        """Its client is out; the engine drops its member when it can."""
        self.presence = Leaving(departure, at_us, self.connection)

    def note_farewell(self, words: str, *, is_removed: bool) -> None:
        """Somebody asks for its end, for this reason."""
        self.parting_words, self.is_removed = words, is_removed

    def be_told_interval(self, interval_ms: int) -> None:
        """Its coordinator says how often it is to send heartbeats."""
        self.interval_ms = interval_ms

    # ------------------------------------------------------------------ what it says and does

    def be_there(self, at_us: int) -> None:
        """It joins, or is met."""
        self.since_us = at_us

    def learn(self, inputs: Inputs) -> None:
        """It says anew who and what it is."""
        self.inputs = inputs

    def inherit(self, partitions: Partitions) -> None:
        """Its client was another member before, which had these: its fetch sessions may still name them."""
        self.former |= partitions

    def rejoin(self) -> None:
        """It joins again: who was leaving is not any more. Who has nothing keeps the fetch session that it had."""
        self.former = self.assigned or self.former
        self.presence = Heard(self.connection) if isinstance(self.presence, Leaving) else self.presence

    def speak(self, protocol: Protocol) -> None:
        """Its client speaks this from now on."""
        self.protocol = protocol

    def enter(self, phase: Phase, rebalance_id: str, holders: tuple[str, ...] = ()) -> None:
        """It enters a phase, as part of this rebalance, and waits in it for these members."""
        self.activity = InPhase(phase, rebalance_id, holders)

    def wait_on(self, holders: tuple[str, ...]) -> None:
        """It waits for these members in its phase."""
        if self.activity is not None and self.activity.waits_on != holders:
            self.activity = InPhase(self.activity.phase, self.activity.rebalance_id, holders)

    def leave_phase(self) -> None:
        """It does nothing that is known."""
        self.activity = None

    # ------------------------------------------------------------------ where it stands

    def enter_generation(self, generation: int) -> None:
        """It was told a generation."""
        self.generation = generation

    def enter_epoch(self, epoch: int) -> None:
        """It was told a member epoch."""
        self.member_epoch = epoch

    def reach(self, epoch: int) -> None:
        """It is at rest in this epoch or generation."""
        self.reached = epoch

    def be_due(self, partitions: Partitions | None) -> None:
        """Its coordinator has these for it; None: nobody tells."""
        self.due = partitions

    def await_holders(self, holders: tuple[str, ...]) -> None:
        """These members have part of its target."""
        self.holders = holders

    # ------------------------------------------------------------------ its partitions

    def take_demand(self, partitions: Partitions) -> None:
        """It was told to give these up."""
        self.told |= partitions

    def release(self, partitions: Partitions) -> None:
        """It uses these no more."""
        self.unused = (self.generation, partitions) if self.has_used_nothing else NONE_UNUSED
        self.assigned -= partitions
        self.told -= partitions

    def leave_out(self, partitions: Partitions) -> None:
        """Its JoinGroup names these no more, and it does not know that it has them."""
        self.left_out = partitions

    def gain(self, partitions: Partitions) -> None:
        """It was given these."""
        self.assigned |= partitions
        self.told -= partitions
        self.owes_commit = True

    def begin_fetching(self, rebalance_id: str) -> None:
        """What it is to fetch for the first time it was given by this rebalance."""
        self.fetch_rebalance = rebalance_id

    def await_fetch(self, partitions: Partitions, rebalance_id: str) -> None:
        """It is to fetch these for the first time, which this rebalance gave it."""
        self.unfetched |= partitions
        if rebalance_id != self.fetch_rebalance:
            self.dealt_later.update(dict.fromkeys(partitions, rebalance_id))

    def end_fetch(self, partitions: Partitions) -> None:
        """These are not waited for any more."""
        self.unfetched -= partitions
        if self.dealt_later:
            self.dealt_later = {one: dealt for one, dealt in self.dealt_later.items() if one in self.unfetched}

    def commit(self) -> None:
        """It committed for the first time since it was given something."""
        self.owes_commit = False


@dataclass(slots=True, kw_only=True)
class RebalanceTrack:
    """A rebalance under way; `touched_us` is when something was done for it last; `is_joined` once its generation was
    handed out; `events` up to a limit.

    `around` are the events that concern no group and were kept when it began: many more may come before it ends.
    """

    rebalance_id: str
    touched_us: int
    is_joined: bool = False
    around: tuple[Event, ...] = ()
    events: list[Event] = field(default_factory=list)


@dataclass(slots=True, kw_only=True)
class GroupTrack:
    """One group: its members, the rebalance under way, and those it waits for no more.

    `is_led` says that the engine tells of its epochs, so that requests and answers need not be read for them. `away`
    are static members that may be back, with what is kept for them, `last_holders` who had a partition last where the
    engine does not tell, `joins` those that came and are not answered yet, by request. `departed` are
    the last that are gone: a sentence about them says who they were. `is_moved` until a generation of a new
    coordinator was handed out; `unwritten` are members that it can't know: Kafka writes a classic generation down when
    its shares have come, and the former coordinator went before that. `is_resumed`: it passes, and the run before ended
    in the middle of a rebalance; then `issued` are the ids that newcomers were given to join with (KIP-394), and all
    others were there before. `is_on_the_move` while an operator moves
    it. `brought` is what a leader's SyncGroup assigned, as bytes and read, to those whose own
    SyncGroup is not answered yet.
    """

    group_id: GroupId
    road: Road
    group_type: Protocol | None = None
    is_led: bool = False
    epoch: int = UNKNOWN_EPOCH
    members: dict[MemberId, MemberTrack] = field(default_factory=dict)
    seats: dict[InstanceId, MemberId] = field(default_factory=dict)
    joins: Joins = field(default_factory=Joins)
    asking: int = 0
    """Requests of all kinds that are not answered yet, which go on with this very object."""
    settled: set[MemberId] = field(default_factory=set)
    rebalance: RebalanceTrack | None = None
    last_rebalance_id: str = ""
    natives: set[MemberId] = field(default_factory=set)
    """Members of a consumer group, by whatever their clients speak: their epochs tell of rebalances."""
    is_on_the_move: bool = False
    leader: str = ""
    assignor: str = ""
    broker_id: int | None = None
    is_moved: bool = False
    unwritten: frozenset[MemberId] = frozenset()
    is_resumed: bool = False
    issued: set[MemberId] = field(default_factory=set)
    last_holders: dict[TopicPartition, MemberId] = field(default_factory=dict)
    before: list[Event] = field(default_factory=list)
    brought: dict[MemberId, tuple[bytes, Partitions | None]] = field(default_factory=dict)
    away: dict[MemberId, MemberTrack] = field(default_factory=dict)
    departed: dict[MemberId, MemberTrack] = field(default_factory=dict)

    def move(self) -> None:
        """Another broker coordinates it from now on, and knows of it what was written down."""
        self.is_moved = True
        written_last = max((member.reached for member in self.members.values()), default=UNKNOWN_EPOCH)
        self.unwritten = frozenset(
            member.member_id
            for member in self.members.values()
            if member.reached == UNKNOWN_EPOCH and member.generation > written_last
        )

    def begin_move(self) -> None:
        """An operator moves it."""
        self.is_on_the_move = True

    def settle(self, road: Road, epochs: Mapping[MemberId, int]) -> None:
        """A move has ended: this is its road, and these are members of the broker's consumer group in the place of
        their classic clients.

        The epoch that they were taken over with is no rebalance, and a group that is classic again counts generations.
        """
        self.road, self.is_on_the_move = road, False
        is_given_back = {one.member_id for one in self.members.values() if one.protocol is Protocol.CLASSIC}
        self.natives -= is_given_back - epochs.keys()
        self.natives |= epochs.keys() & self.members.keys()
        self.epoch = max((self.epoch, *epochs.values()))
        for member_id in self.members.keys() - epochs.keys():
            # What a broker had for it as a member of a consumer group is not to come any more.
            self.members[member_id].be_due(None)
        for member_id in epochs.keys() & self.members.keys():
            self.members[member_id].enter_epoch(epochs[member_id])
            self.members[member_id].reach(epochs[member_id])

    def ends_session(self, member: MemberTrack) -> bool:
        """Whether the bridge itself counts the session of a member's client: of its own groups, and of classic clients
        that are members of a broker's consumer group in its words.
        """
        is_translated = member.protocol is Protocol.CLASSIC and member.member_id in self.natives
        return self.road is Road.EMBEDDED or (self.road is Road.UPSTREAM and is_translated)

    @property
    def rebalance_id(self) -> str:
        """The rebalance under way, "" for none.

        Where members of the consumer protocol pass, nobody tells whether all have what they are to have: what still
        happens after the end belongs to the last one.
        """
        if self.rebalance is None:
            return self.last_rebalance_id if self.natives and not self.is_led else ""
        return self.rebalance.rebalance_id


TOPIC_CHARS_MAX = 249
"""Kafka's `Topic.MAX_NAME_LENGTH`."""
WRITTEN_MAX, WRITTEN_CHARS_MAX = 100_000, 4_194_304
"""So many partitions are written, of so many characters together: more than any member has."""


def written(partitions: Collection[tuple[str, int]]) -> tuple[str, ...]:
    """Partitions in order, as topic-index; those of topics that there can't be are left out.

    A request of a megabyte may claim 240,000 partitions of a topic whose name has 30 kB, assign or commit them: one by
    one they were 7 GB, and ended the process.
    """
    told, room = list[str](), WRITTEN_CHARS_MAX
    few = partitions if len(partitions) <= WRITTEN_MAX else islice(partitions, WRITTEN_MAX)
    for topic, group in groupby(sorted(few), key=_topic_of):
        if len(topic) <= TOPIC_CHARS_MAX:
            names = [f"{topic}-{partition}" for _, partition in islice(group, room // (len(topic) + 2))]
            room -= len(names) * (len(topic) + 2)
            told += names
    return tuple(told)


def _topic_of(partition: tuple[str, int]) -> str:
    return partition[0]
