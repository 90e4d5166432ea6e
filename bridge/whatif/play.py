"""Plays a history: every input at its time, clients that react, and what the engine makes of it."""

from dataclasses import dataclass, replace
from functools import partial
from typing import Protocol as Interface

from bridge.engine.outcome import MemberRemoved, Outcome, PartitionsFreed, RebalanceBegun
from bridge.engine.records import TargetEpochReached
from bridge.engine.settings import EngineSettings
from bridge.telemetry.schema.facts import Event, RebalanceBegan, TopicsSeen
from bridge.telemetry.schema.terms import Protocol as Spoken
from bridge.whatif.classic_client import ClassicClient, ClassicClientSettings
from bridge.whatif.configuration import INT_MAX, Configuration
from bridge.whatif.consumer_client import ConsumerClient
from bridge.whatif.coordinator import Coordinator, Request
from bridge.whatif.inputs import Came, Changed, Client, FellSilent, History, Input, Left, TopicsBecame, Vacated
from bridge.whatif.played_group import PlayedGroup
from bridge.whatif.timeline import Timeline
from translators.dialects.configs import MigrationPolicy
from translators.dialects.ids import MemberId

PRELUDE_US = 3_600_000_000
"""Founders join so long before the history begins, so that all is quiet when it does."""


@dataclass(frozen=True, slots=True)
class Trigger:
    """A rebalance of the play and the input that made it, by event id; "" where no input did."""

    event_id: str
    rebalance_id: str


@dataclass(frozen=True, slots=True)
class Prediction:
    """What would have happened: its events, as a bridge would have logged them, and what made each rebalance."""

    events: tuple[Event, ...]
    triggers: tuple[Trigger, ...]


class PlayedMember(Interface):
    """A member of either protocol."""

    client: Client

    @property
    def engine_id(self) -> MemberId:
        """What the engine calls it."""
        ...

    def joining(self) -> Request:
        """Its first request."""
        ...

    def change(self, client: Client) -> None:
        """It wants something else from now on."""
        ...

    def leave(self) -> None:
        """It leaves for good."""
        ...

    def vacate(self) -> None:
        """It leaves its static seat for a while."""
        ...

    def fall_silent(self) -> None:
        """Its last sign of life was now."""
        ...

    def see_topics(self) -> None:
        """Topics are other than before."""
        ...

    def expect_news(self) -> None:
        """Its next heartbeat may bring news."""
        ...


def predict(history: History, configuration: Configuration) -> Prediction:
    """Play a history under a configuration, up to the moment when nothing moves any more."""
    return Play(history, configuration).run()


