"""The story of the demo as data: what the user asked for, who sits where, and what happens to whom in which order."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from bridge.demo.events import Protocol
from bridge.demo.fleet_specs import CONFLUENT, KAFKA_PYTHON, MemberSpec


@dataclass(frozen=True, slots=True, kw_only=True)
class DemoOptions:
    """Counts of members and partitions, the length of the story, and what is shown.

    At most one of `bootstrap` (HOST:PORT) and `kafka` ("4.3", "3.9") is set; with neither the mock cluster serves.
    `events` is the folder for the bridge's event log, `group` the name of group and topic, "" for one that is free.
    With `is_move` the broker coordinates the group, which the bridge takes over while it works, and leaves at last.
    """

    members: int
    partitions: int
    seconds: float
    bootstrap: str | None = None
    kafka: str | None = None
    tui: bool = True
    events: str | None = None
    group: str = ""
    is_move: bool = False


SESSION_TIMEOUT_MS = 6_000
HEARTBEAT_INTERVAL_MS = 500

KINDS = ((KAFKA_PYTHON, "range"), (CONFLUENT, "range"), (CONFLUENT, "cooperative-sticky"))
MOVED_KINDS = ((KAFKA_PYTHON, "range"), (CONFLUENT, "range"))
"""A broker has a group only of members with an assignor in common."""
LIBRARIES: Mapping[tuple[str, ...], str] = {KAFKA_PYTHON: "kafka-python", CONFLUENT: "confluent-kafka"}


@dataclass(frozen=True, slots=True)
class Start:
    """A process starts in each of these seats, which are empty; with `is_direct` it knows the broker's own address."""

    specs: tuple[MemberSpec, ...]
    is_direct: bool = False


@dataclass(frozen=True, slots=True)
class Stop:
    """A seat's process is stopped cleanly: it commits and leaves."""

    seat: str


@dataclass(frozen=True, slots=True)
class Kill:
    """A seat's process is killed as by `kill -9`."""

    seat: str


@dataclass(frozen=True, slots=True)
class Move:
    """The live group is moved to another road by `epochbridge move`."""

    road: str


@dataclass(frozen=True, slots=True)
class Depart:
    """The bridge is stopped for good."""


Action = Start | Stop | Kill | Move | Depart


@dataclass(frozen=True, slots=True)
class Change:
    """One change of the group, after which it settles; the judge measures from before it until then.

    With `is_unnoticed` no callback of any client may be called meanwhile.
    """

    name: str
    action: Action
    is_unnoticed: bool = False


@dataclass(frozen=True, slots=True)
class Chapter:
    """One step of the story for who watches: a sentence, and one or two changes.

    A roll is two changes, a leave and a join: a partition that moves away with the one and comes back with the other
    has changed hands twice, which is no disturbance.
    """

    sentence: str
    changes: tuple[Change, ...]


def classic_spec(index: int, kinds: Sequence[tuple[tuple[str, ...], str]] = KINDS) -> MemberSpec:
    """The member in seat `index` (from 0) as it was before the migration: library and assignor take turns."""
    program, assignor = kinds[index % len(kinds)]
    return MemberSpec(
        seat=f"member-{index + 1}",
        program=program,
        assignor=assignor,
        session_timeout_ms=SESSION_TIMEOUT_MS,
        heartbeat_interval_ms=HEARTBEAT_INTERVAL_MS,
    )


def consumer_spec(spec: MemberSpec) -> MemberSpec:
    """The same seat after its roll: confluent-kafka with `group.protocol=consumer` (KIP-848)."""
    return replace(spec, program=CONFLUENT, protocol=Protocol.CONSUMER)


def plan(options: DemoOptions) -> Sequence[Chapter]:
    """The chapters of the story that is asked for."""
    return plan_move(options.members) if options.is_move else plan_story(options.members)


