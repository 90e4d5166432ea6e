"""Makes facts of what happened to a group or member, each with the fields that all facts of that kind share."""

from collections import deque
from collections.abc import Callable, Sequence
from functools import partial
from typing import Protocol as Interface

from bridge.telemetry.cause.context import keep_past
from bridge.telemetry.cause.sentences import Introduced
from bridge.telemetry.following.fact_fields import group_fields, input_fields, introduced, member_fields
from bridge.telemetry.following.joins import NO_PARTITIONS, Inputs, Partitions
from bridge.telemetry.following.last_heard import US_PER_MS, LastHeard
from bridge.telemetry.following.tracks import GroupTrack, MemberTrack, RebalanceTrack
from bridge.telemetry.schema.facts import (
    Event,
    Fact,
    GroupConverted,
    MemberAdvanced,
    MemberJoined,
    MemberLeft,
    MemberRevived,
    MemberTold,
    PartitionsAssigned,
    PartitionsFetched,
    PartitionsReleased,
    PartitionsTold,
    PhaseBegan,
    PhaseEnded,
    RebalanceBegan,
    RebalanceEnded,
    RebalanceExplained,
)
from bridge.telemetry.schema.lean import lean, says_little
from bridge.telemetry.schema.terms import Carrier, Conversion, Departure, News, Outcome, Phase, Protocol, Road
from translators.dialects.ids import GroupId, MemberId, TopicPartition

EVENTS_OF_REBALANCE_MAX = 20_000
"""How many events of an open rebalance are kept for its explanation; further ones are written and not looked at."""
EVENTS_BEFORE_MAX = 256
"""After so many events between rebalances those are dropped that explain nothing."""
DEPARTED_MAX = 32
AWAY_MAX = 1_000
"""How many static members of a group that are away for a while are kept in mind."""
FROZEN_US = 10_000_000
"""Who speaks the consumer protocol and is not heard for so long is frozen: two of Kafka's default intervals."""
EVERYWHERE_MAX = 64
"""How many events that concern no group, such as changed topics, are kept for explanations."""

Explain = Callable[[Sequence[Event], Introduced], RebalanceExplained | None]
"""Makes of a group's last events before a rebalance, and those of the rebalance, what it comes to; the other argument
says what members told about themselves.
"""


Owner = tuple[GroupId, MemberId]
Awaited = dict[TopicPartition, dict[Owner, tuple[GroupTrack, MemberTrack]]]
"""Partitions that were not fetched yet, each with the members that were given it."""


class Log(Interface):
    """Where facts go."""

    def say(self, fact: Fact, at_us: int) -> Event | None:
        """Take a fact that happened at `at_us` (monotonic microseconds); None if there is no room for it."""
        ...

    def say_later(self, make: Callable[[], Fact | None], at_us: int) -> None:
        """Take a fact that somebody else should make, because it takes long; None for none."""
        ...


