"""A rebalance's cause and who was waited for in one sentence; members, times and partitions as people read them."""

import re
from collections.abc import Callable, Mapping, Sequence

from bridge.telemetry.cause.context import Context
from bridge.telemetry.cause.rules import TIMED_OUT, Finding, members_behind
from bridge.telemetry.cause.waits import Critical
from bridge.telemetry.schema.facts import (
    CoordinatorMoved,
    GroupConverted,
    MemberFact,
    MemberInputs,
    MemberJoined,
    MemberLeft,
    MemberTold,
    OperatorActed,
    TargetComputed,
    TopicsChanged,
)
from bridge.telemetry.schema.terms import Cause, Departure, News, OperatorAction, Phase
from translators.dialects.counts import counted

UUID = re.compile(r"([0-9a-fA-F]{8})-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}")
KAFKA_UUID = re.compile(r"(?=.*[A-Z])(?=.*[a-z])[A-Za-z0-9+/_-]{22}")
"""As clients of the consumer protocol, and coordinators, write one."""
UUID_DIGITS = 8
SHORT_CHARS = 48
LISTED_MAX = 3

Introduced = Callable[[str], MemberInputs | None]
"""Takes a member id; gives what that member told about itself, None where nothing is known."""


def shorten(member_id: str) -> str:
    """A member id that can be read: random parts cut to eight digits."""
    if KAFKA_UUID.fullmatch(member_id):
        return member_id[:UUID_DIGITS]
    short = UUID.sub(r"\1", member_id)
    return short if len(short) <= SHORT_CHARS else f"{short[: SHORT_CHARS - 9]}…{short[-8:]}"


NAMELESS = "a member without a name"
"""Of whom only an answer tells that a broker spoilt."""


def is_named_after(member_id: str, client_id: str) -> bool:
    """Whether a classic coordinator made the id of the client's: client id, dash, UUID; random ones may look alike."""
    return not client_id or member_id == client_id or member_id.startswith(f"{client_id}-")


def call(member_id: str, introduced: Introduced) -> str:
    """A member in few words: its id, and its client's where that says more."""
    if not member_id:
        return NAMELESS
    inputs = introduced(member_id)
    if inputs is None or is_named_after(member_id, inputs.client_id):
        return shorten(member_id)
    return f"{shorten(member_id)} of client {shorten(inputs.client_id)}"


def introduce(member_id: str, introduced: Introduced) -> str:
    """A member with its client id, unless its own id holds that, its library and host, as far as they are known."""
    if not member_id:
        return NAMELESS
    inputs = introduced(member_id)
    if inputs is None:
        return f"member {shorten(member_id)}"
    known = " ".join(part for part in (inputs.library, inputs.library_version) if part)
    client = "" if is_named_after(member_id, inputs.client_id) else f"client {shorten(inputs.client_id)}"
    host = f"host {inputs.client_host}" if inputs.client_host else ""
    parts = [part for part in (client, known, host) if part]
    return f"member {shorten(member_id)}" + (f" ({', '.join(parts)})" if parts else "")


def enumerate_words(words: Sequence[str]) -> str:
    """Words as an enumeration; many are cut short."""
    if len(words) > LISTED_MAX + 1:
        words = [*words[:LISTED_MAX], f"{len(words) - LISTED_MAX} more"]
    return " and ".join((", ".join(words[:-1]), words[-1])) if len(words) > 1 else "".join(words)


def introduce_all(member_ids: Sequence[str], introduced: Introduced) -> str:
    """Members as an enumeration; a broker's answer may name nobody."""
    return enumerate_words([introduce(member_id, introduced) for member_id in member_ids]) or NAMELESS


def first_introduced(finding: Finding, introduced: Introduced) -> MemberInputs | None:
    """What the first of the members behind a cause said of itself, if there is one and it is known."""
    return next((introduced(member_id) for member_id in members_behind(finding)), None)


