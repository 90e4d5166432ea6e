"""Keys that nothing reads: each is told of with what is missing, and none that something reads."""

from dataclasses import replace

import pytest

from bridge.app.unread_keys import CODE_UNREAD, READERS, find_unread
from bridge.config.fields import Key, Value
from bridge.config.keys import KEYS, Settings

READ = Settings(
    admin_listen="127.0.0.1:1",
    admin_tls=True,
    journal="sqlite",
    events_path="/events",
    events_topic="events",
    otel_endpoint="http://c:4318",
    metrics_rebalances=True,
    listen_sasl_mechanisms=("SCRAM-SHA-512",),
    listen_tls=True,
    upstream_tls=True,
)
"""With all that others need beside them."""
UNREAD = Settings(admin_listen="off", journal="memory", metrics_rebalances=False)
"""Without any of it."""
THEIRS = [key for key in KEYS.values() if any(reader.means(key) for reader in READERS)]


def another(key: Key) -> Value:
    """A value that is not the default."""
    match key.default:
        case bool():
            return not key.default
        case int():
            return key.default + 1
        case tuple():
            return ("h:1",)
        case str():
            return next((choice for choice in key.choices if choice != key.default), "x")


@pytest.mark.parametrize("key", THEIRS, ids=lambda key: key.name)
def test_each_is_told_of_where_nothing_reads_it_and_nowhere_else(key: Key) -> None:
    """With its code, and what to write beside it or do."""
    own = {key.field_name: another(key)}
    settings = replace(UNREAD, **own)  # type: ignore[arg-type]  # of its own kind
    ((name, sentence),) = find_unread(settings)
    assert name == key.name
    assert sentence.startswith(f"{key.name}: {CODE_UNREAD}: it is given, and nothing reads it; write ")
    assert sentence.endswith(" beside it, or take it out")
    assert list(find_unread(replace(READ, **own))) == []  # type: ignore[arg-type]  # of its own kind
    default = {key.field_name: key.default}
    assert list(find_unread(replace(UNREAD, **default))) == []  # type: ignore[arg-type]  # of its own kind


def test_those_that_were_silent_are_among_them() -> None:
    """Each was given by somebody who wondered."""
    names = {key.name for key in THEIRS}
    assert names >= {"events.bootstrap", "journal.path", "admin.tls", "admin.token.path", "otel.headers"}
    assert names.isdisjoint({"admin.listen", "journal", "events.topic", "events.path", "listen.tls"})


def test_what_decides_is_named() -> None:
    """For both reasons that a key may have: first the one that decides over all of its kind."""
    (told,) = find_unread(Settings(admin_listen="off", admin_tls_version_min="TLSv1.3"))
    assert "write an address in admin.listen beside it" in told[1]
    (told,) = find_unread(Settings(admin_tls_version_min="TLSv1.3"))
    assert "write admin.tls: true beside it" in told[1]
