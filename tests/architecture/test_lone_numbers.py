"""A rule's number stands behind the sentence that says the rule, never before it and never instead of it.

Who reads a comment would have to look the number up to learn what the line beside it is for; before the sentence it is
a name that nobody knows yet. Looked at are docstrings, strings beside fields, and comments; in each its clauses, which
end at a full stop, a semicolon or a blank line. None begins with a number, and one with a number has at least three
words of its own.
"""

import re
import tokenize
from collections.abc import Iterator
from io import StringIO

import pytest

from tests.architecture.source_tree import ALL_FOLDERS, SourceFile, source_files

CITATION = re.compile(
    r"\bK\d+\.\d+(?:\.\d+|[a-z]\b)?|\b[Dd]ecisions? \d+|\bclients\.md, \d+"
    r"|\b[Hh]ouse rules? \d+|\b[Ii]ssues? \d+|\bRFC \d+"
)
CITES_FIRST = re.compile(rf"(?:Rows? \d+ of |See |As in )?(?:{CITATION.pattern})")
IN_BRACKETS = re.compile(r"\([^()]*\)")
CLAUSE_ENDS = re.compile(r"(?<=[.;])\s+|\n\s*\n")
WORD = re.compile(r"\w[\w'-]*")
OF_NUMBERS = {"and", "as", "done-when", "in", "line", "lines", "of", "on", "row", "rows", "see", "table", "to", "with"}
"""Words that only join numbers, or lead to one."""
WORDS_MIN = 3
CITED = "§"
BRACKETS_OPEN, BRACKETS_CLOSE = "([{", ")]}"
BEGINS = {tokenize.NEWLINE, tokenize.NL, tokenize.INDENT, tokenize.DEDENT, tokenize.COMMENT, tokenize.ENCODING}
"""Behind one of these a string is a statement of its own: a docstring, or the words beside a field."""


def notes(text: str) -> Iterator[tuple[int, str]]:
    """Line and words of each docstring, and of each run of lines that are comments."""
    before, begun, depth, run = tokenize.ENCODING, 0, 0, list[str]()
    for token in tokenize.generate_tokens(StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            begun = begun if run else token.start[0]
            run.append(token.string.lstrip("# "))
        elif run and token.type != tokenize.NL:
            yield begun, " ".join(run)
            run = []
        if token.type == tokenize.OP:
            depth += (token.string in BRACKETS_OPEN) - (token.string in BRACKETS_CLOSE)
        if token.type == tokenize.STRING and before in BEGINS and not depth:
            yield token.start[0], token.string.strip("rf\"'")
        before = token.type


def own_words(clause: str) -> int:
    """How many words a clause has besides numbers and what joins them."""
    return sum(word not in OF_NUMBERS for word in WORD.findall(CITATION.sub("", clause)))


def is_cited(clause: str) -> bool:
    """Whether a clause has a number, in brackets or not."""
    return CITED in clause or CITATION.search(clause) is not None


def lone(note: str) -> Iterator[str]:
    """The clauses of a note that have a number before their words, or instead of them."""
    shown = IN_BRACKETS.sub(lambda found: CITED if CITATION.search(found[0]) else "", note)
    for clause in CLAUSE_ENDS.split(shown):
        said = clause.strip()
        if CITES_FIRST.match(said) or (is_cited(said) and own_words(said) < WORDS_MIN):
            yield " ".join(clause.split())


def lone_numbers(file: SourceFile) -> list[str]:
    """Where a file has a number before its words, or instead of them."""
    if not CITATION.search(file.text):
        return []
    return [f"{file.path}:{line} {clause}" for line, note in notes(file.text) for clause in lone(note)]


def test_numbers_stand_behind_sentences() -> None:
    """Some 130 docstrings of tests were a number and nothing else, and 280 began with one (house rule 8)."""
    assert [place for file in source_files(ALL_FOLDERS) for place in lone_numbers(file)] == []


@pytest.mark.parametrize(
    "note",
    [
        "K1.57.",
        "K1.6, K1.59 and K4.6.",
        "Decision 9.",
        "House rules 1, 2, 5, 7.",
        "RFC 7677, section 3.",
        "See decision 7.",
        "K1.48 to K1.50 (testSyncGroupLeaderAfterFollower).",
        "Decision 13, without any traffic that could wake the owner.",
        "A seat is taken by the newcomer; K4.2 in a consumer group.",
        "Row 4 of K11.4, and no other pair of codes.",
        "Row 4 of K11.4: a commit under a generation to a group that nobody knows.",
        "K1.40: the newcomer wins, also when it speaks the other protocol.",
        "K5.11 with 11.4 and decision 3: each partition remembers its epoch.",
        "Answer it (K1.52).",
    ],
)
def test_number_before_words_or_instead_of_them_is_found(note: str) -> None:
    """In each of these ways one stood there."""
    assert len([*lone(note)]) == 1


@pytest.mark.parametrize(
    "note",
    [
        "A seat is taken by the newcomer (K1.40).",
        "The newcomer wins, also when it speaks the other protocol (K1.40).",
        "The translations that clients.md, 6 and decision 15 name.",
        "Each finds what the one before has left (K1.59; Kafka forgets a parked SyncGroup).",
        "It parts commits (decision 2) and joins. Nothing is cited here.",
        "A commit under a generation to a group that nobody knows (row 4 of K11.4).",
    ],
)
def test_number_with_a_sentence_passes(note: str) -> None:
    """What the house writes, in all its forms."""
    assert [*lone(note)] == []


def test_comments_that_follow_one_another_are_one_note() -> None:
    """The number of the second line belongs to the sentence that began in the first."""
    text = 'x = 1  # by itself\n# a rule that is told here\n# (K1.57)\n"""K1.6."""\ny = (\n    "K1.7.",\n)\n'
    assert [*notes(text)] == [(1, "by itself"), (2, "a rule that is told here (K1.57)"), (4, "K1.6.")]
