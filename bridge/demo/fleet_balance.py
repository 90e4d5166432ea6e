"""Whether a fleet has settled: every partition owned by exactly one live member, unchanged for a while.
It must not know processes; it reads snapshots of their logs.
"""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence

from bridge.demo.events import Committed, Consumed, Failed, Partition, Produced
from bridge.demo.judge_evidence import ClientLog
from bridge.demo.judge_ownership import owned_at


def unsettled(members: Sequence[ClientLog], partitions: Collection[Partition], since_ns: int, at_ns: int) -> str | None:
    """Why the live `members` are not settled, or None when nothing has changed after `since_ns`.

    While there are partitions for all, each member must own one: a newcomer that has not joined yet is not settled.
    """
    owned = {log.who: owned_at(log, at_ns) for log in members}
    owners = Counter(partition for mine in owned.values() for partition in mine)
    wrong = sorted(f"{p.topic}-{p.partition} has {owners[p]} owners" for p in partitions if owners[p] != 1)
    idle = [who for who, mine in owned.items() if not mine]
    if wrong:
        return "; ".join(wrong)
    if idle and len(members) <= len(partitions):
        return f"{', '.join(idle)} owns nothing yet"
    moving = [log.who for log in members if any(event.at_ns > since_ns for event in log.rebalances())]
    return f"{', '.join(moving)} still changes" if moving else None


def unread(producers: Sequence[ClientLog], members: Sequence[ClientLog]) -> str | None:
    """Which partitions have records that no member has come to yet, or None."""
    ends = {event.partition: event.last for log in producers for event in log.events if isinstance(event, Produced)}
    read: dict[Partition, int] = {}
    for event in (event for log in members for event in log.events):
        if isinstance(event, Consumed):
            read[event.partition] = max(event.last, read.get(event.partition, -1))
    return _behind(ends, {one: read.get(one, -1) for one in ends}, "read up to")


def unconfirmed(members: Sequence[ClientLog], since_ns: int) -> str | None:
    """Which live `members` have not had a commit taken after `since_ns`, or None: a commit proves membership."""
    confirmed = {
        log.who for log in members for event in log.events if isinstance(event, Committed) and event.at_ns > since_ns
    }
    absent = [log.who for log in members if log.who not in confirmed]
    return f"{', '.join(absent)} had no commit taken since" if absent else None


def uncommitted(members: Sequence[ClientLog]) -> str | None:
    """Which partitions have been read farther than they are committed, or None."""
    read: dict[Partition, int] = {}
    committed: dict[Partition, int] = {}
    for event in (event for log in members for event in log.events):
        if isinstance(event, Consumed):
            read[event.partition] = max(event.last + 1, read.get(event.partition, 0))
        elif isinstance(event, Committed):
            committed |= {one: max(offset, committed.get(one, 0)) for one, offset in event.offsets}
    return _behind(read, {one: committed.get(one, 0) for one in read}, "committed")


def _behind(ends: Mapping[Partition, int], reached: Mapping[Partition, int], done: str) -> str | None:
    short = sorted(
        f"{partition.topic}-{partition.partition}: {done} {reached[partition]} of {end}"
        for partition, end in ends.items()
        if reached[partition] < end
    )
    return "; ".join(short) or None


def last_failures(members: Sequence[ClientLog]) -> str:
    """The last thing that went wrong for each member, for error messages."""
    last = {log.who: event.reason for log in members for event in log.events if isinstance(event, Failed)}
    return "; ".join(f"{who}: {reason}" for who, reason in last.items()) or "no member reported a failure"
