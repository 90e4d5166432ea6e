"""Where groups go that the bridge hears of for the first time since it started, or whose rule has changed: looked up at
their brokers before the first of their requests is answered or passed on.
"""

import logging
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

import trio

from bridge.coordinators.shared_looks import SharedLook, shared_look
from bridge.log_lines import LogFields
from bridge.migration.look_turns import LookTurns
from bridge.migration.placement import (
    Stay,
    StayReason,
    classic_members,
    judge_stay,
    stay_for_ability,
    stay_for_kind,
    stay_in_journal,
)
from bridge.migration.route import Road, Router, Rule
from bridge.ports import Broker, BrokerUnreachable, GroupRefused
from translators.dialects.admin import DescribedGroup
from translators.dialects.consumer import DescribedConsumerGroup
from translators.dialects.errors import ErrorCode, Refusal, quote
from translators.dialects.ids import GroupId
from translators.dialects.places import place_of

LOG = logging.getLogger("epochbridge.coordinators")
LOOK_TIMEOUT_S = 5.0
"""How long the first request of a group may wait for its broker's word before its client is told to try again."""
LOOKS_AT_ONCE_MAX = 32
"""How many groups are looked up at once: each look takes some connections of its own."""
LOOK_AGAIN_MS = 5_000
"""A group that was found with members is not looked up again before this, however many of them join."""
JOIN_ECHO_MS = 10_000
"""How long a JoinGroup that passed may not show in its broker's description: until then no group counts as empty."""
_OTHER_BY_NOW = frozenset({ErrorCode.GROUP_ID_NOT_FOUND, ErrorCode.INCONSISTENT_GROUP_PROTOCOL})
_IS_SAID = frozenset(
    {
        ErrorCode.NONE,
        ErrorCode.GROUP_ID_NOT_FOUND,
        ErrorCode.GROUP_AUTHORIZATION_FAILED,
        # Of a consumer group with members, one of whose topics the bridge may not see: that it lives is said by this.
        ErrorCode.TOPIC_AUTHORIZATION_FAILED,
    }
)
_NOT_ASKED = ErrorCode.COORDINATOR_NOT_AVAILABLE
Lives = Callable[[GroupId], Road | None]
"""The road on which the bridge has members of a group; None: it has none."""


