"""The stories by name: who can play them, and what is right to say of the rebalances that follow the event."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace

from bridge.telemetry.schema.terms import Cause, Phase
from tests.support.causes import story_steps
from tests.support.causes.players import CLASSIC, EVERY_ROAD, UPSTREAM, Case, Limits, Name
from tests.support.causes.setting import Setting

ANYBODY = "*"
NOBODY = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Right:
    """What is to be said: causes in their order with the seats behind them, or `instead` where nobody could know more.

    `maybe` are those that may be among them, by what clients do on their own account. `slow` is who was waited for, in
    a `phase`, None for any that the bridge happens to hear of; `disturbed` how many were, None where that is a matter
    of moments. `silent` is who was frozen, or polled no more, and put out for it, and had used nothing since then. With
    `has_diaries` partitions stood still as often and for as long as the clients wrote down themselves.
    """

    causes: tuple[tuple[Cause, str], ...]
    instead: tuple[tuple[Cause, str], ...] = ()
    maybe: frozenset[tuple[Cause, str]] = frozenset()
    slow: str = NOBODY
    phase: Phase | None = None
    disturbed: int | None = 0
    silent: str = NOBODY
    has_diaries: bool = False


Say = Callable[[Case], Right]


@dataclass(frozen=True, slots=True, kw_only=True)
class Story:
    """A story."""

    tell: Callable[[Setting], Awaitable[None]]
    says: Say
    limits: Limits = field(default_factory=Limits)
    topics: Callable[[str], tuple[str, ...]] = lambda group: (f"{group}-topic",)


POLLING = (Name.RANGE, Name.COOPERATIVE, Name.CONSUMER)
"""kafka-python's callbacks hold up its heartbeats, and it neither waits for topics nor takes subscriptions back."""


def right(*causes: tuple[Cause, str]) -> Right:
    """Causes, and nobody slow."""
    return Right(causes=causes)


def slow(said: Right, seat: str, phase: Phase = Phase.REVOKING) -> Right:
    """The same, with a slow member."""
    return replace(said, slow=seat, phase=phase)


def as_written_down(say: Say) -> Say:
    """The same, held against the clients' diaries as well."""
    return lambda case: replace(say(case), has_diaries=True)


def always(said: Right) -> Say:
    """The same on each road and for each client."""
    return lambda _: said


def is_eager_meeting(case: Case) -> bool:
    """Whether everybody stops, and so everybody waits for whoever stops last."""
    return case.is_met and case.kind is not Name.COOPERATIVE


def if_eager(said: Right, seat: str) -> Say:
    """Slow where members give up everything: all wait for it in a meeting, elsewhere what it is to have.

    Others give up nothing for somebody who is gone.
    """
    return lambda case: said if case.kind in (Name.COOPERATIVE, Name.CONSUMER) else slow(said, seat)


def if_met(said: Right, seat: str, disturbed: int = 0) -> Say:
    """Slow, and others disturbed, only where all have to stop: elsewhere the story asks nothing of that member."""
    return lambda case: replace(slow(said, seat), disturbed=disturbed) if is_eager_meeting(case) else said


def say_timeout(case: Case) -> Right:
    """A meeting goes on without the member that is late; elsewhere its expulsion makes a rebalance of its own."""
    out = () if case.is_met else ((Cause.REBALANCE_TIMED_OUT, "b"),)
    if case.road == "embedded" and case.kind is Name.COOPERATIVE:
        # Translated cooperative members are given as long as they take once they have their assignment.
        return replace(slow(JOIN_C, "b"), maybe=frozenset({*out, (Cause.JOIN, "b")}))
    said = replace(slow(right((Cause.JOIN, "c"), *out), "b"), maybe=frozenset({(Cause.JOIN, "b")}))
    return replace(said, disturbed=1) if is_eager_meeting(case) else said


def say_frozen_out(case: Case) -> Right:
    """Its session is over while it is frozen; when it goes on it learns that it is out, and joins."""
    said = right((Cause.SESSION_EXPIRED, "c"), (Cause.JOIN, "c"))
    # Of a classic group all stop for both; who is the last to come is a matter of moments.
    return replace(said, slow=ANYBODY, disturbed=None, silent="c")


