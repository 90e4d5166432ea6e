"""A pattern against a cluster that is not there; one that is there has `test_cli_regex`."""

import pytest

from bridge.app.composition import AppError
from bridge.app.regex import resolve_in_cluster
from bridge.config.configuration import Config
from bridge.config.keys import Settings
from tests.support.ports import free_port


def test_cluster_away_is_said_with_the_next_step() -> None:
    """EB-APP-003 names the brokers that were asked."""
    address = f"127.0.0.1:{free_port()}"
    config = Config(Settings(bootstrap=(address,), connect_timeout_ms=100))
    with pytest.raises(AppError, match=rf"^EB-APP-003: .* at {address} "):
        resolve_in_cluster("a", config)


def test_pattern_that_cannot_be_read_asks_nobody() -> None:
    """The reason is RE2's."""
    found = resolve_in_cluster("a(", Config(Settings(bootstrap=("127.0.0.1:1",))))
    assert (found.topics, found.error) == (frozenset(), "missing ): a(")