def tell_duration(duration_us: int) -> str:
    """A duration with the digits that matter."""
    if duration_us < 1_000:
        return f"{duration_us} µs"
    if duration_us < 1_000_000:
        return f"{duration_us / 1_000:.0f} ms"
    if duration_us < 60_000_000:
        text = f"{duration_us / 1_000_000:.1f}".removesuffix(".0")
        return f"{text} s"
    minutes, seconds = divmod(round(duration_us / 1_000_000), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min {seconds} s"


def tell_timeout(timeout_ms: int) -> str:
    """A timeout, which nobody may have named."""
    return tell_duration(timeout_ms * 1_000) if timeout_ms > 0 else "its session timeout"


Clause = Callable[[Finding, Introduced], str]


def tell(context: Context, finding: Finding, critical: Critical | None, introduced: Introduced) -> str:
    """The sentence."""
    if finding.cause is Cause.UNKNOWN:
        why = f"rebalanced, and nothing shows why: {_known(context)}"
    else:
        why = CLAUSES[finding.cause](finding, introduced)
        why = why.replace("rebalanced", "rebalanced again", 1) if finding.is_again else why
    return f"{context.fact.group_id} {why}{_waiting(critical, introduced)}"


# ---------------------------------------------------------------------------------------------- causes


def _first_join(finding: Finding, introduced: Introduced) -> str:
    return f"began: {introduce_all(members_behind(finding), introduced)} joined an empty group"


def _join(finding: Finding, introduced: Introduced) -> str:
    return f"rebalanced because {introduce_all(members_behind(finding), introduced)} joined"


def _leave(finding: Finding, introduced: Introduced) -> str:
    facts = [event.fact for event in finding.evidence if isinstance(event.fact, MemberLeft)]
    fenced = [fact for fact in facts if fact.departure is not Departure.LEFT]
    who = introduce_all(members_behind(finding), introduced)
    did = PARTINGS.get(fenced[0].departure, "left") if len(fenced) == len(facts) else "left"
    reasons = dict.fromkeys(fact.reason for fact in facts if fact.reason)
    return f"rebalanced because {who} {did}" + (f" ({enumerate_words(list(reasons))})" if reasons else "")


PARTINGS: Mapping[Departure, str] = {
    Departure.REPLACED: "was replaced by another one with its instance id",
    Departure.FENCED: "was fenced by its coordinator",
    Departure.GROUP_FULL: "had no room in the group",
}


def _expired(finding: Finding, introduced: Introduced) -> str:
    facts = [event.fact for event in finding.evidence if isinstance(event.fact, MemberLeft)]
    who = introduce_all(members_behind(finding), introduced)
    departures = {fact.departure for fact in facts}
    if departures == {Departure.CONNECTION_LOST}:
        return f"rebalanced because {who} lost its connection"
    inputs = first_introduced(finding, introduced)
    timeout = tell_timeout(-1 if inputs is None else inputs.session_timeout_ms)
    if departures == {Departure.STATIC_LEFT}:
        return f"rebalanced because {who} went away and did not come back within {timeout}"
    return f"rebalanced because {who} did not heartbeat for {timeout}"


def _timed_out(finding: Finding, introduced: Introduced) -> str:
    facts = [event.fact for event in finding.evidence if isinstance(event.fact, MemberLeft)]
    who = introduce_all(members_behind(finding), introduced)
    inputs = introduced(facts[0].member_id) if facts else None
    within = "in time"
    if inputs is not None and inputs.rebalance_timeout_ms > 0:
        within = f"within {tell_duration(inputs.rebalance_timeout_ms * 1_000)}"
    if not facts:
        within = "in time"
    is_sync = any(fact.departure is Departure.SYNC_TIMED_OUT for fact in facts if fact.departure in TIMED_OUT)
    did = "did not ask for its assignment" if is_sync else "did not give up its partitions or join again"
    return f"rebalanced because {who} {did} {within}"


def _not_polled(finding: Finding, introduced: Introduced) -> str:
    who = introduce_all(members_behind(finding), introduced)
    inputs = first_introduced(finding, introduced)
    interval_ms = -1 if inputs is None else inputs.rebalance_timeout_ms
    interval = tell_duration(interval_ms * 1_000) if interval_ms > 0 else "its max.poll.interval.ms"
    return f"rebalanced because {who} left: its application had not polled for {interval}"


def _subscribed(finding: Finding, introduced: Introduced) -> str:
    facts = [event.fact for event in finding.evidence if isinstance(event.fact, MemberInputs)]
    topics = sorted({topic for fact in facts for topic in fact.topics} | {f.pattern for f in facts if f.pattern})
    who = introduce_all(members_behind(finding), introduced)
    return f"rebalanced because {who} changed what it told, and wants {enumerate_words(topics) or 'no topic'} now"


def _topics(finding: Finding, introduced: Introduced) -> str:
    changes: dict[str, int] = {}
    for event in finding.evidence:
        if isinstance(event.fact, TopicsChanged):
            changes.update(zip(event.fact.topics, event.fact.partition_counts, strict=False))
    told = [f"{topic} {_has(count)}" for topic, count in changes.items()] or [_grown(finding)]
    noticed = members_behind(finding)
    end = f", which {introduce_all(noticed, introduced)} noticed" if noticed else ""
    return f"rebalanced because topics changed: {enumerate_words(told)}{end}"


def _grown(finding: Finding) -> str:
    counts = [event.fact.partition_count for event in finding.evidence if isinstance(event.fact, TargetComputed)]
    return f"{counted(counts[-1], 'partition is', 'partitions are')} read now, {counts[0]} before"


def _has(count: int) -> str:
    return "is gone" if count <= 0 else f"has {counted(count, 'partition')} now"


def _static_return(finding: Finding, introduced: Introduced) -> str:
    seats = dict.fromkeys(
        event.fact.instance_id or "" for event in finding.evidence if isinstance(event.fact, MemberJoined)
    )
    who = introduce_all(members_behind(finding)[-1:], introduced)
    return f"rebalanced because {enumerate_words(list(seats))} came back, as {who}, after its seat had expired"


def _leader(finding: Finding, introduced: Introduced) -> str:
    return f"rebalanced because its leader, {introduce_all(members_behind(finding), introduced)}, joined again"


def _wave(finding: Finding, introduced: Introduced) -> str:
    joins = sum(isinstance(event.fact, MemberJoined) for event in finding.evidence)
    times = [event.stamp.mono_us for event in finding.evidence]
    span = tell_duration(max(times) - min(times))
    last = finding.evidence[-1].fact
    did = "joined" if isinstance(last, MemberJoined) else "left"
    who = introduce(last.member_id, introduced) if isinstance(last, MemberFact) else "a member"
    counts = f"{len(times) - joins} left and {joins} joined within {span}"
    return f"rebalanced because of a deployment: {counts}, and now {who} {did}"


def _operator(finding: Finding, introduced: Introduced) -> str:
    orders = [event.fact for event in finding.evidence if isinstance(event.fact, OperatorActed)]
    if any(isinstance(event.fact, GroupConverted) for event in finding.evidence):
        return "rebalanced because an operator converted the group"
    if orders and orders[-1].action is not OperatorAction.REMOVE_MEMBERS:
        return f"rebalanced because an operator asked to {orders[-1].action.replace('-', ' ')}"
    return f"rebalanced because an operator removed {introduce_all(members_behind(finding), introduced)}"


def _moved(finding: Finding, _introduced: Introduced) -> str:
    brokers = [event.fact.broker for event in finding.evidence if isinstance(event.fact, CoordinatorMoved)]
    return f"rebalanced because its coordinator moved to {brokers[-1]}"


def _restarted(_finding: Finding, _introduced: Introduced) -> str:
    return "went on with the rebalance that was under way when the bridge restarted"


CLAUSES: Mapping[Cause, Clause] = {
    Cause.FIRST_JOIN: _first_join,
    Cause.JOIN: _join,
    Cause.LEAVE: _leave,
    Cause.SESSION_EXPIRED: _expired,
    Cause.REBALANCE_TIMED_OUT: _timed_out,
    Cause.POLL_TIMED_OUT: _not_polled,
    Cause.SUBSCRIPTION_CHANGED: _subscribed,
    Cause.TOPICS_CHANGED: _topics,
    Cause.STATIC_RETURN: _static_return,
    Cause.LEADER_REJOINED: _leader,
    Cause.DEPLOY_WAVE: _wave,
    Cause.OPERATOR: _operator,
    Cause.BRIDGE_RESTARTED: _restarted,
    Cause.COORDINATOR_MOVED: _moved,
}


def _known(context: Context) -> str:
    told = [event for event in context.own if isinstance(event.fact, MemberTold) and event.fact.news is not News.FENCED]
    if not told:
        return f"epoch {context.fact.group_epoch}, no join, leave or change was seen before it"
    first = told[0].fact
    assert isinstance(first, MemberTold), "as it was picked"
    return f"the first that was seen of it is that member {shorten(first.member_id)} was told to {first.news}"


# ---------------------------------------------------------------------------------------------- waiting


def _waiting(critical: Critical | None, introduced: Introduced) -> str:
    if critical is None:
        return ""
    who = call(critical.member_id, introduced)
    waited = tell_duration(critical.waited_us)
    if critical.is_by_nobody:
        what = enumerate_words(list(critical.partitions)) or "partitions"
        return f"; {what} waited {waited} for {who} to give up what it had and join again"
    end = ", which never did" if critical.is_gone and critical.is_by_all else ""
    return f"; {_waiters(critical, introduced)} waited {waited} for {who} {_action(critical)}{end}"


def _waiters(critical: Critical, introduced: Introduced) -> str:
    if critical.is_by_all:
        return "everybody"
    return (
        call(critical.waiters[0], introduced)
        if len(critical.waiters) == 1
        else counted(len(critical.waiters), "member")
    )


def _action(critical: Critical) -> str:
    if critical.phase is Phase.SYNCING:
        return "to assign partitions"
    if critical.is_by_all:
        return "to join again"
    heard = "" if critical.phase is Phase.REVOKING else "hear of it and "
    return f"to {heard}give up {enumerate_words(list(critical.partitions)) or 'partitions'}"
