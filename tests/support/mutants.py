"""Deliberate bugs in machine, engine and owner, as a yardstick for the simulator's laws (reliability 3.4)."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from bridge.coordinators import admission
from bridge.coordinators.catalog import Catalog
from bridge.coordinators.embedded import coordinator
from bridge.coordinators.embedded.engine_commands import to_answer
from bridge.coordinators.exchange import Exchange, TurnResult
from bridge.coordinators.machines import Machines
from bridge.engine import commits, indexes, state
from bridge.engine.commands import Command
from bridge.engine.consumer import reconciliation
from bridge.engine.consumer.reconciliation import Surroundings
from bridge.engine.model import Current, DeadlineKey, DeadlineKind
from bridge.engine.outcome import MemberAnswer
from bridge.engine.state import Deadlines, Shard
from translators.classic_member import calling, completing, joining, preparing, stable
from translators.classic_member.profile import Profile, read_profile
from translators.classic_member.states import CallDue, NotCalled, Stable
from translators.classic_member.tenure import Partitions, Tenure, Vacant, amend, hand_over
from translators.dialects.classic import NO_CLAIM, JoinGroup
from translators.dialects.coordinator import Answer
from translators.dialects.errors import ErrorCode, Refusal
from translators.dialects.ids import MemberRef

Patch = pytest.MonkeyPatch


def grant_before_release(patch: Patch) -> None:
    """A partition is given on while its old owner still has it."""
    patch.setattr(reconciliation, "is_free_for", lambda *_: True)


def forget_pending_revocation(patch: Patch) -> None:
    """A member that was told to let go is taken to have done so (KAFKA-16147)."""
    patch.setattr(reconciliation, "_still_owns", lambda *_: False)


def ignore_commits_in_flight(patch: Patch) -> None:
    """A partition is free though a commit for it is under way."""
    for module in (state, indexes):
        patch.setattr(module, "is_in_flight", lambda *_: False)


def admit_every_commit(patch: Patch) -> None:
    """Nobody is fenced (librdkafka 2782, Jepsen's zombies)."""
    patch.setattr(commits, "judge_commit", lambda *_: ErrorCode.NONE)
    patch.setattr(admission, "admit_commit", lambda *_: ErrorCode.NONE)


def commit_what_others_have(patch: Patch) -> None:
    """Under its own epoch a member may commit everything, as in Kafka."""
    patch.setattr(commits, "may_commit", lambda _state, request, member: request.generation <= member.current.epoch)


def call_at_every_epoch(patch: Patch) -> None:
    """Whoever is behind the group's epoch is told to rejoin, as Kafka does (KAFKA-20272)."""
    patch.setattr(stable, "review_call", lambda *_: CallDue())


def never_expire_classic_sessions(patch: Patch) -> None:
    """The machine's timer is off."""
    known = Machines._deadline_of

    def deadline(self: Machines, key: MemberRef) -> int | None:
        return None if isinstance(self.get(key), Stable) else known(self, key)

    patch.setattr(Machines, "_deadline_of", deadline)


def never_expire_consumer_sessions(patch: Patch) -> None:
    """The engine's timer is off."""
    put = Deadlines.put

    def keep(self: Deadlines, key: DeadlineKey, at_ms: int) -> None:
        if key.kind is not DeadlineKind.SESSION:
            put(self, key, at_ms)

    patch.setattr(Deadlines, "put", keep)


def take_cooperative_for_eager(patch: Patch) -> None:
    """Every JoinGroup counts as "I own nothing"."""
    patch.setattr(joining, "still_using", lambda *_: frozenset())


def readmit_the_forgotten(patch: Patch) -> None:
    """A client whose seat is gone joins and goes on with what it had, which it doesn't even say: else the target would
    mostly give it back (KIP-341).
    """

    def read(request: JoinGroup, former_name: str = "") -> Profile | Refusal:
        profile = read_profile(request, former_name)
        return profile if isinstance(profile, Refusal) else replace(profile, owned=None)

    patch.setattr(joining, "read_profile", read)
    patch.setattr(joining, "read_claim", lambda _: NO_CLAIM)


def begin_at_generation_zero(patch: Patch) -> None:
    """Generation 0 is handed out (clients.md)."""

    def hand(
        tenure: Tenure | Vacant, assignment: Partitions, using: Partitions, *, is_resubscribing: bool = False
    ) -> Tenure:
        given = hand_over(tenure, assignment, using, is_resubscribing=is_resubscribing)
        return replace(given, generation=given.generation - 1) if isinstance(tenure, Vacant) else given

    patch.setattr(preparing, "hand_over", hand)


def keep_the_generation_for_other_topics(patch: Patch) -> None:
    """What a generation was handed out is amended after the client has been given it, by what it is given or loses."""

    def hand(tenure: Tenure | Vacant, assignment: Partitions, using: Partitions, **_: bool) -> Tenure:
        return hand_over(tenure, assignment, using)

    patch.setattr(preparing, "hand_over", hand)
    patch.setattr(completing, "overtake", amend)


def answer_twice(patch: Patch) -> None:
    """An answer is said again."""
    result = Exchange.result

    def twice(self: Exchange[Command]) -> TurnResult:
        said = result(self)
        return replace(said, replies=said.replies + said.replies[-1:])

    patch.setattr(Exchange, "result", twice)


def lose_answers_to_machines(patch: Patch) -> None:
    """Partitions granted to a translated member never reach its client."""

    def forget(message: MemberAnswer, catalog: Catalog) -> Answer:
        silent = replace(message.reply, assignment=None)
        return to_answer(replace(message, reply=silent), catalog)

    patch.setattr(coordinator, "to_answer", forget)


def never_settle(patch: Patch) -> None:
    """A member that waits for partitions is not given them when they are free (redpanda 4327)."""
    reconcile: Callable[[Current, Surroundings], Current] = reconciliation.reconcile

    def stuck(current: Current, around: Surroundings) -> Current:
        return reconcile(current, replace(around, is_free=lambda partition: partition in current.assigned))

    patch.setattr(reconciliation, "reconcile", stuck)


def hold_no_join(patch: Patch) -> None:
    """An eager JoinGroup is answered with what is free at once, so that its client stops twice."""
    patch.setattr(joining, "hold_ms", lambda *_: 0)


def forget_gains(patch: Patch) -> None:
    """A gainer is not called, only losers are."""
    patch.setattr(calling, "_await_gain", lambda call, *_: call)
    patch.setattr(calling, "CallDue", NotCalled)


def serve_at_once_after_start(patch: Patch) -> None:
    """A bridge without memory does not wait for survivors (decision 9)."""
    patch.setattr(Shard, "no_assignment_before_ms", property(lambda _: 0, lambda *_: None))
