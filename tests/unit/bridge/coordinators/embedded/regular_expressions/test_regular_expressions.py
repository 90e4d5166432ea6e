"""Patterns of subscriptions."""

import pytest

from bridge.coordinators.embedded.regular_expressions import PATTERN_CHARACTERS_MAX, Resolution, resolve
from translators.dialects.ids import TopicName

NAMES = [TopicName(name) for name in ("orders", "orders-eu", "__internal", "x")]


def test_whole_names_match() -> None:
    """K2.4 in 11.4: `orders` does not match `orders-eu`; internal topics match."""
    assert resolve("orders", NAMES) == Resolution(frozenset({TopicName("orders")}))
    assert resolve("orders.*|__.*", NAMES) == Resolution(
        frozenset({TopicName("orders"), TopicName("orders-eu"), TopicName("__internal")})
    )


def test_bad_pattern_gives_the_reason(capfd: pytest.CaptureFixture[str]) -> None:
    """RE2 has no back references; nothing is printed behind our back."""
    assert resolve("(", NAMES) == Resolution(frozenset(), "missing ): (")
    assert resolve(r"(a)\1", NAMES).error is not None
    assert capfd.readouterr().err == ""


def test_endless_pattern_is_refused() -> None:
    """A pattern has a limit with a name."""
    assert resolve("a" * (PATTERN_CHARACTERS_MAX + 1), NAMES).error is not None


@pytest.mark.parametrize(
    "pattern",
    [
        r"(?P<a>x)|(?P<a>y)",
        r"(?<a>x)(?P<a>y)",
        r"[]\]](?<a>x)\Q(?<b>\E(?<a>y)",
        r"\C",
        r"(?P<é>x)",
    ],
)
def test_what_kafkas_re2_refuses_is_refused(pattern: str) -> None:
    """Kafka 4.3.1 answers 128 to each of these, which RE2 for C++ reads."""
    assert resolve(pattern, NAMES).error is not None


@pytest.mark.parametrize(
    "pattern",
    [
        r"(?P<a>x)(?P<b>y)?",
        r"(?<a>x)[(?<a>)]?",
        r"(?<a>x)(\Q(?<a>\E)?",
        r"(?<a>x)(\(\?<a>)?",
        r"(?<a>x)[[:alpha:](?<a>]?",
        r"(?<a>x)\\?",
        r"x[\\C]?",
        r"x(\\C)?",
    ],
)
def test_what_only_looks_like_a_second_group_is_none(pattern: str) -> None:
    """In a class, in a quotation or behind a backslash a bracket opens no group."""
    assert resolve(pattern, NAMES) == Resolution(frozenset({TopicName("x")}))
