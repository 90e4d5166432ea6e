"""Which names a rule or a plan means: one name, a glob, or a regular expression; and what two patterns have in common.
Besides, which subjects of certificates a line of a file means.

Regular expressions are RE2's, which this room does not have: whoever has it gives a reader of them.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum, auto
from fnmatch import fnmatchcase, translate
from functools import cache

Matches = Callable[[str], bool]
ReadRegex = Callable[[str], Matches]
"""Reads an RE2 expression that has to match the whole name; raises PatternUnreadable."""

_PROBES = ("", "a", "0", "Zz-1", "payments", "__x.y", "a b", "é→")
"""What matches all of these matches everything as far as an operator can mean it."""


class PatternUnreadable(ValueError):
    """A pattern is none; the text says why."""


class PatternForm(StrEnum):
    """How a pattern is written."""

    GLOB = auto()
    """`*`, `?`, `[…]`, `[!…]`; case-sensitive, and the whole name."""
    EXACT = auto()
    """The name itself."""
    REGEX = auto()
    """RE2, and the whole name."""


@dataclass(frozen=True, slots=True)
class Pattern:
    """The names that are meant."""

    text: str
    form: PatternForm = PatternForm.GLOB


def no_regex(text: str) -> Matches:
    """Where nobody brought RE2 along."""
    raise PatternUnreadable(f"there is no RE2 here to read {text!r:.100} with")


def make_matcher(pattern: Pattern, read_regex: ReadRegex = no_regex) -> Matches:
    """What says whether a name is meant; raises PatternUnreadable."""
    if pattern.form is PatternForm.EXACT:
        return pattern.text.__eq__
    if pattern.form is PatternForm.REGEX:
        return read_regex(pattern.text)
    compiled = re.compile(translate(pattern.text))
    return lambda name: compiled.match(name) is not None


_OF_ONE_VALUE, _OF_PARTS = r"(?:[^,+\\]|\\.)*", r"(?:[^\\]|\\.)+"
"""What a star stands for in a subject: signs that divide it are escaped where they belong to a value."""


def _parts_of(subject: str) -> list[str]:
    """What stands between commas that belong to no value."""
    return re.findall(r"(?:^|,)((?:[^,\\]|\\.|\\$)*)", subject, re.DOTALL)


def _expression_of(part: str) -> str:
    """A part with its stars; one behind a backslash is itself, which subjects have without."""
    tokens = re.findall(r"\\.|[^\\]|\\$", part, re.DOTALL)
    return "".join(_OF_ONE_VALUE if one == "*" else re.escape("*" if one == "\\*" else one) for one in tokens)


def make_subject_matcher(pattern: str) -> Matches:
    """What says whether a line means a certificate's subject, as RFC 2253 writes that.

    Only `*` stands for something else, and in a value for nothing beyond it: `CN=*,O=ops` is not `CN=x,O=others,O=ops`.
    In the place of a part (`CN=x,*`) it stands for any parts, by itself for everybody; behind a backslash it is a star.
    """
    parts = (_OF_PARTS if part == "*" else _expression_of(part) for part in _parts_of(pattern))
    compiled = re.compile(",".join(parts), re.DOTALL)
    return lambda subject: compiled.fullmatch(subject) is not None


def matches_everything(pattern: Pattern, read_regex: ReadRegex = no_regex) -> bool:
    """Whether there is no name that is not meant, as far as a few odd ones tell; raises PatternUnreadable."""
    return pattern.form is not PatternForm.EXACT and all(map(make_matcher(pattern, read_regex), _PROBES))


def matches_nothing(pattern: Pattern) -> bool:
    """Whether no name can be meant; of a regular expression that is not known."""
    return pattern.form is PatternForm.GLOB and any(token == _NOTHING for token in _tokens(pattern.text))


def overlap(one: Pattern, other: Pattern, read_regex: ReadRegex = no_regex) -> bool:
    """Whether some name is meant by both; of a regular expression and what is no single name that is not known: False.

    Raises PatternUnreadable.
    """
    if PatternForm.REGEX not in (one.form, other.form):
        return _share_names(_tokens_of(one), _tokens_of(other))
    return any(
        single.form is PatternForm.EXACT and make_matcher(wide, read_regex)(single.text)
        for single, wide in ((one, other), (other, one))
    )


def covers(wide: Pattern, narrow: Pattern, read_regex: ReadRegex = no_regex) -> bool:
    """Whether every name that `narrow` means is meant by `wide`; False where that can't be told.

    Raises PatternUnreadable.
    """
    if wide == narrow or matches_everything(wide, read_regex):
        return True
    if narrow.form is PatternForm.EXACT:
        return make_matcher(wide, read_regex)(narrow.text)
    if PatternForm.REGEX in (wide.form, narrow.form):
        return False
    return _contains(_tokens_of(wide), _tokens_of(narrow))


_STAR = "*"
_ANY = "?"
_NOTHING = "[!]"
"""The token of a class that no character is in."""
_CLASS = re.compile(r"\[!?\]?[^\]]*\]", re.DOTALL)


def _tokens_of(pattern: Pattern) -> tuple[str, ...]:
    """A glob as its parts; of a single name each character is one, quoted."""
    if pattern.form is PatternForm.EXACT:
        return tuple(f"[{character}]" for character in pattern.text)
    return _tokens(pattern.text)


def _tokens(glob: str) -> tuple[str, ...]:
    """Stars, question marks and classes; a plain character is the class of itself."""
    tokens: list[str] = []
    at = 0
    while at < len(glob):
        found = _CLASS.match(glob, at)
        if glob[at] in (_STAR, _ANY):
            tokens.append(glob[at])
            at += 1
        elif found is not None:
            tokens.append(found.group() if any(map(_in(found.group()), _SAMPLES)) else _NOTHING)
            at = found.end()
        else:
            tokens.append(f"[{glob[at]}]")
            at += 1
    return tuple(tokens)


_SAMPLES = tuple(map(chr, range(0x250)))
"""Characters to tell classes apart by: names of groups are written in these, or all alike to a class."""


@cache
def _in(token: str) -> Matches:
    if token == _ANY:
        return lambda _: True
    if len(token) == 3 and token != _NOTHING:
        return token[1].__eq__
    return lambda character: token != _NOTHING and fnmatchcase(character, token)


@cache
def _characters(token: str) -> frozenset[str]:
    """The samples that a token takes, and the one plain character if it is none of them."""
    plain = {token[1]} if len(token) == 3 and token != _NOTHING else set()
    return frozenset(filter(_in(token), _SAMPLES)) | plain


def _share_names(one: Sequence[str], other: Sequence[str]) -> bool:
    """Whether a name runs through both: pairs of places that can be reached together."""
    seen: set[tuple[int, int]] = set()
    waiting = [(0, 0)]
    while waiting:
        place = waiting.pop()
        if place in seen:
            continue
        seen.add(place)
        left, right = place
        if left == len(one) and right == len(other):
            return True
        if left < len(one) and one[left] == _STAR:
            waiting += [(left + 1, right)] + [(left, right + 1)] * (right < len(other))
        if right < len(other) and other[right] == _STAR:
            waiting += [(left, right + 1)] + [(left + 1, right)] * (left < len(one))
        if left < len(one) and right < len(other) and _characters_met(one[left], other[right]):
            waiting.append((left + 1, right + 1))
    return False


def _characters_met(one: str, other: str) -> bool:
    return _STAR not in (one, other) and bool(_characters(one) & _characters(other))


def _contains(wide: Sequence[str], narrow: Sequence[str]) -> bool:
    """Whether `wide` takes every part of `narrow` in turn: a star of `narrow` only by a star of its own."""
    places = {0}
    for token in (*narrow, None):
        reached = set(places)
        for place in sorted(places):
            after = place
            while after < len(wide) and wide[after] == _STAR:
                after += 1
                reached.add(after)
        if token is None:
            return len(wide) in reached
        places = {place for place in reached if place < len(wide) and wide[place] == _STAR}
        if token != _STAR:
            places |= {
                place + 1
                for place in reached
                if place < len(wide) and wide[place] != _STAR and _characters(token) <= _characters(wide[place])
            }
        if not places:
            return False
    return False