def say_deployment(case: Case) -> Right:
    """Each that goes and comes is one of the same wave."""
    said = slow(right((Cause.DEPLOY_WAVE, "ab")), "s")
    return replace(said, has_diaries=case.road == UPSTREAM)


def say_leader(case: Case) -> Right:
    """The bridge gives a leader its generation back, and nobody hears of it."""
    if not case.is_met:
        return right()
    return replace(slow(right((Cause.LEADER_REJOINED, "a")), "b"), disturbed=2)


def say_topics(case: Case) -> Right:
    """Members of a classic group notice by themselves; librdkafka's subscribe only to topics that are there."""
    # Who notices by itself gives up before it is told, which only it knows.
    said = replace(right((Cause.TOPICS_CHANGED, ANYBODY)), slow=ANYBODY)
    if not case.is_met:
        return said
    # The bridge may hear of a new topic later than the members that subscribe to it.
    subscribed = (Cause.SUBSCRIPTION_CHANGED, ANYBODY)
    return replace(said, maybe=frozenset({subscribed}), instead=(subscribed,))


def say_removal(case: Case) -> Right:
    """Whoever is removed and still runs comes back: at once in a meeting, otherwise with a rebalance of its own."""
    maybe = frozenset({(Cause.JOIN, "b"), (Cause.STATIC_RETURN, "b")})
    said = replace(right((Cause.OPERATOR, "b")), maybe=maybe, slow=ANYBODY, disturbed=None)
    return slow(said, "a") if is_eager_meeting(case) else said


def say_restart(case: Case) -> Right:
    """What was under way goes on; on road `pass` only for those who have to do something yet."""
    if case.is_met:
        # Who came first is written down when somebody is answered; the bridge was killed before that.
        maybe = frozenset({(Cause.JOIN, "c"), (Cause.UNKNOWN, NOBODY)})
        return replace(right((Cause.BRIDGE_RESTARTED, NOBODY)), maybe=maybe, slow="a", disturbed=None)
    again = frozenset({(Cause.JOIN, "c")})
    if case.is_consumer and case.road == "pass":
        return replace(right((Cause.JOIN, "c")), maybe=frozenset({(Cause.BRIDGE_RESTARTED, NOBODY)}), slow=ANYBODY)
    return replace(right((Cause.JOIN, "c"), (Cause.BRIDGE_RESTARTED, NOBODY)), maybe=again, slow=ANYBODY)


def say_move(case: Case) -> Right:
    """A classic group's new coordinator has not heard of the last generation: it comes again, then the newcomer."""
    if not case.is_met:
        return slow(right((Cause.JOIN, "c")), "a")
    again = right((Cause.JOIN, "c"), (Cause.COORDINATOR_MOVED, NOBODY))
    return replace(slow(again, "a", Phase.SYNCING), maybe=frozenset({(Cause.JOIN, "c")}))


def say_overlap(case: Case) -> Right:
    """The second one may be gone before the first meeting is over, and then the others get back what they had."""
    if case.is_met:
        who = "a" if is_eager_meeting(case) else ANYBODY
        said = replace(right((Cause.JOIN, "c")), slow=who, maybe=frozenset({(Cause.LEAVE, "b")}))
        return replace(said, disturbed=None) if is_eager_meeting(case) else said
    said = right((Cause.JOIN, "c"), (Cause.LEAVE, "b"))
    return replace(said, slow=ANYBODY) if case.road == "pass" else slow(said, "a")


ON_EVERY_ROAD = Limits(roads=EVERY_ROAD)
JOIN_C = right((Cause.JOIN, "c"))
BY_A, BY_B = always(slow(JOIN_C, "a")), always(slow(JOIN_C, "b"))

