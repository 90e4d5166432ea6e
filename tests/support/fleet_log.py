"""An event log of groups that rebalance, as large as wanted, and what is true of it.

It knows how classic and KIP-848 groups behave; it must not know how anything is worked out from the log.
"""

import random
from collections import Counter
from dataclasses import dataclass, field

from bridge.telemetry.schema.facts import (
    Event,
    Fact,
    RebalanceBegan,
    RebalanceEnded,
    RebalanceExplained,
    Stamp,
    TargetComputed,
)
from bridge.telemetry.schema.terms import Cause, News, Outcome, Phase, Protocol, Road
from tests.support.fleet_words import AboutGroup, MemberWords

DAY_US = 86_400_000_000
EPOCH_US = 20_410 * DAY_US - 1_800_000_000
"""Half an hour before a midnight, so that a log has two days."""
MINUTE_US = 60_000_000
FLAP_US = 10 * MINUTE_US


@dataclass(frozen=True, slots=True, kw_only=True)
class FleetPlan:
    """What the log is about: every second group is classic, the others speak KIP-848.

    A lasting fleet is the same in every run: its groups and members are called alike, whatever the run's `boot`. On
    road `pass` the log has what answers tell: not what a consumer group is to come to, nor who waits for a release.
    """

    boot: str = "b1"
    seed: int = 1
    groups: int = 4
    members: int = 6
    partitions: int = 12
    rebalances: int = 20
    pause_us: int = 2 * MINUTE_US
    group_name: str = "group"
    topic: str = "orders"
    is_lasting: bool = False
    road: Road = Road.EMBEDDED


@dataclass(frozen=True, slots=True)
class TrueStall:
    """A partition that stood still, from whom to whom and how long."""

    group_id: str
    partition: str
    before: str
    after: str
    stall_us: int


@dataclass(frozen=True, slots=True)
class TrueRebalance:
    """What a rebalance came to."""

    group_id: str
    rebalance_id: str
    cause: str
    moved: int
    told: int
    disturbed_members: tuple[str, ...]
    duration_us: int


@dataclass(slots=True)
class Truth:
    """What the tables must say."""

    events: int = 0
    phase_count: Counter[str] = field(default_factory=Counter)
    phase_us: Counter[str] = field(default_factory=Counter)
    rebalances: list[TrueRebalance] = field(default_factory=list)
    stalls: list[TrueStall] = field(default_factory=list)
    flaps: int = 0
    members: int = 0


class FleetLog:
    """Writes down what the groups of a plan do, and what is true of it."""

    def __init__(self, plan: FleetPlan) -> None:
        self.truth = Truth()
        self._plan = plan
        self._told: list[tuple[int, Fact]] = []
        for number in range(plan.groups):
            protocol = Protocol.CLASSIC if number % 2 == 0 else Protocol.CONSUMER
            name = f"{plan.group_name}-{number}"
            GroupLife(self, plan, name if plan.is_lasting else f"{name}-{plan.boot}", protocol).live()

    def tell(self, at_us: int, *facts: Fact) -> None:
        """Facts at a time of the run."""
        self._told.extend((at_us, fact) for fact in facts)

    def events(self) -> list[Event]:
        """Everything in order of time, stamped."""
        ordered = sorted(self._told, key=lambda told: told[0])
        self.truth.events = len(ordered)
        return [
            Event(Stamp(self._plan.boot, place, EPOCH_US + at_us, at_us), fact)
            for place, (at_us, fact) in enumerate(ordered, start=1)
        ]


