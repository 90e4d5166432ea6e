"""A shard made empty in place, for whoever holds on to it. It must not know why, nor what fills it again."""

from dataclasses import MISSING, fields

from bridge.engine.state import Shard


def empty(state: Shard) -> None:
    """Forget every group, topic, pattern, deadline and commit; the inputs stay, and the count of commits goes on."""
    for item in fields(state):
        if item.default_factory is not MISSING:
            setattr(state, item.name, item.default_factory())
