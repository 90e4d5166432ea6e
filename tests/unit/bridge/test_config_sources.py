"""What an operator says besides the file."""

import pytest

from bridge.config import GroupRule
from bridge.config_sources import embedded_rules, read_environment
from bridge.migration.route import Road


def test_environment_is_read_at_the_call(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not at import."""
    monkeypatch.setenv("EPOCHBRIDGE_LISTEN", "127.0.0.1:9999")
    assert read_environment()["EPOCHBRIDGE_LISTEN"] == "127.0.0.1:9999"


def test_globs_become_rules_in_order() -> None:
    """The first rule that matches counts, so order is kept."""
    assert embedded_rules(["a-*", "*"]) == (GroupRule("a-*", Road.EMBEDDED), GroupRule("*", Road.EMBEDDED))