class GroupLife:
    """One group: members come, and then partitions go back and forth between two of them at a time."""

    def __init__(self, log: FleetLog, plan: FleetPlan, group_id: str, protocol: Protocol) -> None:
        self._log, self._plan = log, plan
        self._group_id, self._protocol = group_id, protocol
        self._draw = random.Random(f"{plan.seed} {group_id}")
        self._members = [f"{group_id}-m{number}" for number in range(plan.members)]
        self._owner = {f"{plan.topic}-{n}": self._members[n % plan.members] for n in range(plan.partitions)}
        self._history = {partition: [(owner, 0)] for partition, owner in self._owner.items()}
        self._epoch = 1
        self._assigned_us = 0
        self._now_us = self._draw.randrange(MINUTE_US)

    def live(self) -> None:
        """Come, and rebalance as often as planned."""
        self._come()
        for _ in range(self._plan.rebalances):
            self._now_us += self._plan.pause_us + self._draw.randrange(MINUTE_US)
            self._rebalance()

    def _words(self, member_id: str, rebalance_id: str) -> MemberWords:
        return MemberWords(self._group_id, rebalance_id, self._epoch, self._protocol, member_id, self._plan.road)

    @property
    def _is_hidden(self) -> bool:
        """Whether a broker decides what nobody else hears of."""
        return self._plan.road is Road.PASSING and self._protocol is Protocol.CONSUMER

    def _come(self) -> None:
        for number, member in enumerate(self._members):
            words = self._words(member, "")
            mine = self._of(member)
            at_us = self._now_us + number
            self._log.tell(at_us, words.joined(number), words.assigned(mine, len(mine)), words.fetched(mine))
            self._log.truth.members += 1
        self._history = {one: [(owner, self._now_us)] for one, owner in self._owner.items()}

    def _of(self, member: str) -> list[str]:
        return [partition for partition, owner in self._owner.items() if owner == member]

    def _rebalance(self) -> None:
        self._epoch += 1
        run = f"{self._plan.boot}-" if self._plan.is_lasting else ""
        rebalance_id = f"{self._group_id}-{run}{self._epoch}"
        giver = self._draw.choice([member for member in self._members if self._of(member)])
        taker = self._draw.choice([member for member in self._members if member != giver])
        moved = self._draw.choice(self._of(giver))
        begin_us = self._now_us
        about = AboutGroup(
            group_id=self._group_id, road=self._plan.road, rebalance_id=rebalance_id, group_epoch=self._epoch
        )
        self._log.tell(begin_us, RebalanceBegan(**about))
        target = TargetComputed(
            **about,
            assignor="uniform",
            moved=1,
            forced_minimum=0,
            member_count=len(self._members),
            partition_count=len(self._owner),
        )
        if not self._is_hidden:
            self._log.tell(begin_us + 1, target)
        if self._protocol is Protocol.CLASSIC:
            told, disturbed = self._everybody_rejoins(rebalance_id, moved, taker)
        else:
            told, disturbed = self._giver_revokes(rebalance_id, moved, taker)
        self._note_owner(moved, taker)
        self._now_us += 1
        cause = self._draw.choice([Cause.LEADER_REJOINED, Cause.SUBSCRIPTION_CHANGED, Cause.DEPLOY_WAVE])
        ended = RebalanceEnded(**about, outcome=Outcome.COMPLETED)
        explained = RebalanceExplained(
            **about,
            cause=cause,
            caused_by=(giver,),
            evidence=(),
            critical_member=giver,
            critical_phase=Phase.REVOKING,
            waited_us=1_000,
            sentence=f"{giver} made it happen",
        )
        self._log.tell(self._now_us, ended, explained)
        duration_us = self._now_us - begin_us
        self._log.truth.rebalances.append(
            TrueRebalance(self._group_id, rebalance_id, cause, 1, told, tuple(sorted(disturbed)), duration_us)
        )

    def _everybody_rejoins(self, rebalance_id: str, moved: str, taker: str) -> tuple[int, list[str]]:
        """Eager: all give up all, all join, all are given again; one partition goes elsewhere."""
        giver, told_us = self._owner[moved], self._now_us + 2
        released_us = {member: told_us + self._draw.randrange(1_000, 400_000) for member in self._members}
        joined_us = max(released_us.values()) + 10
        synced_us = joined_us + self._draw.randrange(1_000, 20_000)
        before = {member: self._of(member) for member in self._members}
        self._owner[moved] = taker
        last_us = self._assigned_us = synced_us
        for member in self._members:
            words = self._words(member, rebalance_id)
            self._log.tell(told_us, words.told(News.REJOIN))
            self._phase(words, Phase.REVOKING, told_us, released_us[member])
            self._phase(words, Phase.JOINING, released_us[member], joined_us)
            self._phase(words, Phase.SYNCING, joined_us, synced_us)
            if before[member]:
                self._log.tell(released_us[member], words.released(before[member]))
            after = self._of(member)
            if after:
                last_us = max(last_us, self._resume(words, after, synced_us, released_us))
        self._now_us = last_us
        return len(self._members), [one for one in self._members if before[one] and one not in {giver, taker}]

    def _resume(self, words: MemberWords, after: list[str], synced_us: int, released_us: dict[str, int]) -> int:
        fetched_us = synced_us + self._draw.randrange(1_000, 50_000)
        self._log.tell(synced_us, words.assigned(after, len(after)))
        self._phase(words, Phase.FETCHING, synced_us, fetched_us)
        self._log.tell(fetched_us, words.fetched(after))
        for partition in after:
            before = self._history[partition][-1][0]
            self._stall(partition, before, words.member_id, fetched_us - released_us[before])
        return fetched_us

    def _giver_revokes(self, rebalance_id: str, moved: str, taker: str) -> tuple[int, list[str]]:
        """KIP-848: one is told to give one partition up, one gets it, nobody else notices."""
        giver, told_us = self._owner[moved], self._now_us + 2
        released_us = told_us + self._draw.randrange(1_000, 400_000)
        assigned_us = released_us + self._draw.randrange(1_000, 20_000)
        fetched_us = assigned_us + self._draw.randrange(1_000, 50_000)
        gives, takes = self._words(giver, rebalance_id), self._words(taker, rebalance_id)
        self._log.tell(told_us, gives.told(News.REVOKE), gives.to_release([moved]))
        self._phase(gives, Phase.REVOKING, told_us, released_us)
        self._log.tell(released_us, gives.released([moved]))
        if not self._is_hidden:
            self._phase(takes, Phase.AWAITING_RELEASE, told_us, assigned_us)
        self._log.tell(assigned_us, takes.told(News.ASSIGN))
        self._owner[moved] = taker
        self._log.tell(assigned_us, takes.assigned([moved], len(self._of(taker))))
        self._phase(takes, Phase.FETCHING, assigned_us, fetched_us)
        self._log.tell(fetched_us, takes.fetched([moved]))
        self._stall(moved, giver, taker, fetched_us - told_us)
        self._assigned_us = assigned_us
        self._now_us = fetched_us
        return 1, []

    def _phase(self, words: MemberWords, phase: Phase, begin_us: int, end_us: int) -> None:
        begin, end = words.phase(phase)
        self._log.tell(begin_us, begin)
        self._log.tell(end_us, end)
        self._log.truth.phase_count[phase] += 1
        self._log.truth.phase_us[phase] += end_us - begin_us

    def _stall(self, partition: str, before: str, after: str, stall_us: int) -> None:
        self._log.truth.stalls.append(TrueStall(self._group_id, partition, before, after, stall_us))

    def _note_owner(self, partition: str, taker: str) -> None:
        """A partition that comes back within ten minutes of its loss is a flap."""
        history = self._history[partition]
        is_back = len(history) > 1 and history[-2][0] == taker
        if is_back and self._assigned_us - history[-1][1] <= FLAP_US:
            self._log.truth.flaps += 1
        history.append((taker, self._assigned_us))
