"""What of an event is kept, however much a member says of itself."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from bridge.telemetry.schema.facts import BridgeStopped, CommitPassed, Event, Fact, MemberJoined, MemberLeft, Stamp
from bridge.telemetry.schema.lean import LIST_CHARS_MAX, PARTITIONS_CHARS_MAX, chars_of, lean, says_little
from bridge.telemetry.schema.terms import Departure, Protocol, Road
from tests.support.kept_text import kept_chars
from translators.dialects.kept_names import NAME_CHARS_MAX

JOINED = MemberJoined(
    group_id="g",
    road=Road.EMBEDDED,
    member_id="m",
    instance_id="i",
    protocol=Protocol.CONSUMER,
    client_id="c",
    client_host="/10.0.0.1",
    topics=("orders", "payments"),
    pattern="o.*",
    assignors=("range",),
    session_timeout_ms=1,
    rebalance_timeout_ms=1,
    rack_id="r",
    owned=("orders-0",),
)
MANY = tuple(f"topic-{number:06}" for number in range(20_000))
LONG = "n" * 32_000


def event(fact: Fact) -> Event:
    """It happened."""
    return Event(Stamp("b", 1, 2, 3), fact)


def test_what_is_said_in_few_words_is_kept_as_it_is() -> None:
    """The same value, without a copy; other facts too."""
    for one in (event(JOINED), event(replace(JOINED, topics=MANY[:4_000])), event(BridgeStopped(reason="x"))):
        assert lean(one) is one
    assert (chars_of(JOINED), chars_of(BridgeStopped(reason=LONG))) == (33, 0)


@pytest.mark.parametrize(
    "told",
    [lambda names: replace(JOINED, topics=names), lambda names: replace(JOINED, owned=names)],
    ids=["topics", "owned"],
)
def test_of_a_long_list_the_beginning_is_kept_and_what_tells_it_from_others(
    told: Callable[[tuple[str, ...]], MemberJoined],
) -> None:
    """Whether a member subscribes to something else than before is asked of what is kept."""
    first, same, other = (lean(event(told(names))) for names in (MANY, tuple(MANY), (*MANY[:-1], "another")))
    assert first == same
    assert first != other
    assert kept_chars(first) < LIST_CHARS_MAX + 1_000
    assert first is not None
    assert isinstance(first.fact, MemberJoined)
    assert MANY[:2] in (first.fact.topics[:2], (first.fact.owned or ())[:2])


def test_of_very_many_partitions_the_first_are_kept() -> None:
    """A member that has 6,000 is kept whole."""
    said = CommitPassed(
        group_id="g",
        road=Road.EMBEDDED,
        member_id="m",
        protocol=Protocol.CONSUMER,
        partitions=MANY,
        is_on_revoke=False,
        error="",
    )
    assert lean(event(said)) is not None
    assert chars_of(said) == sum(map(len, MANY))
    whole, cut = event(said), event(replace(said, partitions=MANY * 2))
    assert lean(whole) is whole
    assert kept_chars(lean(cut)) < PARTITIONS_CHARS_MAX + 1_000


def test_long_words_are_shortened() -> None:
    """Kafka lets a client have 32 kB in each."""
    said = replace(JOINED, client_id=LONG, pattern=LONG, rack_id=LONG, assignors=(LONG,) * 900)
    assert kept_chars(lean(event(said))) < LIST_CHARS_MAX


def test_nothing_is_kept_of_who_has_a_name_as_nobody_gives() -> None:
    """Its name is in all its events."""
    left = MemberLeft(
        group_id="g", road=Road.EMBEDDED, member_id="m", protocol=Protocol.CONSUMER, departure=Departure.LEFT
    )
    assert kept_chars(lean(event(replace(left, reason=LONG)))) < 500
    name = "n" * NAME_CHARS_MAX
    assert lean(event(replace(left, member_id=name, instance_id=name))) is not None
    assert lean(event(replace(left, member_id=f"{name}n"))) is None
    assert lean(event(replace(left, instance_id=f"{name}n"))) is None
    assert says_little(member_id=name, topics=MANY[:4_000], owned=None)
    assert not says_little(member_id=f"{name}n", topics=(), owned=None)
    assert not says_little(member_id="m", topics=MANY, owned=None)
    assert not says_little(member_id="m", topics=(), owned=range(LIST_CHARS_MAX + 1))