class GroupPlaces:
    """Looks groups up, tells the router of those that stay where they live, and says so in the log, once each."""

    def __init__(
        self, router: Router, broker: Broker, lives: Lives, holds: Callable[[GroupId], bool], now_ms: Callable[[], int]
    ) -> None:
        """`lives` tells where the bridge has members, `holds` whether it has a group of that name at all."""
        self.stays: dict[GroupId, Stay] = {}
        """The groups that no rule sends where they are, for people."""
        self.may_ask: Callable[[], bool] = lambda: True
        """Whether groups are served at all: where not, nobody needs to be asked."""
        self.speaks_consumer_protocol: Callable[[], bool] = lambda: True
        """Whether the brokers can have members of the consumer protocol, as far as is known."""
        self._router = router
        self._broker = broker
        self._lives = lives
        self._holds = holds
        self._now_ms = now_ms
        self._asked: dict[tuple[GroupId, str], SharedLook] = {}
        self._looks: dict[GroupId, SharedLook] = {}
        self._turns = LookTurns[trio.Event](LOOKS_AT_ONCE_MAX)
        self._looked_ms: dict[GroupId, int] = {}
        self._joined_ms: dict[GroupId, int] = {}
        router.forgot_stay = self._forget

    def keep_living(self, group_ids: Iterable[GroupId]) -> None:
        """Groups of the journal with members stay on their road, whatever a rule that has changed says by now."""
        for group_id in group_ids:
            road, rule = self._lives(group_id), self._router.road(group_id)
            moved = self._router.moved.get(group_id, {})
            if self._router.place(group_id) is not None or road in moved.values():
                # It was moved there, or some of its members were: that is no stay.
                self._router.note_looked_up(group_id)
                continue
            if road is not None and road is not rule:
                self._stay(stay_in_journal(group_id, road, rule))
            elif road is not None:
                self._router.note_looked_up(group_id)

    def change_rules(self, rules: Sequence[Rule], living: Iterable[GroupId]) -> None:
        """Have groups begin by these rules from now on; `living` are those with members here, which stay.

        Raises PatternUnreadable, and changes nothing.
        """
        self._router.change_rules(rules)
        for stay in tuple(self.stays.values()):
            rule = self._router.road_by_rule(stay.group_id)
            if rule is stay.road:
                del self.stays[stay.group_id]
                self._router.end_stay(stay.group_id)
            else:
                self.stays[stay.group_id] = replace(stay, rule=rule)
        self.keep_living(living)

    def is_known(self, group_id: GroupId) -> bool:
        """Whether a group's requests may go where the router says, without a look."""
        return self._router.is_looked_up(group_id) or self._holds(group_id) or not self.may_ask()

    def has_members(self, group_id: GroupId) -> bool:
        """Whether the bridge has members of a group."""
        return self._lives(group_id) is not None

    def report_kind(self, group_id: GroupId, kind: str) -> None:
        """The broker let somebody into a group of that name that is no consumer group."""
        rule = self._router.road(group_id)
        if rule is not Road.PASS and self._lives(group_id) is None:
            self._stay(stay_for_kind(group_id, rule, kind))
            if group_id in self._router.staying:
                self._joined_ms[group_id] = self._now_ms()

    def note_refusal(self, group_id: GroupId, code: ErrorCode) -> None:
        """A broker would not have a member in a group that it was to coordinate: it may be a group of another kind by
        now, or one that its policy does not let become a consumer group. It is looked up again.
        """
        if code in _OTHER_BY_NOW:
            self._router.forget_looked_up(group_id)

    async def place(self, group_id: GroupId, client_host: str) -> Refusal | None:
        """Find out where a group goes, and have the router know it; the refusal if that can't be found out now.

        It waits for what is asked from its own address, or under way: no other's line keeps it waiting.
        """
        key = group_id, place_of(client_host)
        while (running := self._looks.get(group_id) or self._asked.get(key)) is not None:
            await running.done.wait()
            if running.is_over:
                return running.refusal
            # Whoever is first to notice looks in its own time.
        if group_id in self._router.staying:
            if not self._may_have_ended(group_id):
                return None
        elif self.is_known(group_id):
            return None
        with shared_look(self._asked, key) as asked:
            asked.refusal = await self._look_in_turn(group_id, client_host)
            asked.is_over = True
        return asked.refusal

    async def _look_in_turn(self, group_id: GroupId, client_host: str) -> Refusal | None:
        """The look, by whoever's turn comes first of those who ask for it."""
        ticket = trio.Event()
        _begin(self._turns.ask(client_host, ticket))
        try:
            with trio.fail_after(LOOK_TIMEOUT_S):
                await ticket.wait()
                while (running := self._looks.get(group_id)) is not None:
                    await running.done.wait()
                    if running.is_over:
                        return running.refusal
                if self._was_looked_up(group_id):
                    return None
                with shared_look(self._looks, group_id) as look:
                    look.refusal = await self._look(group_id)
                    look.is_over = True
                return look.refusal
        except trio.TooSlowError:
            if self.is_known(group_id):
                # It was found out for another address meanwhile.
                return None
            why = f"no answer within {LOOK_TIMEOUT_S:.0f} s"
            if not ticket.is_set():
                why = (
                    f"from {client_host} as many other groups are looked up as one address may have at once, and none"
                    f" of those in front of this one came to its turn within {LOOK_TIMEOUT_S:.0f} s"
                )
            return self._fail(group_id, why)
        finally:
            _begin(self._turns.leave(client_host, ticket))

    def _was_looked_up(self, group_id: GroupId) -> bool:
        """Whether somebody else had the answer while this one waited for its turn."""
        if group_id in self._router.staying:
            return self._now_ms() - self._looked_ms.get(group_id, -LOOK_AGAIN_MS) < LOOK_AGAIN_MS
        return self.is_known(group_id)

    def _may_have_ended(self, group_id: GroupId) -> bool:
        """Whether a look could find that a group is empty by now which stays where no rule sends it."""
        now_ms, road = self._now_ms(), self._router.staying[group_id]
        if road is not Road.PASS:
            if self._lives(group_id) is None:
                self._end_stay(group_id)
                return self._router.road(group_id) is not Road.PASS
            return False
        joined_ms, self._joined_ms[group_id] = self._joined_ms.get(group_id, -JOIN_ECHO_MS), now_ms
        is_rested = now_ms - joined_ms >= JOIN_ECHO_MS
        return is_rested and now_ms - self._looked_ms.get(group_id, -LOOK_AGAIN_MS) >= LOOK_AGAIN_MS

    async def _look(self, group_id: GroupId) -> Refusal | None:
        rule = self._router.road_by_rule(group_id)
        try:
            described = await self._broker.describe_group(group_id)
        except GroupRefused:
            # The bridge may not look: what it may not see is for the coordinator of its rule's road to judge.
            self.go_by_rule(group_id)
            return None
        except BrokerUnreachable as problem:
            return self._fail(group_id, str(problem))
        if described.error not in _IS_SAID:
            return self._fail(group_id, f"the broker describes the group with {described.error.name}")
        self._looked_ms[group_id] = self._now_ms()
        stay = judge_stay(group_id, rule, described)
        if stay is None and rule is Road.UPSTREAM and not self.speaks_consumer_protocol():
            stay = stay_for_ability(group_id, rule)
        # Somebody may have joined here while the broker was asked: one name is one group.
        if stay is None or self._holds(group_id):
            self._let_classic_members_pass(group_id, rule, described)
            self.go_by_rule(group_id)
        else:
            self._stay(stay)
        return None

    def _let_classic_members_pass(
        self, group_id: GroupId, rule: Road, described: DescribedGroup | DescribedConsumerGroup
    ) -> None:
        """Classic members of a consumer group are the broker's: on its rule's road nobody would know them, and each
        would be told to join anew.
        """
        if rule is Road.UPSTREAM and isinstance(described, DescribedConsumerGroup):
            moved = self._router.moved.get(group_id, {})
            for member_id in classic_members(described):
                if member_id not in moved:
                    self._router.let_pass(group_id, member_id)

    def _fail(self, group_id: GroupId, why: str) -> Refusal | None:
        """Nothing is known of a group: it stays where it was last, or its client is told to try again."""
        if group_id in self._router.staying:
            return None
        reason = (
            f"EB-GROUP-022: it can't be found out what the brokers have of that name: {quote(why)}; "
            "the client tries again"
        )
        return Refusal(_NOT_ASKED, reason)

    def go_by_rule(self, group_id: GroupId) -> None:
        """A group stays nowhere against its rule any more, and needs no look: it is empty, or was moved."""
        self._end_stay(group_id)
        self._router.note_looked_up(group_id)

    def _forget(self, group_id: GroupId) -> Stay | None:
        """Nothing is known of where a group stays, against its rule or not."""
        self._looked_ms.pop(group_id, None)
        self._joined_ms.pop(group_id, None)
        return self.stays.pop(group_id, None)

    def _end_stay(self, group_id: GroupId) -> None:
        stay = self._forget(group_id)
        self._router.end_stay(group_id)
        if stay is not None:
            told = "EB-GROUP-021: group %r is empty on road %s and goes by its rule now, which says %s"
            LOG.info(told, quote(group_id), stay.road, stay.rule, extra=_fields(stay))

    def _stay(self, stay: Stay) -> None:
        if not self._router.let_stay(stay.group_id, stay.road):
            self._looked_ms.pop(stay.group_id, None)
            self._router.note_looked_up(stay.group_id)
            return
        known = self.stays.get(stay.group_id)
        self.stays[stay.group_id] = stay
        if known is None or (known.road, known.reason, known.kind) != (stay.road, stay.reason, stay.kind):
            level = logging.INFO if stay.reason is StayReason.KIND else logging.WARNING
            told = "EB-GROUP-020: group %r stays on road %s, its rule says %s: %s; %s"
            words = quote(stay.group_id), stay.road, stay.rule, stay.sentence, stay.remedy
            LOG.log(level, told, *words, extra=_fields(stay))


def _begin(tickets: Iterable[trio.Event]) -> None:
    for ticket in tickets:
        ticket.set()


def _fields(stay: Stay) -> LogFields:
    return LogFields(group_id=stay.group_id, road=stay.road.value)
