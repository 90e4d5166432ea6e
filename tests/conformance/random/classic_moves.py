"""Moves of classic members: single calls, whole rounds, and calls with something wrong in them.

It knows the calls' usual fields, and must not know what is answered.
"""

from collections.abc import Mapping
from dataclasses import replace
from random import Random

from tests.conformance.random.cast import PROTOCOLS, SHORT_MS, TOPICS, draw_assignment
from tests.conformance.random.members import Member
from tests.conformance.random.sequences import Move
from tests.support.conformance.calls import beat, enter, join, leave, leave_all, offer, rejoin, sync
from tests.support.conformance.steps import Assignment, Call, Close, Part, Pause, Subscription

GENERATIONS = ("#{0}+1", "#{0}-1", 0, -1, 77)
IDS = ("", "nobody", "@{0}")


def entered(rng: Random, member: Member) -> list[Move]:
    """It joins, under the id it is given."""
    member.inside = True
    return [step for step in enter(member.name, member.join, **member.fields) if isinstance(step, Call)]


def first_call(rng: Random, member: Member) -> list[Move]:
    """It asks with no id once, and may never come back."""
    return [join(member.name, member.join, **member.fields)]


def rejoined(rng: Random, member: Member) -> list[Move]:
    """It joins again, sometimes with something new to say."""
    fields = dict(member.fields)
    chance = rng.random()
    if chance < 0.15:
        member.topics = rng.choice(TOPICS)
        metadata = Subscription(topics=member.topics, version=1)
        fields["protocols"] = member.fields["protocols"] = offer(*rng.choice(PROTOCOLS), metadata=metadata)
    elif chance < 0.2:
        fields["rebalance_timeout_ms"] = SHORT_MS
    return [rejoin(member.name, member.join, **fields)]


def synced(rng: Random, member: Member, members: list[Member]) -> Call:
    """It syncs; whoever leads has shares for all."""
    shares = draw_assignment(rng, [one.name for one in members if one.inside])
    assign: Mapping[str, Part] = {f"@{name}": Assignment(partitions=share) for name, share in shares.items()}
    return sync(member.name, member.sync, assign=assign, **member.static())


def round_of_all(rng: Random, members: list[Member]) -> list[Move]:
    """All that are in join again and sync, in any order."""
    inside = [one for one in members if one.inside]
    joins = [rejoin(one.name, one.join, **one.fields) for one in rng.sample(inside, len(inside))]
    syncs = [synced(rng, one, members) for one in rng.sample(inside, len(inside))]
    return [*joins, *syncs]


def beaten(rng: Random, member: Member) -> list[Move]:
    """It says it is alive."""
    return [beat(member.name, member.beat, **member.static())]


def left(rng: Random, member: Member) -> list[Move]:
    """It leaves by id, or as a seat."""
    member.inside = False
    if member.instance is not None and rng.random() < 0.5:
        return [leave(member.name, 5, member_id="", group_instance_id=member.instance)]
    static = member.static() if member.leave >= 3 else {}
    return [leave(member.name, member.leave, **static)]


def left_together(rng: Random, members: list[Member]) -> list[Move]:
    """Several leave by one call, strangers among them."""
    gone = rng.sample(members, rng.randint(1, len(members)))
    entries: list[tuple[str, str | None]] = []
    for one in gone:
        by_seat = one.instance is not None and rng.random() < 0.5
        entries.append(("" if by_seat else f"@{one.name}", one.instance if by_seat else None))
        one.inside = False
    if rng.random() < 0.3:
        entries.append(("nobody", rng.choice((None, "i-nobody"))))
    return [leave_all("admin", *entries)]


def restarted(rng: Random, member: Member) -> list[Move]:
    """A client begins anew: its connection ends, and it joins without an id."""
    member.inside = True
    moves: list[Move] = [Close(who=member.name)] if rng.random() < 0.7 else []
    return [*moves, *entered(rng, member)]


def dropped(rng: Random, member: Member) -> list[Move]:
    """Its connection ends."""
    return [Close(who=member.name)]


def expired(rng: Random, member: Member) -> list[Move]:
    """It asks for a short session, and says nothing until that is over."""
    short: dict[str, Part] = {**member.fields, "session_timeout_ms": 2_000}
    member.inside = False
    return [rejoin(member.name, member.join, **short), Pause(ms=3_500)]


def mutated(rng: Random, call: Call, member: Member, others: list[Member]) -> Call:
    """The call with one field wrong."""
    wrong: dict[str, list[Part]] = {
        "member_id": [text.format(rng.choice(others).name) for text in IDS],
        "generation_id": [g.format(member.name) if isinstance(g, str) else g for g in GENERATIONS],
        "group_instance_id": ["i-nobody", None, *(one.instance for one in others if one.instance)],
        "protocol_type": ["connect", "", "consumer"],
        "protocol_name": ["roundrobin", "nothing", "cooperative-sticky"],
        "protocols": [[], offer("other"), offer("range", metadata=b""), offer("range", metadata=b"\x00\x09")],
        "session_timeout_ms": [1, 5_000_000],
        "group_id": ["", "$g-x"],
    }
    names = sorted(set(wrong) & set(call.fields) | ({"group_instance_id"} if call.version >= 5 else set()))
    if call.api == "LeaveGroup" or not names:
        return call
    name = rng.choice(names)
    return replace(call, fields={**call.fields, name: rng.choice(wrong[name])})
