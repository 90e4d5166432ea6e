"""Which names patterns mean, and what two of them have in common."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bridge.migration.patterns import (
    Matches,
    Pattern,
    PatternForm,
    PatternUnreadable,
    covers,
    make_matcher,
    make_subject_matcher,
    matches_everything,
    matches_nothing,
    overlap,
)

GLOBS = st.lists(st.sampled_from(["a", "b", "*", "?", "[ab]", "[!a]", "-"]), max_size=6).map("".join)
NAMES = st.text("ab-c", max_size=7)
PATTERNS = st.builds(Pattern, GLOBS) | st.builds(Pattern, NAMES, st.just(PatternForm.EXACT))


def test_forms_mean_what_they_say() -> None:
    """A glob, the name itself, and an expression for whoever can read it."""
    assert [make_matcher(Pattern("a*"))(name) for name in ("a", "abc", "ba", "a\nb")] == [True, True, False, True]
    assert [make_matcher(Pattern("a*", PatternForm.EXACT))(name) for name in ("a*", "ab")] == [True, False]
    assert make_matcher(Pattern("x+", PatternForm.REGEX), lambda text: lambda name: name == f"{text}!")("x+!")
    with pytest.raises(PatternUnreadable):
        make_matcher(Pattern("x", PatternForm.REGEX))


@given(PATTERNS, PATTERNS, NAMES)
def test_name_that_both_mean_is_found(one: Pattern, other: Pattern, name: str) -> None:
    """Whatever a name shows of two patterns is known without it; and it does not matter which comes first."""
    is_of_one, is_of_other = make_matcher(one)(name), make_matcher(other)(name)
    if is_of_one and is_of_other:
        assert overlap(one, other)
    if is_of_other and not is_of_one:
        assert not covers(one, other)
    assert overlap(one, other) == overlap(other, one)


@given(PATTERNS, PATTERNS)
def test_two_that_overlap_have_a_name_in_common(one: Pattern, other: Pattern) -> None:
    """No pattern is said to disagree with one that it never meets: all short names tell."""
    letters = "abc-"
    names = [""]
    for _ in range(4):
        names += [name + letter for name in names if len(name) == max(map(len, names)) for letter in letters]
    fits = [make_matcher(pattern) for pattern in (one, other)]
    shortest = sum(len(pattern.text.replace("*", "")) for pattern in (one, other))
    if not overlap(one, other):
        assert not any(all(matches(name) for matches in fits) for name in names)
    elif shortest <= 4 and "[" not in one.text + other.text:
        assert any(all(matches(name) for matches in fits) for name in names)


@pytest.mark.parametrize(
    ("wide", "narrow", "expected"),
    [
        ("orders-*", "orders-old-*", True),
        ("orders-old-*", "orders-*", False),
        ("*a*", "*ab*", True),
        ("[a-d]?", "[bc]x", True),
        ("[bc]?", "[a-d]x", False),
        ("a", "a", True),
        ("*", "[!a]*", True),
        ("a*", "*", False),
    ],
)
def test_what_is_wider_covers(wide: str, narrow: str, *, expected: bool) -> None:
    """An earlier rule that covers a later one leaves it nothing."""
    assert covers(Pattern(wide), Pattern(narrow)) is expected


def test_everything_and_nothing() -> None:
    """Only stars, or an expression that takes whatever is tried; a class in which no character is."""
    assert [matches_everything(Pattern(text)) for text in ("*", "**", "?*", "a*")] == [True, True, False, False]
    assert matches_everything(Pattern(".*", PatternForm.REGEX), lambda _: lambda _name: True)
    assert [matches_nothing(Pattern(text)) for text in ("a[b-a]", "[!a]", "a[", "")] == [True, False, False, False]


def test_expressions_are_compared_with_single_names_only() -> None:
    """Of two expressions nobody knows what they share."""
    regex = Pattern("a.", PatternForm.REGEX)

    def matches_ab(_text: str) -> Matches:
        return {"ab"}.__contains__

    assert overlap(regex, Pattern("ab", PatternForm.EXACT), matches_ab)
    assert covers(regex, Pattern("ab", PatternForm.EXACT), matches_ab)
    assert not overlap(regex, Pattern("a*"), matches_ab)
    assert not covers(Pattern("a*"), regex, matches_ab)


VALUES = st.text("ab=*,+\\\\.[", min_size=1, max_size=4)
ATTRIBUTES = st.sampled_from(("CN", "OU", "O"))


def escaped(value: str) -> str:
    """As RFC 2253 has it in a subject."""
    return "".join(f"\\{sign}" if sign in ",+\\" else sign for sign in value)


@given(
    st.lists(st.tuples(ATTRIBUTES, VALUES), min_size=1, max_size=4),
    st.lists(st.tuples(ATTRIBUTES, st.text("ab,+", max_size=2), st.text("ab,+", max_size=2)), min_size=1, max_size=4),
    st.integers(0, 4),
)
def test_star_in_a_value_of_a_subject_goes_no_further(
    subject: list[tuple[str, str]], meant: list[tuple[str, str, str]], whole: int
) -> None:
    """Part for part, or any parts where a star stands in the place of the last ones."""
    pattern = [f"{name}={escaped(start)}*{escaped(end)}" for name, start, end in meant[: whole or None]]
    is_open = 0 < whole < len(meant)
    is_meant = make_subject_matcher(",".join([*pattern, *(["*"] if is_open else [])]))
    fits = len(subject) > len(pattern) if is_open else len(subject) == len(pattern)
    fits = fits and all(
        (name, len(value) >= len(start + end), value[: len(start)], value[len(value) - len(end) :])
        == (wanted, True, start, end)
        for (name, value), (wanted, start, end) in zip(subject, meant[: len(pattern)], strict=False)
    )
    assert is_meant(",".join(f"{name}={escaped(value)}" for name, value in subject)) == fits


@pytest.mark.parametrize(
    ("pattern", "subject", "is_meant"),
    [
        ("CN=*,O=ops", "CN=x,O=ops", True),
        ("CN=*,O=ops", "CN=x,O=evil,O=ops", False),
        ("CN=*,O=ops", "CN=x+OU=evil,O=ops", False),
        ("CN=*,O=ops", "CN=x\\,O=ops", False),
        ("CN=*", "CN=x\\,y", True),
        ("CN=a\\,*", "CN=a\\,b", True),
        ("CN=a\\,*", "CN=a\\,b,O=evil", False),
        ("CN=a\\*", "CN=a\\\\,O=evil", False),
        ("CN=a\\*b", "CN=a\\\\,O=evilb", False),
        ("CN=a\\*", "CN=a*", True),
        ("CN=a\\*", "CN=ab", False),
        ("CN=a\\\\*", "CN=a\\\\b", True),
        ("CN=a\\\\*", "CN=a\\\\,O=evil", False),
        ("CN=jobs,*", "CN=jobs,OU=shop,O=Example", True),
        ("CN=jobs,*", "CN=jobs", False),
        ("*,O=ops", "CN=x,OU=y,O=ops", True),
        ("*", "CN=x,OU=y", True),
        ("CN=a?[b]", "CN=a?[b]", True),
        ("CN=a?", "CN=ab", False),
    ],
)
def test_what_a_line_about_certificates_means(pattern: str, subject: str, is_meant: bool) -> None:
    """Signs of globs mean themselves, and what is escaped belongs to its value."""
    assert make_subject_matcher(pattern)(subject) == is_meant
