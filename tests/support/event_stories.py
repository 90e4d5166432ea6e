"""Builds the events of invented rebalances, as the follower would tell them, so that a test reads like a story."""

from dataclasses import replace
from itertools import count
from typing import Self, TypedDict

from bridge.telemetry.cause.explain import explain
from bridge.telemetry.schema import facts
from bridge.telemetry.schema.facts import UNKNOWN_EPOCH, Event, Fact, Stamp
from bridge.telemetry.schema.terms import (
    Carrier,
    Departure,
    News,
    Outcome,
    Phase,
    Protocol,
    Road,
)

START_WALL_US = 1_763_000_000_000_000
MS_US = 1_000


class _About(TypedDict):
    group_id: str
    road: Road
    rebalance_id: str
    group_epoch: int


class _AboutMember(_About):
    member_id: str
    instance_id: str | None
    protocol: Protocol
    member_epoch: int
    generation: int


class Story:
    """One group in one run of the bridge; `at` sets the time of what follows, in milliseconds since the run began.

    A classic group's members have generations and no epochs, a consumer group's the other way round.
    """

    def __init__(
        self,
        *,
        road: Road = Road.EMBEDDED,
        protocol: Protocol = Protocol.CONSUMER,
        boot: str = "b1",
        group: str = "orders",
    ) -> None:
        self.events: list[Event] = []
        self.rebalance_id = ""
        self.epoch = UNKNOWN_EPOCH
        self._road = road
        self._protocol = protocol
        self._boot = boot
        self._group = group
        self._numbers = count(1)
        self._rebalances = count(1)
        self._at_ms = 0.0
        self._wall_shift_us = 0
        self._seats: dict[str, str] = {}

    def at(self, at_ms: float) -> Self:
        """From here on this is the time."""
        self._at_ms = at_ms
        return self

    def clock_jumps(self, by_ms: int) -> Self:
        """The wall clock is set."""
        self._wall_shift_us += by_ms * MS_US
        return self

    def tell(self, fact: Fact) -> Event:
        """Any fact."""
        mono_us = round(self._at_ms * MS_US)
        stamp = Stamp(self._boot, next(self._numbers), START_WALL_US + mono_us + self._wall_shift_us, mono_us)
        event = Event(stamp, fact)
        self.events.append(event)
        return event

    # ------------------------------------------------------------------ groups

    def began(self, epoch: int, *, supersedes: str = "") -> Self:
        """A rebalance begins."""
        self.rebalance_id = f"{self._group}@{self._boot}-r{next(self._rebalances)}"
        self.epoch = epoch
        self.tell(facts.RebalanceBegan(**self.about(), supersedes=supersedes))
        return self

    def ended(self, outcome: Outcome = Outcome.COMPLETED) -> Self:
        """The rebalance ends."""
        self.tell(facts.RebalanceEnded(**self.about(), outcome=outcome))
        self.rebalance_id = ""
        return self

    def explained(self) -> Self:
        """The rebalance ends, and the bridge says why it was."""
        self.tell(facts.RebalanceEnded(**self.about(), outcome=Outcome.COMPLETED))
        said = explain(self.events)
        assert said is not None
        self.tell(said)
        self.rebalance_id = ""
        return self

    def created(self) -> Self:
        """The group begins."""
        self.tell(facts.GroupCreated(**self.about(), group_type=self._protocol))
        return self

    def revived(self) -> Self:
        """The group goes on after a restart."""
        self.tell(facts.GroupRevived(**self.about(), group_type=self._protocol))
        return self

    def target(self, members: int, *, moved: int = 1, forced: int = 1, partitions: int = 6) -> Self:
        """A target is in force."""
        self.tell(
            facts.TargetComputed(
                **self.about(),
                assignor="uniform",
                moved=moved,
                forced_minimum=forced,
                member_count=members,
                partition_count=partitions,
            )
        )
        return self

    # ------------------------------------------------------------------ members

    def joined(self, member: str, *, seat: str | None = None, former: str = "") -> Event:
        """A member comes."""
        if seat is not None:
            self._seats[member] = seat
        return self.tell(
            facts.MemberJoined(
                **self.about_member(member, epoch=UNKNOWN_EPOCH),
                **_inputs(member),
                session_timeout_ms=10_000,
                rebalance_timeout_ms=60_000,
                topics=("orders",),
                is_return=bool(former),
                former_id=former,
            )
        )

    def rejoined(self, member: str, *, is_leader: bool = False, topics: tuple[str, ...] = ("orders",)) -> Event:
        """A classic member joins again."""
        return self.tell(
            facts.MemberRejoined(
                **self.about_member(member),
                **_inputs(member),
                session_timeout_ms=10_000,
                rebalance_timeout_ms=60_000,
                topics=topics,
                is_leader=is_leader,
            )
        )

    def subscribed(self, member: str, *topics: str) -> Event:
        """A member says something new."""
        return self.tell(
            facts.MemberSubscribed(
                **self.about_member(member),
                **_inputs(member),
                session_timeout_ms=10_000,
                rebalance_timeout_ms=60_000,
                topics=topics,
            )
        )

    def left(self, member: str, departure: Departure = Departure.LEFT, reason: str = "") -> Event:
        """A member goes."""
        return self.tell(facts.MemberLeft(**self.about_member(member), departure=departure, reason=reason))

    def told(self, member: str, news: News) -> Self:
        """An answer brings news."""
        carrier = Carrier.HEARTBEAT if self._protocol is Protocol.CLASSIC else Carrier.CONSUMER_GROUP_HEARTBEAT
        self.tell(facts.MemberTold(**self.about_member(member), news=news, carrier=carrier))
        return self

    def enters(self, member: str, phase: Phase, *waits_on: str) -> Self:
        """A phase begins."""
        self.tell(facts.PhaseBegan(**self.about_member(member), phase=phase, waits_on=waits_on))
        return self

    def leaves(self, member: str, phase: Phase, *waits_on: str) -> Self:
        """A phase ends."""
        self.tell(facts.PhaseEnded(**self.about_member(member), phase=phase, waits_on=waits_on))
        return self

    def loses(self, member: str, *partitions: str) -> Self:
        """A member is told to give partitions up."""
        self.tell(facts.PartitionsTold(**self.about_member(member), partitions=partitions))
        return self

    def releases(self, member: str, *partitions: str) -> Self:
        """A member gives partitions up."""
        self.tell(facts.PartitionsReleased(**self.about_member(member), partitions=partitions))
        return self

    def gets(self, member: str, *partitions: str, count: int = 1, is_again: bool = False) -> Self:
        """A member is given partitions."""
        about = self.about_member(member)
        self.tell(facts.PartitionsAssigned(**about, partitions=partitions, assigned_count=count, is_again=is_again))
        return self

    def fetches(self, member: str, *partitions: str) -> Self:
        """A member fetches for the first time."""
        self.tell(facts.PartitionsFetched(**self.about_member(member), partitions=partitions))
        return self

    def commits(self, member: str, *partitions: str, is_on_revoke: bool = False) -> Self:
        """A member commits."""
        self.tell(facts.CommitPassed(**self.about_member(member), partitions=partitions, is_on_revoke=is_on_revoke))
        return self

    # ------------------------------------------------------------------ words

    def about(self) -> _About:
        """What every fact about the group says."""
        return _About(group_id=self._group, road=self._road, rebalance_id=self.rebalance_id, group_epoch=self.epoch)

    def about_member(self, member: str, epoch: int | None = None) -> _AboutMember:
        """What every fact about a member says."""
        is_classic = self._protocol is Protocol.CLASSIC
        known = self.epoch if epoch is None else epoch
        return _AboutMember(
            **self.about(),
            member_id=member,
            instance_id=self._seats.get(member),
            protocol=self._protocol,
            member_epoch=UNKNOWN_EPOCH if is_classic else known,
            generation=known if is_classic else UNKNOWN_EPOCH,
        )


