"""A table of transitions as a state diagram."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import TypeVar

from translators.machine import Transitions

StageT = TypeVar("StageT", bound=StrEnum)


def draw(transitions: Transitions, first: type) -> str:
    """Draw a mermaid `stateDiagram-v2` from `first` on; events of one arrow share its label."""
    return _drawn(
        first.__name__,
        (
            (state.__name__, target.__name__, event.__name__)
            for (state, event), following in transitions.items()
            for target in following
        ),
    )


def draw_stages(transitions: Mapping[tuple[StageT, type], Iterable[StageT]], first: StageT) -> str:
    """The same of a table whose states are stages, which nothing is known of but their names."""
    return _drawn(
        first.value,
        (
            (stage.value, target.value, event.__name__)
            for (stage, event), following in transitions.items()
            for target in following
        ),
    )


def _drawn(first: str, rows: Iterable[tuple[str, str, str]]) -> str:
    arrows: dict[tuple[str, str], list[str]] = defaultdict(list)
    for source, target, event in rows:
        arrows[source, target].append(event)
    lines = [
        f"    {source} --> {target}: {', '.join(sorted(events))}" for (source, target), events in sorted(arrows.items())
    ]
    return "\n".join(["stateDiagram-v2", f"    [*] --> {first}", *lines, ""])
