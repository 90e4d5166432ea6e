"""Names, times and lists for people."""

import pytest

from bridge.telemetry.cause.sentences import (
    call,
    enumerate_words,
    introduce,
    introduce_all,
    is_named_after,
    shorten,
    tell_duration,
    tell_timeout,
)
from bridge.telemetry.schema.facts import MemberInputs
from tests.support.event_stories import Story


@pytest.mark.parametrize(
    ("duration_us", "expected"),
    [
        (12, "12 µs"),
        (2_400, "2 ms"),
        (2_100_000, "2.1 s"),
        (10_000_000, "10 s"),
        (61_000_000, "1 min 1 s"),
        (7_260_000_000, "2 h 1 min"),
    ],
)
def test_duration_told_with_digits_that_matter(duration_us: int, expected: str) -> None:
    """Milliseconds below a second, minutes above sixty."""
    assert tell_duration(duration_us) == expected


def test_timeout_nobody_named_told_in_words() -> None:
    """Consumer members are told theirs by the coordinator."""
    assert (tell_timeout(-1), tell_timeout(45_000)) == ("its session timeout", "45 s")


def test_member_id_shortened_where_random() -> None:
    """Eight digits tell members apart; a very long client id keeps both ends."""
    assert shorten("app-1-0f8fad5b-d9cb-469f-a165-70867728950e") == "app-1-0f8fad5b"
    assert shorten("Thv8PAafW8dqqsX9DKdPHA") == "Thv8PAaf"
    assert shorten("x" * 90 + "12345678") == "x" * 39 + "…12345678"


def test_member_without_inputs_introduced_by_id() -> None:
    """Nothing is known but the id."""
    assert introduce("c1", lambda _: None) == "member c1"
    assert introduce_all(["c1", "c2"], lambda _: None) == "member c1 and member c2"


def test_member_with_random_id_introduced_by_client() -> None:
    """A consumer member's id is a random one, which tells people nothing."""
    event = Story().joined("c1")
    assert isinstance(event.fact, MemberInputs)
    told = event.fact
    assert introduce("Tk9", lambda _: told) == "member Tk9 (client c1, kafka-python 3.0.12, host 10.0.0.7)"
    assert call("Tk9", lambda _: told) == "Tk9 of client c1"
    assert call("c1-7f", lambda _: told) == "c1-7f"
    assert introduce("c1-7f", lambda _: told) == "member c1-7f (kafka-python 3.0.12, host 10.0.0.7)"


def test_many_words_cut_short() -> None:
    """Ten names make no sentence."""
    assert enumerate_words(list("abcd")) == "a, b, c and d"
    assert enumerate_words(list("abcdefg")) == "a, b, c and 4 more"


def test_random_id_that_begins_like_its_client_is_no_name() -> None:
    """A coordinator writes client id, dash, UUID; a random id may begin with the same letter."""
    assert is_named_after("a-00a1c2d3-0000-4000-8000-000000000000", "a")
    assert not is_named_after("a67FqZhO0000000000000A", "a")
