"""Facts of the journal that this release can't read, put aside under names that no release reads, for people."""

from typing import Protocol

UNREAD = "unread-"
"""So the names begin; the name follows under which the fact stood."""
ASIDE_MAX = 10
"""So many facts of one name stand aside: releases that take turns may leave one each time."""


class Facts(Protocol):
    """Where facts are kept over restarts."""

    def fact(self, name: str) -> str | None:
        """What is kept under a name, nothing if nothing is."""
        ...

    def keep_fact(self, name: str, text: str) -> None:
        """Keep this from now on; "" for nothing."""
        ...


def put_aside(facts: Facts, name: str, text: str) -> None:
    """Keep a fact beside the earlier ones of its name, under `unread-`, `unread-2-` … and that name.

    One that stands there is not kept twice; where all places are taken the last one is given up.
    """
    places = [f"{UNREAD}{name}", *(f"{UNREAD}{number}-{name}" for number in range(2, ASIDE_MAX + 1))]
    for place in places:
        there = facts.fact(place)
        if there == text:
            return
        if not there or place == places[-1]:
            facts.keep_fact(place, text)
            return
