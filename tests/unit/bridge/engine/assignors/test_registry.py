"""The table of assignors; it must not know how plug-ins are loaded."""

import pytest

from bridge.engine.assignors.range import Range
from bridge.engine.assignors.registry import extend_registry, registry
from bridge.engine.assignors.uniform import Uniform


class Custom(Range):
    """A plug-in with a name of its own."""

    name: str = "custom"


def test_builtin_table_names_uniform_first() -> None:
    """The first is the default, as in group.consumer.assignors."""
    assert [(name, type(assignor)) for name, assignor in registry.items()] == [("uniform", Uniform), ("range", Range)]


def test_plugin_is_added_after_the_builtin_ones() -> None:
    """The built-in table itself stays as it is."""
    assert list(extend_registry([Custom()])) == ["uniform", "range", "custom"]
    assert "custom" not in registry


def test_plugin_with_a_taken_name_is_refused() -> None:
    """Silently replacing uniform would change every group."""
    with pytest.raises(ValueError, match=r"EB-ASSIGNOR-001: two assignors are named 'range'"):
        extend_registry([Range()])