class Play:
    """One group's play."""

    def __init__(self, history: History, configuration: Configuration) -> None:
        began_us = history.begins_us - PRELUDE_US
        coordinator = Coordinator(history.group_id, _settings(configuration), began_us)
        coordinator.on_turn = self._announce
        self._configuration = configuration
        self._is_classic = plays_classic(history, configuration)
        self._group = PlayedGroup(history=history, timeline=Timeline(began_us), coordinator=coordinator)
        self._members: dict[MemberId, PlayedMember] = {}
        self._triggers: list[Trigger] = []
        self._begun = 0
        self._silent: dict[MemberId, str] = {}
        self._frozen: dict[MemberId, ConsumerClient] = {}
        """Members that fell silent, as long as they may come back: an id is that of one process (KIP-848)."""
        self._latest = ""

    def run(self) -> Prediction:
        """Play to the end."""
        history, timeline, coordinator = self._group.history, self._group.timeline, self._group.coordinator
        self._group.change_topics(history.topics)
        coordinator.ask([self._seat(client).joining() for client in history.founders], self._group.now_us)
        self._note("")
        for one in history.inputs:
            timeline.at(one.at_us, partial(self._take, one))
        while (at_us := self._next_us()) is not None:
            if timeline.next_us() == at_us:
                timeline.step()
            else:
                timeline.now_us = at_us
                coordinator.pass_deadlines(at_us)
            self._note(self._latest)
        events = tuple(event for event in coordinator.log.events if self._belongs(event))
        return Prediction(events, tuple(self._triggers))

    def _belongs(self, event: Event) -> bool:
        """Whether an event is none of the prelude's; what topics there were goes with the play."""
        return event.stamp.wall_us >= self._group.history.begins_us or isinstance(event.fact, TopicsSeen)

    def _next_us(self) -> int | None:
        """When something happens next; what is due by itself comes first."""
        planned_us, due_us = self._group.timeline.next_us(), self._group.coordinator.next_deadline_us()
        if planned_us is None or due_us is None:
            return due_us if planned_us is None else planned_us
        return planned_us if planned_us < due_us else max(due_us, self._group.now_us)

    # ------------------------------------------------------------------ inputs

    def _take(self, one: Input) -> None:
        self._latest = one.event_id
        match one:
            case Came():
                self._come(one)
            case Changed(client=client):
                member = self._members.get(client.member_id)
                if member is not None:
                    member.change(client)
            case Left() | Vacated() | FellSilent():
                self._part(one)
            case TopicsBecame(counts=counts):
                self._group.change_topics(counts)
                for member in self._members.values():
                    member.see_topics()

    def _come(self, one: Came) -> None:
        former = self._members.pop(MemberId(one.former_id), None)
        if former is not None and one.former_id != one.client.member_id:
            # A classic client that holds a static seat goes without a word; one of the new protocol says so.
            former.vacate()
        frozen = self._frozen.pop(one.client.member_id, None)
        if frozen is None:
            request = self._seat(one.client).joining()
        else:
            self._silent.pop(frozen.engine_id, None)
            self._members[one.client.member_id] = frozen
            request = frozen.wake(one.client)
        self._group.coordinator.ask([request], self._group.now_us)

    def _part(self, one: Left | Vacated | FellSilent) -> None:
        member = self._members.pop(one.member_id, None)
        if member is None:
            return
        match one:
            case Left():
                member.leave()
            case Vacated():
                member.vacate()
            case FellSilent():
                self._silent[member.engine_id] = one.event_id
                if isinstance(member, ConsumerClient):
                    self._frozen[one.member_id] = member
                member.fall_silent()

    def _seat(self, client: Client) -> PlayedMember:
        wanted = self._configuration
        member: PlayedMember
        if self._is_classic:
            settings = ClassicClientSettings(
                heartbeat_ms=wanted.heartbeat_interval_ms,
                metadata_age_ms=wanted.metadata_age_ms,
                session_ms=wanted.session_timeout_ms,
                assignor=wanted.assignor,
            )
            member = ClassicClient(client, self._group, settings)
        else:
            heartbeat_ms = wanted.engine.group_consumer_heartbeat_interval_ms
            member = ConsumerClient(client, self._group, heartbeat_ms)
        self._members[client.member_id] = member
        return member

    # ------------------------------------------------------------------ what comes of them

    def _announce(self, outcome: Outcome) -> None:
        """Those for whom a turn brought something hear of it with their next heartbeat."""
        concerned: set[MemberId] = set()
        for notice in outcome.notices:
            if isinstance(notice, PartitionsFreed):
                concerned |= notice.member_ids
            elif isinstance(notice, RebalanceBegun):
                concerned |= {member.engine_id for member in self._members.values()}
            elif isinstance(notice, MemberRemoved) and notice.member_id in self._silent:
                self._latest = self._silent.pop(notice.member_id)
        if any(isinstance(record, TargetEpochReached) for record in outcome.records):
            concerned |= {member.engine_id for member in self._members.values()}
        for member in self._members.values():
            if member.engine_id in concerned:
                member.expect_news()

    def _note(self, event_id: str) -> None:
        """What rebalances began since the last look, and why."""
        events = self._group.coordinator.log.events
        fresh = [event.fact for event in events[self._begun :] if isinstance(event.fact, RebalanceBegan)]
        self._begun = len(events)
        self._triggers += [Trigger(event_id, fact.rebalance_id) for fact in fresh]


def plays_classic(history: History, configuration: Configuration) -> bool:
    """Whether the members of a history speak the classic protocol in its play."""
    if configuration.protocol is None:
        return history.is_classic
    return configuration.protocol is Spoken.CLASSIC


def _settings(configuration: Configuration) -> EngineSettings:
    """The engine's: groups begin as what they are played as, and no session timeout that there was is refused."""
    return replace(
        configuration.engine,
        group_min_session_timeout_ms=1,
        group_max_session_timeout_ms=INT_MAX,
        group_consumer_migration_policy=MigrationPolicy.DISABLED,
    )
