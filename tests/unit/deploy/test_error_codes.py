"""What is found of error codes in a source, and that each stands for one thing."""

from itertools import groupby

import pytest

from deploy.error_codes import AREAS, NO_WORDS, Mention, all_mentions, error_pages, mentions

SHARED = {
    "EB-CLI-005": "a file that can't be used, checked or served",
    "EB-GROUP-002": "a bug that ended one turn or one question",
    **dict.fromkeys(
        ("EB-MOVE-102", "EB-MOVE-103", "EB-MOVE-104", "EB-MOVE-105", "EB-MOVE-115", "EB-MOVE-143"),
        "what keeps a group from moving, as the census foresees it and as an order finds it",
    ),
    "EB-MOVE-206": "a journal that fails, before a move is begun and before a part of it is",
    "EB-MOVE-224": "a group that is not at rest, by its members' heartbeats and by what its broker says",
    "EB-PLAN-015": "no plan of that name, and none that could have it",
    "EB-NET-012": "no broker, for a client or for the bridge's own questions",
    "EB-NET-030": "an answer that can't be read, on a connection for one question or for many",
    "EB-NET-034": "a broker that does not offer what is asked, on a connection for one question or for many",
    "EB-NET-035": "an answer of another kind than was asked for, on a connection for one question or for many",
    "EB-NET-036": "no connection to a broker that the bridge wants to ask, for one question or for many",
    "EB-NET-037": "no answer in time, on a connection for one question or for many",
    "EB-NET-046": "a TLS alert of a broker, while the connection is made or after it",
    "EB-NET-069": "a connection that the bridge ends for its records, of a client and to a broker",
    "EB-TRACE-001": "a folder without an event log that can be read, for a trace or for a report",
    "EB-TRACE-002": "an event log that holds nothing of the group, for a trace or for a report",
}
"""Codes that two modules say, as they mean the same thing."""


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ('raise E("EB-X-001: a thing is gone; look for it")', "a thing is gone; look for it"),
        ('raise E(f"EB-X-001: {thing!r} is gone; " f"look in {place}")', "… is gone; look in …"),
        ('LOG.info("EB-X-001: %s is gone after %.2f s", thing, s)', "… is gone after … s"),
        ('answer("EB-X-001", "a thing is gone")', "a thing is gone"),
        ('sentence = "no"\ndef f():\n    sentence = "gone"\n    answer("EB-X-001", sentence)', "gone"),
        ('class Reason(Enum):\n    GONE = ("EB-X-001", "a thing is gone")', "a thing is gone"),
        ('class Gone(Exception):\n    """A thing is gone."""\n    code = "EB-X-001"', "A thing is gone."),
        ('class Fault(Enum):\n    THING_GONE = "EB-X-001"', "thing gone"),
        ('GONE, LOST = "EB-X-001", "other"\nraise E(f"{GONE}: {thing} is gone")', "… is gone"),
        ('answer("EB-X-001", "one" if a else "other")', "one; or: other"),
        ('answer("EB-X-001", "a thing is gone", 404)', "a thing is gone"),
        ('Reason("EB-X-001", f"{thing} is gone", "look for it", Weight.PASSES)', "… is gone; look for it"),
        ('Reason("EB-X-001", "a thing is gone", weight=1, remedy="look for it")', "a thing is gone; look for it"),
        ('Reason("EB-X-001", found.text, "look for it")', "…; look for it"),
        ('G = "%r is gone"\ndef f():\n    told = G % thing\n    answer("EB-X-001", told)', "… is gone"),
        ('told = "EB-X-001: gone"\nLOG.info(told, extra={"code": "EB-X-001"})', "gone"),
        ('GONE = "EB-X-001"\n"""A thing is gone."""', "A thing is gone."),
        ('class Code(StrEnum):\n    GONE = "EB-X-001"\n    """A thing is gone."""', "A thing is gone."),
    ],
)
def test_words_are_found_where_they_stand(source: str, words: str) -> None:
    """With the code, beside it, under its name, or in the docstring below it or of what bears it."""
    assert {(one.code, one.words) for one in mentions(source, "a.py")} == {("EB-X-001", words)}


@pytest.mark.parametrize(
    "source",
    [
        'def _check_thing():\n    """What is looked at."""\n    yield Reason("EB-X-001", found)',
        'class Page:\n    """A page."""\n    def show(self):\n        return answer("EB-X-001", str(problem))',
    ],
)
def test_name_of_a_function_says_nothing_of_a_code(source: str) -> None:
    """Nor does what it is for: who looks a code up wants to know what happened, not where."""
    assert [one.words for one in mentions(source, "a.py")] == ["…"]


def test_docstring_is_no_mention() -> None:
    """A docstring names the codes that a function raises; it says none."""
    assert mentions('def f():\n    """Raise EB-X-001."""', "a.py") == []


def test_page_has_a_row_per_code() -> None:
    """All words and modules of a code in one row."""
    rows = [
        Mention(code="EB-NET-001", path="a.py", line=1, words="one | thing"),
        Mention(code="EB-NET-001", path="b.py", line=9, words="another <thing>"),
    ]
    assert error_pages(rows).splitlines()[-1] == (
        "| `EB-NET-001` | one \\| thing<br>another &lt;thing> | `a.py`, `b.py` |"
    )


def test_code_means_one_thing() -> None:
    """Two modules that take the same free number make a code that can't be searched for."""
    several = {
        code: paths
        for code, places in groupby(all_mentions(), key=lambda one: one.code)
        if len(paths := {one.path for one in places}) > 1
    }
    assert sorted(several) == sorted(SHARED), several


def test_every_area_has_its_words_and_no_more() -> None:
    """A new area of codes is described, a vanished one forgotten."""
    assert {one.code.split("-")[1] for one in all_mentions()} == set(AREAS)


def test_no_code_is_without_words() -> None:
    """A code alone tells nobody what happened; where two places say it, one of them has to have words."""
    found = all_mentions()
    told = {one.code for one in found if one.words.strip(NO_WORDS)}
    assert [one for one in found if one.code not in told] == []
