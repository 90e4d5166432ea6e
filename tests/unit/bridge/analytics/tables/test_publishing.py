"""Tables that belong together, as a writer writes them down and a reader opens them."""

import pytest

from bridge.analytics.tables.definitions import FLAPS, STORMS
from bridge.analytics.tables.publishing import current_versions, pinned, publish, published
from bridge.analytics.tables.store import Store


@pytest.mark.parametrize("scheme", ["", "file://"])
def test_reader_keeps_to_what_was_written_down(store: Store, scheme: str) -> None:
    """On this machine, and through Hadoop's file systems elsewhere."""
    at = Store(store.spark, scheme + store.root)
    at.commit(FLAPS, [])
    assert (published(at), pinned(at)) == ({}, at)
    publish(at, {"more": "x"})
    at.commit(FLAPS, [])
    at.commit(STORMS, [])
    assert published(at) == {"versions": {"flaps": 1}, "more": "x"}
    assert (pinned(at).log(FLAPS).version, pinned(at).log(STORMS).version) == (1, 1)
    assert current_versions(at.root) == {"flaps": 2, "storms": 1}
