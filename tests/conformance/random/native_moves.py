"""Moves of KIP-848 members: heartbeats with every field varied, ways to leave, and calls with something wrong in them.

It knows the calls' usual fields, and must not know what is answered.
"""

from dataclasses import replace
from random import Random

from tests.conformance.random.cast import LONG_MS, PATTERNS, SHORT_MS, TOPICS
from tests.conformance.random.members import Member
from tests.conformance.random.sequences import OWN_TOPIC, Grow, Move
from tests.support.conformance.calls import beat, chb
from tests.support.conformance.steps import Call, Close, Owned, Part, Pause


def appeared(rng: Random, member: Member) -> list[Move]:
    """It joins with epoch 0, and says everything; one that is in rather tells again."""
    if member.inside and rng.random() < 0.9:
        return [told_all(member)]
    member.inside = True
    version = 1 if "subscribed_topic_regex" in member.fields else rng.choice((1, 1, 1, 0))
    return [chb(member.name, 0, version, **member.fields)]


def told_all(member: Member, **fields: Part) -> Call:
    """A heartbeat that says everything again."""
    usual: dict[str, Part] = {**member.fields, "topic_partitions": Owned(who=member.name)}
    return chb(member.name, f"#{member.name}", **{**usual, **fields})


def still_there(rng: Random, member: Member) -> list[Move]:
    """A heartbeat: short, with what it owns, or with everything."""
    chance = rng.random()
    instance: dict[str, Part] = {} if member.instance is None else {"instance_id": member.instance}
    if chance < 0.3:
        return [chb(member.name, f"#{member.name}", **instance)]
    if chance < 0.6:
        return [chb(member.name, f"#{member.name}", **instance, topic_partitions=Owned(who=member.name))]
    return [told_all(member)]


def changed(rng: Random, member: Member) -> list[Move]:
    """It wants other topics, another assignor, rack or timeout."""
    change = rng.randrange(5)
    if change == 0:
        member.fields["server_assignor"] = "range"
    elif change == 1:
        member.fields["rack_id"] = rng.choice(("rack-x", "rack-y"))
    elif change == 2:
        member.fields["rebalance_timeout_ms"] = rng.choice((SHORT_MS, LONG_MS))
    else:
        member.topics = rng.choice(TOPICS)
        member.fields["subscribed_topic_names"] = list(member.topics)
    return [told_all(member)]


def wants_pattern(rng: Random, member: Member) -> list[Move]:
    """It wants other topics by a pattern, good or bad, or none any more."""
    member.fields["subscribed_topic_regex"] = rng.choice(PATTERNS)
    if not member.fields["subscribed_topic_regex"]:
        member.fields["subscribed_topic_names"] = list(member.topics)
    return [told_all(member)]


def round_of_natives(rng: Random, members: list[Member]) -> list[Move]:
    """All that are in say everything, three times: enough to reach any target."""
    inside = [one for one in members if one.inside and one.native]
    return [told_all(one) for _ in range(3) for one in rng.sample(inside, len(inside))]


def grown(rng: Random, members: list[Member], partitions: int) -> list[Move]:
    """The sequence's own topic comes or grows, and everybody hears of it."""
    return [Grow(name=OWN_TOPIC, partitions=partitions), *round_of_natives(rng, members)]


def session_passed(rng: Random, members: list[Member]) -> list[Move]:
    """Some say nothing for longer than the session of profile `expiry`; the others go on, as their protocol has it.

    Classic members have a session of their own, which ends elsewhere.
    """
    natives = [one for one in members if one.inside and one.native]
    quiet = rng.sample(natives, rng.randint(1, len(natives))) if natives else []
    for one in quiet:
        one.inside = False
    loud = [one for one in members if one.inside]
    beats = [told_all(one) if one.native else beat(one.name, one.beat, **one.static()) for one in loud]
    return [*beats, Pause(ms=3_500), *beats, Pause(ms=3_500), *beats] if quiet else []


def went(rng: Random, member: Member) -> list[Move]:
    """It leaves for good, or for a while if it is static."""
    member.inside = False
    epoch = -2 if member.instance is not None and rng.random() < 0.6 else -1
    instance: dict[str, Part] = {} if member.instance is None else {"instance_id": member.instance}
    return [chb(member.name, epoch, **instance)]


def came_back(rng: Random, member: Member) -> list[Move]:
    """It begins anew, under its id or another."""
    member.inside = True
    moves: list[Move] = [Close(who=member.name)] if rng.random() < 0.3 else []
    if member.instance is not None and rng.random() < 0.8:
        moves.append(chb(member.name, -2, instance_id=member.instance))
    fields = dict(member.fields)
    if rng.random() < 0.4:
        fields["member_id"] = f"member-{member.name}{member.name}"
    return [*moves, chb(member.name, 0, **fields)]


def lost_an_answer(rng: Random, member: Member) -> list[Move]:
    """It says its epoch before, with what it owns."""
    return [chb(member.name, f"#{member.name}-1", topic_partitions=Owned(who=member.name))]


def too_slow(rng: Random, member: Member) -> list[Move]:
    """It gives nothing back for longer than its rebalance timeout."""
    return [
        told_all(member, rebalance_timeout_ms=SHORT_MS),
        Pause(ms=SHORT_MS + 1_500),
        chb(member.name, f"#{member.name}"),
    ]


def mutated_heartbeat(rng: Random, call: Call, member: Member, others: list[Member]) -> Call:
    """The heartbeat with one field wrong or unusual."""
    partial: dict[str, list[int]] = {"wire-six": rng.sample(range(6), rng.randint(0, 3))}
    wrong: dict[str, list[Part]] = {
        "member_id": ["", "nobody", f"member-{rng.choice(others).name}"],
        "member_epoch": [0, 77, -3, f"#{member.name}+1", f"#{member.name}-1", -1, -2],
        "instance_id": ["i-nobody", "", " ", None, *(one.instance for one in others if one.instance)],
        "rack_id": ["", " ", "rack-z"],
        "server_assignor": ["", "nothing", "range"],
        "subscribed_topic_names": [[], None, ["wire-none"], ["wire-six", "wire-six"]],
        "topic_partitions": [None, [], Owned(keep=partial)],
        "rebalance_timeout_ms": [-1, 0, -5],
        "group_id": ["", " ", "$g-x"],
    }
    name = rng.choice(sorted(wrong))
    return replace(call, fields={**call.fields, name: rng.choice(wrong[name])})