class FactWriter:
    """Says facts, and keeps those that explain a rebalance until it ends."""

    def __init__(self, boot: str, log: Log, explain: Explain) -> None:
        self._boot = boot
        self._log = log
        self._explain = explain
        self._everywhere: deque[Event] = deque(maxlen=EVERYWHERE_MAX)
        self._rebalances = 0
        self.last_heard = LastHeard()
        self.awaiting: dict[tuple[str, str], Awaited] = {}
        """Client ids with their hosts that have partitions to fetch for the first time: which, and as which members."""

    def tell(self, group: GroupTrack | None, fact: Fact, at_us: int) -> None:
        """Say a fact; of a group it may belong to an explanation."""
        said = self._log.say(fact, at_us)
        event = None if said is None else lean(said)
        if event is None:
            return
        if group is None:
            self._everywhere.append(event)
        elif group.rebalance is None:
            group.before.append(event)
            if len(group.before) > EVENTS_BEFORE_MAX:
                group.before = keep_past(group.before)
        elif len(group.rebalance.events) < EVENTS_OF_REBALANCE_MAX:
            group.rebalance.events.append(event)

    # ------------------------------------------------------------------ rebalances

    def begin_rebalance(self, group: GroupTrack, at_us: int, epoch: int | None = None, interrupted: str = "") -> None:
        """A rebalance begins, at `epoch` if that is known, and cuts short the one under way; it waits for everybody.

        `interrupted` is one of the run before that it takes up.
        """
        former = interrupted if group.rebalance is None else group.rebalance.rebalance_id
        if group.rebalance is not None:
            self.end_rebalance(group, Outcome.SUPERSEDED, at_us)
        self._rebalances += 1
        group.epoch = group.epoch if epoch is None else epoch
        # The epoch is for people; groups that are deleted and begin anew have it twice.
        name = f"{self._rebalances}" if epoch is None else f"{epoch}.{self._rebalances}"
        rebalance_id = f"{group.group_id}@{self._boot}-{name}"
        group.rebalance = RebalanceTrack(rebalance_id=rebalance_id, touched_us=at_us, around=tuple(self._everywhere))
        # Nobody has settled yet; to copy all members here would cost a large group dearly.
        group.settled = set()
        self.tell(group, RebalanceBegan(**group_fields(group), supersedes=former), at_us)

    def end_rebalance(self, group: GroupTrack, outcome: Outcome, at_us: int) -> None:
        """The rebalance under way, if there is one, is over."""
        rebalance = group.rebalance
        if rebalance is None:
            return
        self.tell(group, RebalanceEnded(**group_fields(group), outcome=outcome), at_us)
        around = {event.stamp.number: event for event in (*rebalance.around, *self._everywhere)}
        events = (*around.values(), *group.before, *rebalance.events)
        self._log.say_later(partial(self._explain, events, partial(introduced, group)), at_us)
        group.rebalance, group.last_rebalance_id = None, rebalance.rebalance_id
        group.before = keep_past([*group.before, *rebalance.events])

    def settle(self, group: GroupTrack, member: MemberTrack, at_us: int) -> None:
        """A member's phase, epoch or generation is another: the rebalance may be over with it."""
        is_settled = member.reached >= group.epoch and member.is_at_rest
        if is_settled:
            group.settled.add(member.member_id)
        else:
            group.settled.discard(member.member_id)
        self.look(group, at_us)

    def rest(self, group: GroupTrack, member: MemberTrack, at_us: int) -> None:
        """A member has nothing to do but wait for what others hold, if there is any such thing."""
        phase = Phase.AWAITING_RELEASE if member.holders else Phase.STABLE
        self.begin_phase(group, member, phase, at_us, member.holders)
        self.settle(group, member, at_us)

    def look(self, group: GroupTrack, at_us: int) -> None:
        """End the rebalance under way if it waits for nobody."""
        rebalance = group.rebalance
        if rebalance is not None:
            rebalance.touched_us = max(rebalance.touched_us, at_us)
            # Who joins after a generation was handed out joins for the next one.
            is_settled = len(group.settled) >= len(group.members)
            if is_settled and (rebalance.is_joined or not group.joins):
                self.end_rebalance(group, Outcome.COMPLETED if group.members else Outcome.EMPTIED, at_us)

    def leave_frozen_behind(self, group: GroupTrack, is_frozen: Callable[[MemberTrack], bool], at_us: int) -> bool:
        """End the rebalance under way when it has long waited for nobody but frozen members; says whether it did.

        It ended when the last of the others was done.
        """
        rebalance = group.rebalance
        if rebalance is None or group.joins or at_us - rebalance.touched_us < FROZEN_US:
            return False
        behind = group.members.keys() - group.settled
        members = [group.members[member_id] for member_id in behind]
        if not (group.natives.issuperset(behind) and all(one.is_calm and is_frozen(one) for one in members)):
            return False
        self.end_rebalance(group, Outcome.COMPLETED, rebalance.touched_us)
        return True

    def convert(self, group: GroupTrack, kind: Protocol, conversion: Conversion, at_us: int) -> None:
        """A group that passes is of the other kind, as its members' requests and answers show (KIP-848)."""
        if group.road is not Road.EMBEDDED and group.group_type is not kind:
            is_known, group.group_type = group.group_type is not None, kind
            if is_known:
                self.tell(group, GroupConverted(**group_fields(group), group_type=kind, conversion=conversion), at_us)

    # ------------------------------------------------------------------ members

    def join(self, group: GroupTrack, member: MemberTrack, former_id: str, at_us: int) -> None:
        """A member is there; `former_id` had its static seat, "" for none."""
        self._enter(group, member, at_us)
        is_return = bool(former_id)
        words = member_fields(group, member)
        fact = MemberJoined(**words, **input_fields(member.inputs), is_return=is_return, former_id=former_id)
        self.tell(group, fact, at_us)

    def _enter(self, group: GroupTrack, member: MemberTrack, at_us: int) -> None:
        member.be_there(at_us)
        former = group.members.get(member.member_id)
        if former is not None:
            # A client that says its id again from the start: what its first life did not fetch, nobody waits for.
            self._forget_fetches(group, former, former.unfetched)
            self.last_heard.leave(former.inputs)
        group.members[member.member_id] = member
        self.last_heard.enter(member.inputs)
        member.inherit(self.last_heard.session_of(member.inputs))
        if member.protocol is Protocol.CONSUMER:
            group.natives.add(member.member_id)
        if member.instance_id is not None:
            group.seats[member.instance_id] = member.member_id

    def forget(self, group: GroupTrack) -> None:
        """A group is deleted, whoever still is in it."""
        for member in group.members.values():
            self.last_heard.leave(member.inputs)

    def revive(self, group: GroupTrack, member: MemberTrack, at_us: int) -> None:
        """A member goes on that was there before this run of the bridge."""
        self._enter(group, member, at_us)
        words = member_fields(group, member)
        self.tell(group, MemberRevived(**words, **input_fields(member.inputs)), at_us)
        self.begin_phase(group, member, Phase.STABLE, at_us)

    def leave(self, group: GroupTrack, member: MemberTrack, departure: Departure, at_us: int) -> None:
        """A member is gone, or away; what it had is free, unless a static one will be back for it."""
        self.end_phase(group, member, at_us)
        if departure is Departure.LEFT and self.last_heard.has_stopped_polling(member, at_us):
            departure = Departure.POLL_TIMED_OUT
        self.stop_fetching(group, member, member.unfetched, at_us)
        words = member_fields(group, member)
        self.tell(group, MemberLeft(**words, departure=departure, reason=member.parting_words), at_us)
        was_there = group.members.pop(member.member_id, None) is not None
        self.last_heard.keep_session(member.inputs, member.assigned)
        if departure is Departure.STATIC_LEFT:
            member.go_away(at_us)
            _keep(group.away, member, AWAY_MAX)
        else:
            self.give_back(group, member, departure, at_us)
        if was_there:
            self.last_heard.leave(member.inputs)
        if says_little(member_id=member.member_id, topics=member.inputs.topics, owned=member.inputs.owned):
            _keep(group.departed, member, DEPARTED_MAX)
        group.settled.discard(member.member_id)
        group.natives.discard(member.member_id)

    def give_back(self, group: GroupTrack, member: MemberTrack, departure: Departure, at_us: int) -> None:
        """What a member had that is gone is free, and so is its static seat."""
        self.release(group, member, member.assigned, at_us, self._idle_us(group, member, departure, at_us))
        if member.instance_id is not None and group.seats.get(member.instance_id) == member.member_id:
            del group.seats[member.instance_id]

    def replace_away(self, group: GroupTrack, member_id: MemberId, at_us: int) -> None:
        """A static member that was away is back, or will not be any more: what was kept for it is given anew."""
        away = group.away.pop(member_id, None)
        if away is not None:
            idle_us = self._idle_us(group, away, Departure.STATIC_LEFT, at_us)
            self.release(group, away, away.assigned, at_us, idle_us)

    def _idle_us(self, group: GroupTrack, member: MemberTrack, departure: Departure, at_us: int) -> int:
        """How long a member that is gone can't have used anything.

        Heartbeats that the bridge answers go by unheard, also over a new connection: who expired was last heard one
        session ago. A frozen process keeps its connection, and is silent all the same.
        """
        since_us = member.unheard_since_us
        if departure is Departure.POLL_TIMED_OUT:
            # Its client may beat and fetch for it: its application has taken nothing.
            since_us = self.last_heard.polled_us(member, at_us)
        if departure is Departure.SESSION_EXPIRED and member.departure is None:
            spoke_us = self._spoke_us(group, member, at_us)
            if since_us is None:
                since_us = self.last_heard.used_us(member, spoke_us)
            elif group.ends_session(member):
                quiet_us = self.last_heard.silent_since(member, since_us, spoke_us)
                # Somebody else may say late to a broker that it is gone; its own next connection would have been heard.
                since_us = quiet_us if group.road is Road.EMBEDDED else min(since_us, quiet_us)
        return 0 if since_us is None else max(0, at_us - since_us)

    def _spoke_us(self, group: GroupTrack, member: MemberTrack, at_us: int) -> int | None:
        """When a member whose session is over has spoken to its coordinator for the last time."""
        if not group.ends_session(member):
            return self.last_heard.spoke_before_us(member, at_us)
        session_ms = member.inputs.session_timeout_ms
        return at_us - session_ms * US_PER_MS if session_ms > 0 else None

    def advance(self, group: GroupTrack, member: MemberTrack, epoch: int, at_us: int) -> None:
        """A member has left an epoch for another; that alone explains nothing, so it is written and not kept."""
        if epoch > member.member_epoch > 0:
            member.enter_epoch(epoch)
            self._log.say(MemberAdvanced(**member_fields(group, member)), at_us)

    def inform(self, group: GroupTrack, member: MemberTrack, news: News, carrier: Carrier, at_us: int) -> None:
        """An answer brought news."""
        self.tell(group, MemberTold(**member_fields(group, member), news=news, carrier=carrier), at_us)

    # ------------------------------------------------------------------ phases

    def begin_phase(
        self, group: GroupTrack, member: MemberTrack, phase: Phase, at_us: int, waits_on: tuple[str, ...] = ()
    ) -> None:
        """A member enters a phase and leaves the one it was in; one that it is in already goes on."""
        activity = member.activity
        if activity is not None and activity.phase is phase:
            if activity.waits_on != waits_on:
                member.wait_on(waits_on)
            return
        self.end_phase(group, member, at_us)
        member.enter(phase, group.rebalance_id, waits_on)
        self.tell(group, PhaseBegan(**member_fields(group, member), phase=phase, waits_on=waits_on), at_us)

    def end_phase(self, group: GroupTrack, member: MemberTrack, at_us: int) -> None:
        """A member leaves the phase it is in, if any."""
        activity = member.activity
        if activity is not None:
            words = member_fields(group, member, activity.rebalance_id)
            self.tell(group, PhaseEnded(**words, phase=activity.phase, waits_on=activity.waits_on), at_us)
            member.leave_phase()

    # ------------------------------------------------------------------ partitions

    def demand(self, group: GroupTrack, member: MemberTrack, partitions: Partitions, at_us: int) -> None:
        """A member was told to give up partitions."""
        if partitions:
            member.take_demand(partitions)
            self.tell(group, PartitionsTold(**member_fields(group, member), partitions=member.write(partitions)), at_us)

    def release(
        self, group: GroupTrack, member: MemberTrack, partitions: Partitions, at_us: int, idle_us: int = 0
    ) -> None:
        """A member uses these no more, and has not for `idle_us`."""
        if partitions:
            member.release(partitions)
            self.stop_fetching(group, member, partitions, at_us)
            words = member_fields(group, member)
            self.tell(group, PartitionsReleased(**words, partitions=member.write(partitions), idle_us=idle_us), at_us)

    def assign(self, group: GroupTrack, member: MemberTrack, partitions: Partitions, at_us: int) -> None:
        """A member was given these besides what it has; it is to fetch them now."""
        if not partitions:
            return
        member.gain(partitions)
        if not group.is_led:
            group.last_holders.update(dict.fromkeys(partitions, member.member_id))
        words, names = member_fields(group, member), member.write(partitions)
        count, is_again = len(member.assigned), member.gets_again(partitions)
        self.tell(group, PartitionsAssigned(**words, partitions=names, assigned_count=count, is_again=is_again), at_us)
        if not member.unfetched:
            member.begin_fetching(group.rebalance_id)
            self.tell(group, PhaseBegan(**words, phase=Phase.FETCHING), at_us)
        member.await_fetch(partitions, group.rebalance_id)
        self._await_fetches(group, member, partitions)

    def learn(self, group: GroupTrack, member: MemberTrack, inputs: Inputs) -> Inputs:
        """A member says anew who and what it is; its Fetches are awaited from that client from now on.

        Gives what it said before. A wait that stayed with the former name outlived its member.
        """
        before = member.inputs
        if (before.client_id, before.client_host) == (inputs.client_id, inputs.client_host):
            member.learn(inputs)
            return before
        waiting = member.unfetched
        self._forget_fetches(group, member, waiting)
        member.learn(inputs)
        self.last_heard.enter(inputs)
        self.last_heard.leave(before)
        self._await_fetches(group, member, waiting)
        return before

    def _await_fetches(self, group: GroupTrack, member: MemberTrack, partitions: Partitions) -> None:
        if not partitions:
            return
        awaited = self.awaiting.setdefault((member.inputs.client_id, member.inputs.client_host), {})
        for partition in partitions:
            awaited.setdefault(partition, {})[group.group_id, member.member_id] = (group, member)

    def fetch(self, group: GroupTrack, member: MemberTrack, partitions: Partitions, at_us: int) -> None:
        """A Fetch names these for the first time."""
        dealt = member.dealt_by(partitions) if member.dealt_later else {member.fetch_rebalance: partitions}
        for rebalance_id, share in dealt.items():
            words = member_fields(group, member, rebalance_id)
            self.tell(group, PartitionsFetched(**words, partitions=member.write(share)), at_us)
        self.stop_fetching(group, member, partitions, at_us)

    def stop_fetching(self, group: GroupTrack, member: MemberTrack, partitions: Partitions, at_us: int) -> None:
        """These are not waited for any more."""
        gone = member.unfetched & partitions
        if not gone:
            return
        self._forget_fetches(group, member, gone)
        member.end_fetch(gone)
        if not member.unfetched:
            words = member_fields(group, member, member.fetch_rebalance)
            self.tell(group, PhaseEnded(**words, phase=Phase.FETCHING), at_us)

    def _forget_fetches(self, group: GroupTrack, member: MemberTrack, partitions: Partitions) -> None:
        key = (member.inputs.client_id, member.inputs.client_host)
        awaited = self.awaiting.get(key)
        if awaited is None:
            return
        owner = group.group_id, member.member_id
        for partition in partitions:
            waiting = awaited.get(partition)
            if waiting is not None:
                waiting.pop(owner, None)
                if not waiting:
                    del awaited[partition]
        if not awaited:
            del self.awaiting[key]

    def swap(self, group: GroupTrack, member: MemberTrack, assigned: Partitions, at_us: int) -> Partitions:
        """An answer says what a member has now: what is new is assigned, what is missing has to be given up.

        Gives what it has to give up.
        """
        lost = member.assigned - assigned
        self.assign(group, member, assigned - member.assigned, at_us)
        self.demand(group, member, lost - member.told, at_us)
        return lost or NO_PARTITIONS


def _keep(kept: dict[MemberId, MemberTrack], member: MemberTrack, most: int) -> None:
    """Keep the last so many."""
    kept.pop(member.member_id, None)
    kept[member.member_id] = member
    if len(kept) > most:
        del kept[next(iter(kept))]
