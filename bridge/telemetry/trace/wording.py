"""Words that all drawings of a rebalance share: times, counts, and what a member was in it.

It must not know what they are drawn on.
"""

from datetime import UTC, datetime

from bridge.telemetry.cause.words import is_named_after, shorten, tell_duration
from bridge.telemetry.rebalances.stories import MemberStory, Rebalance
from bridge.telemetry.schema.terms import Cause, Phase, Protocol

CAUSE_WORDS = {cause: cause.value.replace("-", " ") for cause in Cause}
PHASE_WORDS = {
    Phase.JOINING: "joining",
    Phase.SYNCING: "syncing",
    Phase.REVOKING: "giving up",
    Phase.AWAITING_RELEASE: "waiting for release",
    Phase.FETCHING: "until first fetch",
    Phase.STABLE: "stable",
}


def tell_time(wall_us: int) -> str:
    """A wall time in UTC, with milliseconds."""
    return datetime.fromtimestamp(wall_us / 1_000_000, UTC).strftime("%Y-%m-%d %H:%M:%S.%f")[:-3] + " UTC"


def tell_outcome(rebalance: Rebalance) -> str:
    """How it ended."""
    return "open: the log ends before it did" if rebalance.outcome is None else rebalance.outcome.value


def tell_moved(rebalance: Rebalance) -> str:
    """Partitions that moved, and how many had to."""
    if rebalance.moved < 0:
        return "unknown"
    return f"{rebalance.moved} ({rebalance.forced_minimum} had to)"


def tell_name(member: MemberStory) -> str:
    """What a member is called: its client where its own id is a random one, and the id cut to what can be read."""
    short = shorten(member.member_id)
    is_clear = is_named_after(member.member_id, member.client_id)
    return short if is_clear else f"{shorten(member.client_id)} · {short}"


def tell_client(member: MemberStory) -> str:
    """Protocol, the generation or epoch that the member has come to, and its library."""
    library = f"{member.library} {member.library_version}".strip()
    number = ""
    if member.protocol is Protocol.CLASSIC and member.generation >= 0:
        number = f"generation {member.generation}"
    if member.member_epoch >= 0:
        number = f"{number} -> epoch {member.member_epoch}" if number else f"epoch {member.member_epoch}"
    return " · ".join(part for part in (member.protocol.value, number, library) if part)


def tell_roles(rebalance: Rebalance, member: MemberStory) -> list[str]:
    """What the member was in the rebalance, in a word or two each."""
    explained = rebalance.explained
    roles = ["cause"] if member.member_id in explained.caused_by else []
    roles += ["waited for"] if member.member_id == explained.critical_member else []
    roles += ["new"] if member.is_newcomer else []
    return roles + ([member.departure.value] if member.departure is not None else [])


def tell_waited(rebalance: Rebalance) -> str:
    """Who was waited for, and for how long."""
    explained = rebalance.explained
    if not explained.critical_member:
        return "nobody"
    names = {member.member_id: tell_name(member) for member in rebalance.members}
    name = names.get(explained.critical_member) or shorten(explained.critical_member)
    return f"{name} for {tell_duration(explained.waited_us)}"


def longest_stall_us(rebalance: Rebalance) -> int:
    """The longest time that any member stood still."""
    return max((member.stall_us for member in rebalance.members), default=0)
