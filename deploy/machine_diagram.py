"""A table of transitions as a state diagram."""

from collections import defaultdict

from translators.machine import Transitions


def draw(transitions: Transitions, first: type) -> str:
    """Draw a mermaid `stateDiagram-v2` from `first` on; events of one arrow share its label."""
    arrows: dict[tuple[str, str], list[str]] = defaultdict(list)
    for (state, event), following in transitions.items():
        for target in following:
            arrows[state.__name__, target.__name__].append(event.__name__)
    lines = [
        f"    {source} --> {target}: {', '.join(sorted(events))}" for (source, target), events in sorted(arrows.items())
    ]
    return "\n".join(["stateDiagram-v2", f"    [*] --> {first.__name__}", *lines, ""])
