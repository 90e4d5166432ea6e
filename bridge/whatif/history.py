"""Reads out of a group's events what came to it from outside, from the first moment at which all is known of it, also
how many partitions its topics had then and later.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from statistics import median_low

from bridge.telemetry.schema.facts import (
    Event,
    GroupConverted,
    GroupCreated,
    GroupRevived,
    MemberInputs,
    MemberJoined,
    MemberLeft,
    MemberSubscribed,
    PartitionsAssigned,
    PartitionsFetched,
    PartitionsReleased,
    PhaseBegan,
    PhaseEnded,
    RebalanceBegan,
    RebalanceExplained,
    TopicsChanged,
    TopicsSeen,
)
from bridge.telemetry.schema.terms import Departure, Phase, Protocol
from bridge.whatif.inputs import (
    Came,
    Changed,
    Client,
    FellSilent,
    History,
    Input,
    Left,
    ReactionTimes,
    Recorded,
    TopicsBecame,
    Vacated,
)
from bridge.whatif.timed_events import (
    TimedEvent,
    first_known,
    introduces,
    introductions,
    last_mentions,
    older_members,
    on_one_timeline,
)
from translators.dialects.ids import ClientIdentity, GroupId, InstanceId, MemberId, TopicName

Counts = dict[TopicName, int]


def follow_topics(moments: Sequence[TimedEvent], start: int) -> tuple[Counts, list[TopicsBecame]]:
    """Partition counts at the place `start`, and every change from there on, of topics that somebody wants.

    What changed before the place counts as there: a request waits while the bridge looks for its topics. A topic that
    is seen for the first time was there before, unless the log says that it changed; until then it has as many
    partitions as somebody was given.
    """
    walk = _Walk(_wanted(moments))
    changes: list[TopicsBecame] = []
    for place, moment in enumerate(moments):
        match moment.fact:
            case TopicsSeen() | TopicsChanged() as fact:
                new = walk.look(fact, is_early=place < start)
                if new:
                    event_id = moment.event.stamp.event_id
                    changes.append(TopicsBecame(at_us=moment.at_us, event_id=event_id, counts=new))
            case PartitionsAssigned() as fact:
                walk.guess(fact)
            case _:
                pass
    return {name: count for name, count in (walk.guessed | walk.first).items() if count}, changes


@dataclass(slots=True)
class _Walk:
    """Counts at the beginning (`first`, or `guessed` of what nobody counted), and as they are now (`known`)."""

    wanted: frozenset[TopicName] | None
    first: Counts = field(default_factory=dict)
    guessed: Counts = field(default_factory=dict)
    known: Counts = field(default_factory=dict)

    def look(self, fact: TopicsSeen | TopicsChanged, *, is_early: bool) -> Counts:
        """Take what a look at the cluster found; gives what changed after the beginning."""
        told = {name: count for name, count in _counts(fact).items() if self.wanted is None or name in self.wanted}
        new = {name: count for name, count in told.items() if self.known.get(name) != count}
        was_there = {name for name in new if is_early or (isinstance(fact, TopicsSeen) and name not in self.known)}
        self.first |= {name: new[name] for name in was_there}
        self.known |= new
        return {name: count for name, count in new.items() if name not in was_there}

    def guess(self, fact: PartitionsAssigned) -> None:
        """Take what somebody was given, of topics that nobody has counted yet."""
        for topic, partition in _assigned(fact):
            if topic not in self.known:
                self.guessed[topic] = max(self.guessed.get(topic, 0), partition + 1)


def _wanted(moments: Sequence[TimedEvent]) -> frozenset[TopicName] | None:
    """The topics that members name; None if one has a pattern, for which all may count."""
    facts = [moment.fact for moment in moments if isinstance(moment.fact, MemberInputs)]
    if any(fact.pattern for fact in facts):
        return None
    return frozenset(TopicName(name) for fact in facts for name in fact.topics)


def _counts(fact: TopicsSeen | TopicsChanged) -> Mapping[TopicName, int]:
    return {TopicName(name): count for name, count in zip(fact.topics, fact.partition_counts, strict=True)}


def _assigned(fact: PartitionsAssigned) -> Iterator[tuple[TopicName, int]]:
    for name in fact.partitions:
        topic, _, number = name.rpartition("-")
        yield TopicName(topic), int(number)


USUAL_REACTION = ReactionTimes(revoke_us=20_000, fetch_us=20_000)
"""Of a group whose record shows neither."""
Times = dict[MemberId, list[int]]


def reactions(moments: Iterable[TimedEvent]) -> tuple[ReactionTimes, Mapping[MemberId, ReactionTimes]]:
    """The median reaction of the group, and each member's own where the record has some times of it.

    To give up lasts from being told to the acknowledgement, to fetch from the assignment of a partition to the first
    Fetch that names it.
    """
    revoked, fetched = Times(), Times()
    told: dict[MemberId, int] = {}
    given: dict[tuple[MemberId, str], int] = {}
    for moment in moments:
        match moment.fact:
            case PhaseBegan(phase=Phase.REVOKING, member_id=name):
                told[MemberId(name)] = moment.at_us
            case PhaseEnded(phase=Phase.REVOKING, member_id=name) if name in told:
                revoked.setdefault(MemberId(name), []).append(moment.at_us - told.pop(MemberId(name)))
            case PartitionsAssigned(member_id=name, partitions=partitions):
                given |= dict.fromkeys(((MemberId(name), partition) for partition in partitions), moment.at_us)
            case PartitionsFetched(member_id=name, partitions=partitions):
                keys = ((MemberId(name), partition) for partition in partitions)
                took = [moment.at_us - given.pop(key) for key in keys if key in given]
                fetched.setdefault(MemberId(name), []).extend(took)
            case _:
                pass
    group = ReactionTimes(
        revoke_us=_all(revoked, USUAL_REACTION.revoke_us), fetch_us=_all(fetched, USUAL_REACTION.fetch_us)
    )
    return group, {
        member_id: ReactionTimes(
            revoke_us=median_low(revoked.get(member_id) or (group.revoke_us,)),
            fetch_us=median_low(fetched.get(member_id) or (group.fetch_us,)),
        )
        for member_id in (revoked | fetched)
    }


def _all(times: Times, usual_us: int) -> int:
    known = [each for one in times.values() for each in one]
    return median_low(known) if known else usual_us


BEGINS_IN_THE_MIDDLE = "history-begins-in-the-middle"
WENT_BY_ITSELF = frozenset((Departure.LEFT, Departure.POLL_TIMED_OUT, Departure.REMOVED, Departure.REBALANCE_TIMED_OUT))
"""A client whose max.poll.interval.ms is over leaves by itself, whatever it speaks."""
BEAT_US_MAX = 5_000_000
"""Kafka's longest default between two heartbeats."""
FOLLOWS = frozenset((Departure.REPLACED, Departure.GROUP_FULL))
"""Departures that follow from another input, or from the settings."""