class _Inputs(TypedDict):
    client_id: str
    client_host: str
    library: str
    library_version: str


def _inputs(member: str) -> _Inputs:
    return _Inputs(client_id=member, client_host="10.0.0.7", library="kafka-python", library_version="3.0.12")


def cooperative_handover() -> Story:
    """c4 joins a consumer group of three; c1 takes 2.1 s to give up orders-4, which c4 waits for."""
    story = Story()
    story.at(0).joined("c4")
    story.at(1).began(7).target(4)
    story.at(2).enters("c4", Phase.AWAITING_RELEASE, "c1")
    story.at(900).told("c1", News.REVOKE).loses("c1", "orders-4").enters("c1", Phase.REVOKING)
    story.at(2_900).commits("c1", "orders-4", is_on_revoke=True)
    story.at(3_000).releases("c1", "orders-4").leaves("c1", Phase.REVOKING).enters("c1", Phase.STABLE)
    story.at(3_010).leaves("c4", Phase.AWAITING_RELEASE, "c1").told("c4", News.ASSIGN)
    story.gets("c4", "orders-4").enters("c4", Phase.FETCHING).enters("c4", Phase.STABLE).ended()
    identity = story.events[1].fact
    assert isinstance(identity, facts.GroupFact)
    story.rebalance_id = identity.rebalance_id
    story.at(3_110).fetches("c4", "orders-4").leaves("c4", Phase.FETCHING)
    story.rebalance_id = ""
    return story


def eager_meeting(trigger: str = "c3") -> Story:
    """A classic group on road `pass`: c3 joins, c1 hears at once, c2 only after 1.5 s."""
    story = Story(road=Road.PASSING, protocol=Protocol.CLASSIC)
    story.epoch = 4
    story.at(100).began(4).told("c1", News.REVOKE).loses("c1", "orders-0").enters("c1", Phase.REVOKING)
    story.at(150).leaves("c1", Phase.REVOKING).rejoined("c1", is_leader=True)
    story.releases("c1", "orders-0").enters("c1", Phase.JOINING)
    story.at(1_400).told("c2", News.REVOKE).loses("c2", "orders-1").enters("c2", Phase.REVOKING)
    story.at(1_600).leaves("c2", Phase.REVOKING).rejoined("c2")
    story.releases("c2", "orders-1").enters("c2", Phase.JOINING)
    story.epoch = 5
    story.at(1_610).leaves("c1", Phase.JOINING).enters("c1", Phase.SYNCING)
    story.leaves("c2", Phase.JOINING).enters("c2", Phase.SYNCING)
    story.at(50).joined(trigger)
    story.enters(trigger, Phase.JOINING).at(1_610).leaves(trigger, Phase.JOINING).enters(trigger, Phase.SYNCING)
    story.at(1_640).target(3)
    for member, partition in (("c1", "orders-0"), ("c2", "orders-1"), (trigger, "orders-2")):
        story.at(1_650).leaves(member, Phase.SYNCING).gets(member, partition).enters(member, Phase.STABLE)
    return story.ended()


def renumbered(events: list[Event], boot: str) -> list[Event]:
    """The same events in another run of the bridge."""
    return [replace(event, stamp=replace(event.stamp, boot=boot)) for event in events]
