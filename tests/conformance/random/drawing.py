"""A seed becomes a sequence: members drawn, then moves by weight, some of them spoilt.

It knows weights and chance, and must not know what is answered.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from random import Random

from tests.conformance.random import classic_moves as classic
from tests.conformance.random import native_moves as native
from tests.conformance.random import shared_moves as shared
from tests.conformance.random.cast import NAMES, PATTERNS, draw_member
from tests.conformance.random.members import Member
from tests.conformance.random.sequences import KINDS, Drawn, Kind, Move, Probe, Settle
from tests.support.conformance.steps import Call

Alone = Callable[[Random, Member], list[Move]]
Together = Callable[[Random, list[Member]], list[Move]]
SPOILT, SETTLED, PATTERNED = 0.08, 0.25, 0.7
MOVES_MIN, MOVES_MAX = 8, 22
OWN_TOPIC_SHARE, PARTITIONS_MAX = 0.2, 6
NATIVE_SHARE = {"classic": 0.0, "consumer": 1.0, "mixed": 0.5, "regex": 0.8, "resting": 0.5}

OF_CLASSIC: Sequence[tuple[int, Alone]] = (
    (14, classic.entered),
    (2, classic.first_call),
    (8, classic.rejoined),
    (10, classic.beaten),
    (5, classic.left),
    (4, classic.restarted),
    (1, classic.dropped),
    (1, classic.expired),
    (5, shared.committed),
    (4, shared.fetched),
    (1, shared.transacted),
)
OF_NATIVE: Sequence[tuple[int, Alone]] = (
    (14, native.appeared),
    (16, native.still_there),
    (6, native.changed),
    (6, native.went),
    (4, native.came_back),
    (2, native.lost_an_answer),
    (1, native.too_slow),
    (5, shared.committed),
    (4, shared.fetched),
    (1, shared.transacted),
)
OF_PATTERNED: Sequence[tuple[int, Alone]] = (*OF_NATIVE, (12, native.wants_pattern))


def draw(seed: int, kind: Kind | None = None, profile: str = "plain") -> Drawn:
    """The sequence of a seed."""
    rng = Random(seed)
    kind = kind or KINDS[seed % 2]
    if kind == "resting":
        return draw_resting(seed)
    share = NATIVE_SHARE[kind]
    has_own_topic = share > 0 and rng.random() < OWN_TOPIC_SHARE
    members = [
        draw_member(rng, name, native=rng.random() < share, has_own_topic=has_own_topic)
        for name in NAMES[: rng.randint(1, 4)]
    ]
    if kind == "regex":
        for one in members:
            give_pattern(rng, one)
    moves: list[Move] = []
    partitions = 0
    for _ in range(rng.randint(MOVES_MIN, MOVES_MAX)):
        if has_own_topic and partitions < PARTITIONS_MAX and rng.random() < 0.15:
            partitions += rng.randint(1, 3)
            moves += native.grown(rng, members, partitions)
        else:
            passed = native.session_passed(rng, members) if profile == "expiry" and rng.random() < 0.1 else []
            moves += passed or draw_moves(rng, members)
        if kind in {"mixed", "regex"} and rng.random() < SETTLED:
            moves += at_rest(members)
    last = at_rest(members) if kind in {"mixed", "regex"} else [settled(members)]
    return Drawn(seed=seed, kind=kind, moves=(*moves, *last))


CHANGES: Sequence[tuple[int, Alone]] = (
    (3, classic.left),
    (3, classic.restarted),
    (3, classic.rejoined),
    (1, classic.dropped),
)
NATIVE_CHANGES: Sequence[tuple[int, Alone]] = ((3, native.went), (3, native.came_back), (3, native.changed))
CHANGES_MAX = 3


def draw_resting(seed: int) -> Drawn:
    """Members of both protocols come, rest and are asked; then something happens, and they rest and are asked again."""
    rng = Random(seed)
    count = rng.randint(2, len(NAMES))
    natives = rng.randint(1, count - 1)
    members = [
        draw_member(rng, name, native=number < natives, has_own_topic=False)
        for number, name in enumerate(rng.sample(NAMES[:count], count))
    ]
    late = rng.sample(members, rng.randint(0, count - 2)) if rng.random() < LATE else []
    moves = [one for member in rng.sample(members, count) if member not in late for one in came(rng, member)]
    moves += at_rest(members)
    moves += [one for member in late for one in came(rng, member)]
    for _ in range(rng.randint(0 if late else 1, CHANGES_MAX)):
        inside = [one for one in members if one.inside]
        if inside:
            member = rng.choice(inside)
            table = NATIVE_CHANGES if member.native else CHANGES
            moves += rng.choices([one for _, one in table], [weight for weight, _ in table])[0](rng, member)
    return Drawn(seed=seed, kind="resting", moves=(*moves, *at_rest(members)))


LATE = 0.4


def came(rng: Random, member: Member) -> list[Move]:
    """A member joins as its protocol wants it."""
    return (native.appeared if member.native else classic.entered)(rng, member)


def at_rest(members: list[Member]) -> list[Move]:
    """Who is in goes on by itself, and when all is quiet the group is asked all round."""
    move = settled(members)
    return [move, Probe(members=move.members)]


def give_pattern(rng: Random, member: Member) -> None:
    """A KIP-848 member that wants topics by a pattern from the start."""
    if member.native and rng.random() < PATTERNED:
        member.fields |= {"subscribed_topic_regex": rng.choice(PATTERNS[:4]), "subscribed_topic_names": []}


def settled(members: list[Member]) -> Settle:
    """Who is in, as of now, goes on by itself."""
    return Settle(members=tuple(replace(one, fields=dict(one.fields)) for one in members if one.inside))


def draw_moves(rng: Random, members: list[Member]) -> list[Move]:
    """What happens next."""
    chance = rng.random()
    if chance < 0.05:
        return shared.viewed(rng)
    if chance < 0.07:
        return shared.deleted(rng)
    if chance < 0.09:
        return shared.forgotten(rng)
    if chance < 0.12:
        return classic.left_together(rng, members)
    if chance < 0.30:
        return draw_round(rng, members)
    return draw_single(rng, members)


def draw_round(rng: Random, members: list[Member]) -> list[Move]:
    """Everybody does what its protocol wants."""
    natives = native.round_of_natives(rng, members)
    classics = [one for one in members if not one.native]
    return [*natives, *classic.round_of_all(rng, classics)]


def draw_single(rng: Random, members: list[Member]) -> list[Move]:
    """One member does something, mostly what fits, sometimes spoilt."""
    member = rng.choice(members)
    if not member.inside and rng.random() < 0.6:
        moves = (native.appeared if member.native else classic.entered)(rng, member)
    elif not member.native and rng.random() < 0.2:
        moves = [classic.synced(rng, member, members)]
    else:
        patterned = "subscribed_topic_regex" in member.fields
        table = OF_PATTERNED if patterned else OF_NATIVE if member.native else OF_CLASSIC
        make = rng.choices([one for _, one in table], [weight for weight, _ in table])[0]
        moves = make(rng, member)
    return [spoil(rng, move, member, members) if rng.random() < SPOILT else move for move in moves]


def spoil(rng: Random, move: Move, member: Member, members: list[Member]) -> Move:
    """A call with one field wrong; other moves stay."""
    if not isinstance(move, Call):
        return move
    if move.api == "ConsumerGroupHeartbeat":
        return native.mutated_heartbeat(rng, move, member, members)
    if move.api in {"JoinGroup", "SyncGroup", "Heartbeat"}:
        return classic.mutated(rng, move, member, members)
    return move