@dataclass(frozen=True, slots=True)
class Unknown:
    """Nothing of a group can be played: why, and how many rebalances that concerns."""

    reason: str
    rebalances: int


def read_history(group_id: str, events: Sequence[Event]) -> History | Unknown:
    """What happened to one group; `events` are its own and those that concern no group, in the order of the log."""
    moments = on_one_timeline(events)
    start = first_known(moments)
    later = [moment for moment in moments[start:] if moment.group_id]
    if not later:
        return Unknown(BEGINS_IN_THE_MIDDLE, len(_recorded(moments)))
    walk = Walk(moments, start)
    topics, topic_changes = follow_topics(moments, moments.index(later[0]))
    inputs: list[Input] = [*walk.inputs(), *topic_changes]
    reaction, own = reactions(moments)
    return History(
        group_id=GroupId(group_id),
        begins_us=min(moment.at_us for moment in later),
        topics=topics,
        founders=tuple(walk.founders.values()),
        inputs=tuple(sorted(inputs, key=lambda one: one.at_us)),
        recorded=_recorded(later),
        reaction=reaction,
        reactions=own,
        is_classic=_is_classic(later),
        set_aside=len(_recorded(moments[:start])),
    )


def client_of(fact: MemberInputs) -> Client:
    """What a member told about itself."""
    return Client(
        member_id=MemberId(fact.member_id),
        identity=ClientIdentity(
            client_id=fact.client_id,
            client_host=fact.client_host,
            software_name=fact.library,
            software_version=fact.library_version,
        ),
        instance_id=None if fact.instance_id is None else InstanceId(fact.instance_id),
        topics=tuple(TopicName(name) for name in fact.topics),
        pattern=fact.pattern,
        assignors=fact.assignors,
        session_timeout_ms=fact.session_timeout_ms,
        rebalance_timeout_ms=fact.rebalance_timeout_ms,
        rack_id=fact.rack_id,
        is_classic=fact.protocol is Protocol.CLASSIC,
    )


