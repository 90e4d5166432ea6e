"""Patterns of subscriptions."""

import pytest
import re2

from bridge.coordinators.embedded.regular_expressions import PATTERN_CHARACTERS_MAX, Resolution, resolve
from translators.dialects.ids import TopicName

NAMES = [TopicName(name) for name in ("orders", "orders-eu", "__internal", "x")]


def test_whole_names_match() -> None:
    """`orders` does not match `orders-eu`; internal topics match (K2.4 in 11.4)."""
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
        pytest.param("[a-z0-9.-]{0,1000}" * 100, id="19 s to read"),
        pytest.param("(?:.?){1000}" * 30, id="270,000 instructions"),
        pytest.param(r"\pL" * 3_333, id="wide classes"),
        pytest.param("((a{0,30}){0,30})" * 500, id="nested counts"),
    ],
)
def test_pattern_that_grows_beyond_its_letters_is_refused(pattern: str) -> None:
    """While RE2 reads a pattern nobody else is served."""
    assert resolve(pattern, NAMES) == Resolution(frozenset(), "pattern too large - compile failed")


@pytest.mark.parametrize("pattern", [r"[^\pL\pN]" * 999, "[a-z0-9.-]{0,1000}" * 555, "(x{1000,})" * 999])
def test_pattern_that_is_long_to_read_is_not_read(pattern: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """RE2 looks at the whole of it before it says that it is too large: 0.4 s, in which nobody is served."""
    monkeypatch.setattr(re2, "compile", pytest.fail)
    assert resolve(pattern, NAMES) == Resolution(frozenset(), "pattern too large - compile failed")


@pytest.mark.parametrize("pattern", [r"\p{Nd}*" * 10 + "|x", "[a-z]{0,249}" * 20 + "|x", "(?:x{1}){1}"])
def test_pattern_with_classes_and_counts_is_read(pattern: str) -> None:
    """Few of them are no burden."""
    assert TopicName("x") in resolve(pattern, NAMES).topics


def test_pattern_of_as_many_letters_as_may_be_is_read() -> None:
    """The bound on memory is none on names that are written out."""
    longest = "a-long.name" * ((PATTERN_CHARACTERS_MAX - len("|orders")) // 11)
    assert resolve(f"{longest}|orders", NAMES).topics == {TopicName("orders")}


def test_what_brackets_match_is_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """To keep that of 2,000 of them, `(o*)*` over and over, took 40 s for the names of 1,000 topics."""
    read, asked = re2.compile, list[bool]()

    def compile_as_asked(pattern: str, options: re2.Options) -> object:
        asked.append(options.never_capture)
        return read(pattern, options)

    monkeypatch.setattr(re2, "compile", compile_as_asked)
    assert resolve("(o.*)", NAMES).topics
    assert asked == [True]


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