def plan_story(members: int) -> Sequence[Chapter]:
    """The chapters for `members` >= 2: form, roll half, kill the last, seat it anew, roll the rest, roll all back."""
    fleet = tuple(classic_spec(index) for index in range(members))
    *rolled, killed = fleet
    half = (len(rolled) + 1) // 2
    return [
        _form(fleet),
        *map(_roll, rolled[:half]),
        _kill(killed),
        _seat(killed),
        *map(_roll, rolled[half:]),
        *map(_roll_back, fleet),
    ]


def plan_move(members: int) -> Sequence[Chapter]:
    """The chapters for `members` >= 1: form, take the live group over, roll each to the broker itself, and leave."""
    fleet = tuple(classic_spec(index, MOVED_KINDS) for index in range(members))
    return [_form(fleet), _take_over(), *map(_roll_away, fleet), _leave()]


def _take_over() -> Chapter:
    sentence = (
        "The live group is moved: `epochbridge move --to upstream`. Each consumer becomes a KIP-848 member at the "
        "broker itself, by its own connection and under its own id; none of them may hear of it."
    )
    return Chapter(sentence, (Change("take over", Move("upstream"), is_unnoticed=True),))


def _roll_away(spec: MemberSpec) -> Chapter:
    sentence = (
        f"{spec.seat} ({_kind(spec)}) is upgraded: it stops, and comes back speaking KIP-848 itself (confluent-kafka, "
        f"group.protocol=consumer), with the broker's own address in place of the bridge's."
    )
    leave, join = _roll_changes("upgrade", consumer_spec(spec))
    assert isinstance(join.action, Start), join
    return Chapter(sentence, (leave, replace(join, action=replace(join.action, is_direct=True))))


def _leave() -> Chapter:
    sentence = "Nobody needs the bridge any more: it is stopped, and the consumers go on at the broker."
    return Chapter(sentence, (Change("the bridge leaves", Depart(), is_unnoticed=True),))


def _form(fleet: tuple[MemberSpec, ...]) -> Chapter:
    libraries = sorted({LIBRARIES[spec.program] for spec in fleet})
    sentence = (
        f"{len(fleet)} ordinary consumers ({' and '.join(libraries)}) start and join one group through the bridge, "
        f"all with the classic protocol."
    )
    return Chapter(sentence, (Change("form", Start(fleet)),))


def _roll(spec: MemberSpec) -> Chapter:
    sentence = (
        f"{spec.seat} ({_kind(spec)}) is upgraded: it stops, and comes back speaking the new protocol, KIP-848 "
        f"(confluent-kafka, group.protocol=consumer), while the others go on reading."
    )
    return Chapter(sentence, _roll_changes("upgrade", consumer_spec(spec)))


def _kill(spec: MemberSpec) -> Chapter:
    sentence = (
        f"{spec.seat} is killed hard (kill -9), as if its host had died: nobody reads its partitions until its session "
        f"has run out ({SESSION_TIMEOUT_MS // 1000} s), then the others take them over."
    )
    return Chapter(sentence, (Change(f"kill {spec.seat}", Kill(spec.seat)),))


def _seat(spec: MemberSpec) -> Chapter:
    sentence = f"{spec.seat} starts again, with the new protocol at once, and gets its share of the partitions."
    return Chapter(sentence, (Change(f"restart {spec.seat}", Start((consumer_spec(spec),))),))


def _roll_back(spec: MemberSpec) -> Chapter:
    sentence = f"{spec.seat} is rolled back to the classic protocol ({_kind(spec)}): the way back is open at any time."
    return Chapter(sentence, _roll_changes("downgrade", spec))


def _roll_changes(kind: str, spec: MemberSpec) -> tuple[Change, ...]:
    return (
        Change(f"{kind} {spec.seat}: leave", Stop(spec.seat)),
        Change(f"{kind} {spec.seat}: join", Start((spec,))),
    )


def _kind(spec: MemberSpec) -> str:
    return f"{LIBRARIES[spec.program]}, {spec.assignor}"
