"""Assignors of other distributions."""

import sys
from importlib.metadata import EntryPoint
from types import ModuleType

import pytest

from bridge.coordinators.embedded.assignor_plugins import GROUP, PluginUnusable, load_assignors
from bridge.engine.assignors.interface import Assignment, AssignmentSpec
from bridge.engine.assignors.registry import registry


class Nobody:
    """An assignor that gives nothing to anybody."""

    name = "nobody"

    def assign(self, spec: AssignmentSpec) -> Assignment:
        """Everybody gets nothing."""
        return dict.fromkeys(spec.members, frozenset())


class Uniform(Nobody):
    """One that takes a built-in one's name."""

    name = "uniform"


NOT_AN_ASSIGNOR = "a word"
MADE = Nobody()


def point(attribute: str, module: str = __name__) -> EntryPoint:
    """An entry point as an installed distribution would have it."""
    return EntryPoint(name="test", value=f"{module}:{attribute}", group=GROUP)


@pytest.fixture(autouse=True)
def importable(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make this module findable by its name, which the test runner does not promise."""
    module = ModuleType(__name__)
    vars(module).update(globals())
    monkeypatch.setitem(sys.modules, __name__, module)


@pytest.mark.parametrize("attribute", ["Nobody", "MADE"])
def test_plugged_in_assignor_stands_behind_the_built_in_ones(attribute: str) -> None:
    """A class that makes one, or one that is made; the default stays the default."""
    assert list(load_assignors([point(attribute)])) == [*registry, "nobody"]


def test_without_plugins_there_are_the_built_in_ones() -> None:
    """Our own distribution brings none by entry points."""
    assert dict(load_assignors()) == dict(registry)


@pytest.mark.parametrize(
    ("attribute", "module", "code"),
    [
        ("NOT_AN_ASSIGNOR", __name__, "EB-ASSIGNOR-002"),
        ("MISSING", __name__, "EB-ASSIGNOR-002"),
        ("anything", "no_such_module_anywhere", "EB-ASSIGNOR-002"),
        ("Uniform", __name__, "EB-ASSIGNOR-001"),
    ],
)
def test_unusable_plugin_is_named(attribute: str, module: str, code: str) -> None:
    """The start fails with a sentence, not with a traceback."""
    with pytest.raises(PluginUnusable, match=code):
        load_assignors([point(attribute, module)])
