"""A client that speaks the classic protocol, eager or cooperative, with the habits of its library."""

from collections.abc import Callable, Iterable

from bridge.whatif.membership import CLASSIC_RETRIED, ClassicMembership, Timeouts
from tests.support.simulation.actor import GROUP, RETRY_MS, Actor, Outside, Partitions, Role
from tests.support.simulation.network import Then
from tests.support.simulation.oracle import InvariantBroken
from translators.dialects.classic import (
    HeartbeatReply,
    JoinGroupReply,
    LeaveGroupReply,
    SyncGroupReply,
)
from translators.dialects.consumer_protocol import Subscription, decode_assignment
from translators.dialects.errors import FIRST_CODE_UNKNOWN_TO_CLASSIC_CLIENTS, ErrorCode
from translators.dialects.ids import NO_MEMBER_ID, TopicName
from translators.dialects.messages import GroupReply


class ClassicActor(Actor):
    """JoinGroup, SyncGroup, Heartbeat, LeaveGroup as consumers send them."""

    def __init__(self, role: Role, outside: Outside) -> None:
        super().__init__(role, outside)
        self.generation = -1
        self.is_joining = False
        self.wants_join = False
        self._round = 0
        self._left_in_round = 0
        self._beats_open = 0
        self._handed: dict[tuple[str, int], Partitions] = {}
        self._highest = 0
        self._said_topics = role.topics

    @property
    def epoch(self) -> int:
        """The generation."""
        return self.generation

    @property
    def membership(self) -> ClassicMembership:
        """Who it is to the group."""
        return ClassicMembership(
            group_id=GROUP, instance_id=self.role.instance_id, member_id=self.member_id, generation=self.generation
        )

    @property
    def is_settled(self) -> bool:
        """Whether it has joined and wants nothing."""
        return self.generation > 0 and not self.is_joining and not self.wants_join

    def start(self) -> None:
        """Join, and beat from then on."""
        super().start()
        self._begin_round()
        self.later(self.chance.randint(0, self.role.profile.heartbeat_ms), self._beat_again)

    def leave(self) -> None:
        """Give everything up and say LeaveGroup; static members just go (clients.md)."""
        self._round += 1
        self.is_joining = True
        self.give_up(self.owned, self._say_goodbye)

    def resubscribe(self, topics: Iterable[TopicName]) -> None:
        """Join again; one that is about to join, or has said what it wanted, does so afterwards."""
        super().resubscribe(topics)
        if self.generation > 0:
            self._want_round(0)

    def on_commit_refused(self, code: ErrorCode) -> None:
        """Treat a refused commit as libraries do: the stale rejoin, the others wait for their heartbeat."""
        if code in {ErrorCode.ILLEGAL_GENERATION, ErrorCode.UNKNOWN_MEMBER_ID} and not self.is_joining:
            self._lose_seat(code)

    def _say_goodbye(self) -> None:
        if self.role.instance_id is None and self.member_id:
            self.send(self.membership.leave(), self._end)
            self.later(500, self.die)
        else:
            self.die()

    def _end(self, reply: GroupReply | None) -> None:
        if isinstance(reply, LeaveGroupReply):
            self._check_code(reply.error)
        self.die()

    # ------------------------------------------------------------------ rounds of join and sync

    def _want_round(self, delay_ms: int) -> None:
        if not self.is_joining and not self.wants_join:
            self.wants_join = True
            self.later(delay_ms, self._begin_wanted)

    def _begin_wanted(self) -> None:
        if self.wants_join:
            self._begin_round()

    def _begin_round(self) -> None:
        self._round += 1
        self.is_joining, self.wants_join = True, False
        self._left_in_round = self.role.profile.rounds
        if self.role.profile.is_cooperative:
            self._join()
        else:
            self.give_up(self.owned, self._in_round(self._join))

    def _in_round(self, action: Callable[[], None]) -> Callable[[], None]:
        number = self._round
        return lambda: action() if self._round == number else None

    def _then(self, react: Then) -> Then:
        """React only if the round is still the same when the answer comes."""
        number = self._round
        return lambda reply: react(reply) if self._round == number else None

    def _join(self) -> None:
        profile = self.role.profile
        self.standing.treatment.joins += 1
        owned = self.owned if profile.is_cooperative else frozenset()
        self._said_topics = self.role.topics
        subscription = Subscription(
            version=profile.subscription_version,
            topics=self.role.topics,
            owned=owned if profile.subscription_version > 0 else None,
            generation=self.generation if profile.is_cooperative else -1,
            user_data=b"",
        )
        offered = profile.protocols[: len(profile.protocols) - self._left_in_round + 1] if profile.rounds > 1 else None
        request = self.membership.join(
            offered or profile.protocols,
            subscription,
            Timeouts(session_ms=profile.session_ms, rebalance_ms=profile.rebalance_ms),
            needs_member_id=profile.needs_member_id,
        )
        self.note(f"JoinGroup {self.member_id!r} owned {_short(owned)}")
        sent_ms = self.outside.timeline.now_ms
        self.send(request, self._then(lambda reply: self._joined(reply, sent_ms)))

    def _joined(self, reply: GroupReply | None, sent_ms: int) -> None:
        if not isinstance(reply, JoinGroupReply):
            self.later(RETRY_MS, self._in_round(self._join))
            return
        treatment = self.standing.treatment
        treatment.longest_park_ms = max(treatment.longest_park_ms, self.outside.timeline.now_ms - sent_ms)
        self.note(f"join answered {reply.error.name} {reply.member_id!r} generation {reply.generation}")
        self._check_code(reply.error)
        if reply.error is ErrorCode.NONE:
            self._accept(reply)
        elif reply.error is ErrorCode.MEMBER_ID_REQUIRED:
            self.member_id = reply.member_id
            treatment.joins -= 1
            self._join()
        elif reply.error in CLASSIC_RETRIED:
            treatment.joins -= 1
            self.later(RETRY_MS, self._in_round(self._join))
        else:
            self._lose_seat(reply.error)

    def _accept(self, reply: JoinGroupReply) -> None:
        if reply.generation < 1 or reply.leader or reply.members:
            raise InvariantBroken("nobody leads, and a generation is at least 1", f"{self.role.name} got {reply}")
        if reply.member_id == self.member_id and reply.generation < self._highest and not self._may_start_anew():
            raise InvariantBroken("generations never fall", f"{self.role.name}: {self._highest} then {reply}")
        self.member_id, self.generation, self._highest = reply.member_id, reply.generation, reply.generation
        if self._may_start_anew():
            self._handed.clear()
        self.outside.oracle.admit(self.role.number)
        self._left_in_round -= 1
        if self._left_in_round:
            self._join()
            return
        self.send(self.membership.sync(reply), self._then(self._synced))

    def _may_start_anew(self) -> bool:
        return self.outside.oracle.may_be_unknown(self.role.number)

    def _synced(self, reply: GroupReply | None) -> None:
        if not isinstance(reply, SyncGroupReply):
            self._begin_round()
            return
        self._check_code(reply.error)
        if reply.error is ErrorCode.NONE:
            self._assigned(decode_assignment(reply.assignment).partitions)
        elif reply.error in CLASSIC_RETRIED:
            self.later(RETRY_MS, self._in_round(self._begin_round))
        else:
            self._lose_seat(reply.error)

    def _assigned(self, assigned: Partitions) -> None:
        known = self._handed.setdefault((self.member_id, self.generation), assigned)
        if not known <= assigned:
            seen = f"{self.role.name} at {self.generation}: {_short(known)} then {_short(assigned)}"
            raise InvariantBroken("a generation keeps its assignment", seen)
        self.note(f"assigned {_short(assigned)} at generation {self.generation}")
        lost = self.owned - assigned
        self.give_up(lost, self._in_round(lambda: self._finish_round(assigned, bool(lost))))

    def _finish_round(self, assigned: Partitions, rejoins: bool) -> None:
        self.take(assigned - self.owned)
        self.is_joining = False
        if (rejoins and not self.role.profile.waits_for_call) or self._said_topics != self.role.topics:
            self._want_round(self.role.profile.rejoin_ms)

    # ------------------------------------------------------------------ heartbeats

    def _beat_again(self) -> None:
        parallel = self.role.profile.parallel_beats
        if self.generation > 0 and (parallel or not (self.is_joining or self._beats_open)):
            self._beats_open += 1
            number, is_joining = self._round, self.is_joining
            self.send(self.membership.heartbeat(), lambda reply: self._beaten(reply, None if is_joining else number))
        self.later(self.role.profile.heartbeat_ms, self._beat_again)

    def _beaten(self, reply: GroupReply | None, number: int | None) -> None:
        self._beats_open -= 1
        if not isinstance(reply, HeartbeatReply) or reply.error is ErrorCode.NONE:
            return
        self._check_code(reply.error)
        if number != self._round or self.is_joining:
            return
        if reply.error is ErrorCode.REBALANCE_IN_PROGRESS:
            if not self.wants_join:
                self.note("called")
                self.standing.treatment.calls += 1
            self._want_round(self.role.profile.reaction_ms)
        elif reply.error not in CLASSIC_RETRIED:
            self._lose_seat(reply.error)

    def _lose_seat(self, code: ErrorCode) -> None:
        """Everything is lost; who was told that its id is unknown, joins without one."""
        self.note(f"loses its seat: {code.name}")
        self._check_expulsion(code)
        self.standing.treatment.fences += 1
        if code is ErrorCode.UNKNOWN_MEMBER_ID:
            is_stubborn = self.role.profile.keeps_id_when_unknown and self.generation > 0
            self.member_id = self.member_id if is_stubborn else NO_MEMBER_ID
        elif code is ErrorCode.ILLEGAL_GENERATION:
            self.member_id = NO_MEMBER_ID if self.role.profile.drops_id_when_stale else self.member_id
        else:
            self.fail(code)
            return
        self.generation = -1
        self.drop(self.owned)
        self._begin_round()

    def _check_expulsion(self, code: ErrorCode) -> None:
        known = self.member_id and self.generation > 0
        if known and not self.outside.oracle.may_be_unknown(self.role.number):
            raise InvariantBroken("nobody is fenced who lives", f"{self.role.name} heard {code.name}")

    def _check_code(self, code: ErrorCode) -> None:
        if code >= FIRST_CODE_UNKNOWN_TO_CLASSIC_CLIENTS:
            raise InvariantBroken("classic clients hear no new codes", f"{self.role.name} heard {code.name}")


def _short(partitions: Partitions) -> str:
    return "{" + ", ".join(f"{topic}-{number}" for topic, number in sorted(partitions)) + "}"
