"""Which road a group takes: rules by glob pattern, the first match wins, `pass` where none matches.

It must not know connections, brokers or what a coordinator does on a road.
"""

import re
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum, auto
from fnmatch import translate

from translators.dialects.ids import GroupId

REMEMBERED_GROUPS_MAX = 10_000


class Road(StrEnum):
    """Who coordinates a group."""

    PASS = auto()
    """The broker; frames go through untouched, but observed."""
    EMBEDDED = auto()
    """The bridge's own engine."""
    UPSTREAM = auto()
    """A broker that speaks KIP-848; every classic member is translated."""


@dataclass(frozen=True, slots=True)
class Rule:
    """Groups whose id matches the glob `pattern` (`*`, `?`, `[…]`, case-sensitive) take `road`."""

    pattern: str
    road: Road


class Router:
    """Answers which road a group takes, and remembers the answer for a bounded number of groups.

    Rules are tried in order. A changed set of rules is a new Router, so that nothing remembered can be stale.
    """

    def __init__(self, rules: Sequence[Rule], remembered_groups_max: int = REMEMBERED_GROUPS_MAX) -> None:
        self.rules = tuple(rules)
        self._compiled = [(re.compile(translate(rule.pattern)), rule.road) for rule in rules]
        self._remembered: OrderedDict[GroupId, Road] = OrderedDict()
        self._remembered_max = remembered_groups_max

    def takes_groups(self) -> bool:
        """Whether any rule sends a group to another road than `pass`."""
        return any(rule.road is not Road.PASS for rule in self.rules)

    def remembered(self) -> int:
        """How many groups are remembered now; never more than the limit."""
        return len(self._remembered)

    def road(self, group_id: GroupId) -> Road:
        """The road of a group; the same for every request that names it."""
        known = self._remembered.get(group_id)
        if known is not None:
            return known
        road = next((road for pattern, road in self._compiled if pattern.match(group_id)), Road.PASS)
        if len(self._remembered) >= self._remembered_max:
            self._remembered.popitem(last=False)
        self._remembered[group_id] = road
        return road