class Walk:
    """One walk through the moments of a group: who is there, and what happens to them from the place `start` on."""

    def __init__(self, moments: Sequence[TimedEvent], start: int) -> None:
        self.founders: dict[MemberId, Client] = {}
        """Members that were there at `start`."""
        self._moments, self._start = moments, start
        known = introductions(moments)
        self._present = {one: client_of(known[one]) for one in older_members(moments) if one in known}
        self._began_us = {one.rebalance_id: one.began_us for one in _recorded(moments)}
        self._evidence = {event_id for one in _recorded(moments) for event_id in one.evidence}
        self._idle_us = _idle_times(moments)

    def inputs(self) -> list[Input]:
        """What happened from `start` on; to be called once."""
        found: list[Input] = []
        last = last_mentions(self._moments)
        boot = self._moments[0].event.stamp.boot
        for place, moment in enumerate(self._moments):
            if place == self._start:
                self.founders = dict(self._present)
            new: list[Input] = []
            if moment.event.stamp.boot != boot and moment.group_id:
                boot = moment.event.stamp.boot
                new += self._forgotten(moment, {one for one in self._present if last[one] < place})
            new += self._take(moment)
            if place >= self._start:
                found += new
        return found

    def _take(self, moment: TimedEvent) -> Iterator[Input]:
        fact, event_id = moment.fact, moment.event.stamp.event_id
        if isinstance(fact, MemberJoined) and introduces(fact):
            client = client_of(fact)
            self._present[client.member_id] = client
            yield Came(
                at_us=moment.at_us,
                event_id=event_id,
                rebalance_id=fact.rebalance_id,
                client=client,
                former_id=fact.former_id,
            )
        elif isinstance(fact, MemberSubscribed) and introduces(fact):
            client = client_of(fact)
            self._present[client.member_id] = client
            yield Changed(at_us=moment.at_us, event_id=event_id, rebalance_id=fact.rebalance_id, client=client)
        elif isinstance(fact, MemberLeft):
            yield from self._leave(moment, fact)

    def _leave(self, moment: TimedEvent, fact: MemberLeft) -> Iterator[Input]:
        member_id, event_id = MemberId(fact.member_id), moment.event.stamp.event_id
        client = self._present.pop(member_id, None)
        if client is None or fact.departure in FOLLOWS:
            return
        rebalance_id = fact.rebalance_id
        if fact.departure in WENT_BY_ITSELF:
            yield Left(at_us=moment.at_us, event_id=event_id, rebalance_id=rebalance_id, member_id=member_id)
        elif fact.departure is Departure.STATIC_LEFT:
            yield Vacated(at_us=moment.at_us, event_id=event_id, rebalance_id=rebalance_id, member_id=member_id)
        else:
            expired_us = moment.at_us
            if event_id in self._evidence:
                # On road `pass` the leader's next JoinGroup shows who is gone; the coordinator knew when it began.
                expired_us = min(expired_us, self._began_us.get(rebalance_id, expired_us))
            at_us = self._silent_since(client, moment, expired_us)
            yield FellSilent(at_us=at_us, event_id=event_id, rebalance_id=rebalance_id, member_id=member_id)

    def _silent_since(self, client: Client, gone: TimedEvent, expired_us: int) -> int:
        """When a member whose session is over was heard last: one session before that.

        A member of the new protocol does not tell its session. The usual one is taken, unless that does not go with
        when the bridge heard it last: with its last heartbeat, or with the end of its connection soon after that.
        """
        by_session_us = expired_us - client.session_ms * 1_000
        idle_us = self._idle_us.get(gone.event.stamp.event_id)
        if client.session_timeout_ms > 0 or idle_us is None:
            return by_session_us
        heard_us = gone.at_us - idle_us
        return by_session_us if 0 <= heard_us - by_session_us <= BEAT_US_MAX else heard_us

    def _forgotten(self, moment: TimedEvent, member_ids: set[MemberId]) -> Iterator[Input]:
        """Members of an earlier run that the group goes on without: the bridge had forgotten them."""
        for member_id in sorted(member_ids):
            del self._present[member_id]
            yield Left(at_us=moment.at_us, event_id=moment.event.stamp.event_id, member_id=member_id)


def _idle_times(moments: Iterable[TimedEvent]) -> Mapping[str, int]:
    """How long members that went had used nothing by then, by the event that says that they went."""
    left: dict[str, str] = {}
    found: dict[str, int] = {}
    for moment in moments:
        match moment.fact:
            case MemberLeft(member_id=name):
                left[name] = moment.event.stamp.event_id
            case MemberJoined(member_id=name):
                left.pop(name, None)
            case PartitionsReleased(member_id=name, idle_us=idle_us) if idle_us and name in left:
                found[left.pop(name)] = idle_us
            case _:
                pass
    return found


def _recorded(moments: Sequence[TimedEvent]) -> tuple[Recorded, ...]:
    explained: Mapping[str, RebalanceExplained] = {
        moment.fact.rebalance_id: moment.fact for moment in moments if isinstance(moment.fact, RebalanceExplained)
    }
    return tuple(
        _as_explained(Recorded(rebalance_id=moment.fact.rebalance_id, began_us=moment.at_us), explained)
        for moment in moments
        if isinstance(moment.fact, RebalanceBegan)
    )


def _as_explained(one: Recorded, explained: Mapping[str, RebalanceExplained]) -> Recorded:
    said = explained.get(one.rebalance_id)
    return one if said is None else replace(one, cause=said.cause, evidence=said.evidence)


def _is_classic(moments: Sequence[TimedEvent]) -> bool:
    """What kind of group it was last; where only its members tell, one member of the new protocol makes it new."""
    facts = [moment.fact for moment in moments]
    kinds = [fact.group_type for fact in facts if isinstance(fact, GroupCreated | GroupRevived | GroupConverted)]
    if kinds:
        return kinds[-1] is Protocol.CLASSIC
    return all(fact.protocol is Protocol.CLASSIC for fact in facts if isinstance(fact, MemberInputs))