STORIES: Mapping[str, Story] = {
    "first-join": Story(tell=story_steps.tell_first_join, says=always(right((Cause.FIRST_JOIN, "a")))),
    "join": Story(tell=story_steps.tell_join, says=BY_A),
    "leave": Story(tell=story_steps.tell_leave, says=if_eager(right((Cause.LEAVE, "c")), "a")),
    "expiry": Story(
        tell=story_steps.tell_expiry,
        says=as_written_down(if_eager(right((Cause.SESSION_EXPIRED, "c")), "a")),
        limits=ON_EVERY_ROAD,
    ),
    "rebalance-timeout": Story(tell=story_steps.tell_timeout, says=say_timeout, limits=Limits(POLLING)),
    "subscription": Story(
        tell=story_steps.tell_subscription,
        says=if_met(right((Cause.SUBSCRIPTION_CHANGED, "b")), "a", disturbed=1),
        limits=Limits(POLLING),
    ),
    # kafka-python 3.0 may stop for good when its topic grows in a group that its leader coordinates.
    "new-partitions": Story(tell=story_steps.tell_partitions, says=say_topics, limits=Limits(pass_kinds=POLLING)),
    "new-topic": Story(
        tell=story_steps.tell_topic,
        says=say_topics,
        limits=Limits(POLLING),
        topics=lambda group: (f"{group}-topic", f"{group}-later"),
    ),
    "topic-by-pattern": Story(
        tell=story_steps.tell_topic, says=say_topics, limits=Limits(POLLING), topics=lambda group: (f"^{group}-.*",)
    ),
    "static-return": Story(
        tell=story_steps.tell_static_return, says=always(slow(right((Cause.STATIC_RETURN, "b")), "a"))
    ),
    "leader-rejoin": Story(tell=story_steps.tell_leader_rejoin, says=say_leader, limits=Limits((Name.PYTHON,))),
    "deployment": Story(tell=story_steps.tell_deployment, says=say_deployment, limits=ON_EVERY_ROAD),
    "convert-order": Story(
        tell=story_steps.tell_conversion_by_order, says=always(right()), limits=Limits(CLASSIC, ("embedded",))
    ),
    "remove-order": Story(tell=story_steps.tell_removal, says=say_removal),
    "bridge-restart": Story(tell=story_steps.tell_restart, says=say_restart),
    "coordinator-move": Story(
        tell=story_steps.tell_coordinator_move, says=say_move, limits=Limits((Name.PYTHON, Name.CONSUMER))
    ),
    "first-consumer": Story(
        tell=story_steps.tell_conversion_by_join,
        # Kafka may count a converted member's next join as a change of what it wants.
        says=always(replace(slow(JOIN_C, "a"), maybe=frozenset({(Cause.UNKNOWN, NOBODY)}))),
        # Kafka converts no group whose members send user data of their own, as cooperative ones do.
        limits=Limits(CLASSIC, pass_kinds=(Name.RANGE,), new_on_pass=True),
    ),
    "slow-revoke": Story(tell=story_steps.tell_slow_revoke, says=as_written_down(BY_B), limits=ON_EVERY_ROAD),
    "slow-processing": Story(tell=story_steps.tell_slow_processing, says=always(replace(JOIN_C, slow="b"))),
    "slow-assignment": Story(
        tell=story_steps.tell_slow_assignment,
        says=always(slow(JOIN_C, "a", Phase.SYNCING)),
        limits=Limits((Name.PYTHON,), ("pass",)),
    ),
    "frozen": Story(tell=story_steps.tell_frozen, says=always(slow(JOIN_C, "b", Phase.STABLE))),
    "double-join": Story(tell=story_steps.tell_double_join, says=always(slow(right((Cause.JOIN, "cd")), "a"))),
    "overlap": Story(tell=story_steps.tell_overlap, says=say_overlap),
    "frozen-out": Story(tell=story_steps.tell_frozen_out, says=as_written_down(say_frozen_out), limits=ON_EVERY_ROAD),
    "poll-timeout": Story(
        tell=story_steps.tell_poll_timeout,
        says=as_written_down(
            always(
                replace(
                    right((Cause.POLL_TIMED_OUT, "c"), (Cause.JOIN, "c")), slow=ANYBODY, disturbed=None, silent="c"
                ),
            )
        ),
        # librdkafka says nothing of why it leaves; docs/explanation/reading-a-rebalance.md has what its requests show.
        limits=Limits((Name.PYTHON,)),
    ),
}
"""By the names that tests and the page of causes show."""
