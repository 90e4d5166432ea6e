"""Keys that are given and that nothing reads, for what another key says: whoever gave them believes that they count.

That is no fault: the other key is often put over a file for a try, as by `--admin off` or `--set journal=memory`.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from bridge.config.fields import Key
from bridge.config.keys import KEYS, Settings

OFF, MEMORY = "off", "memory"
CODE_UNREAD = "EB-CONFIG-017"
"""The key is given, and nothing reads it, for what another key says; the sentence names that."""


@dataclass(frozen=True, slots=True)
class Reader:
    """Keys of these names, or that begin so where they end in a dot, are read where `reads` says so; `wanted` is what
    to write for it.
    """

    names: tuple[str, ...]
    reads: Callable[[Settings], bool]
    wanted: str

    def means(self, key: Key) -> bool:
        """Whether it is one of these."""
        return any(key.name.startswith(name) if name.endswith(".") else key.name == name for name in self.names)


READERS = (
    Reader(
        ("admin.token.", "admin.tls", "admin.tls."),
        lambda settings: settings.admin_listen != OFF,
        "an address in admin.listen",
    ),
    Reader(("journal.",), lambda settings: settings.journal != MEMORY, "journal: sqlite"),
    Reader(("events.bootstrap", "events.spool."), lambda settings: bool(settings.events_topic), "events.topic"),
    Reader(("events.file.", "events.total."), lambda settings: bool(settings.events_path), "events.path"),
    Reader(("otel.protocol", "otel.headers"), lambda settings: bool(settings.otel_endpoint), "otel.endpoint"),
    Reader(
        ("migration.judge.rebalances.max",), lambda settings: settings.metrics_rebalances, "metrics.rebalances: true"
    ),
    Reader(
        ("limits.logins.waiting.max",), lambda settings: bool(settings.listen_sasl_mechanisms), "listen.sasl.mechanisms"
    ),
    Reader(("listen.tls.version.min",), lambda settings: settings.listen_tls, "listen.tls: true"),
    Reader(("admin.tls.version.min",), lambda settings: settings.admin_tls, "admin.tls: true"),
    Reader(
        ("upstream.tls.version.min", "upstream.tls.verify.hostname"),
        lambda settings: settings.upstream_tls,
        "upstream.tls: true",
    ),
)
"""What else is read by nothing is refused where it is read: files of TLS, and what logins are made of."""


def find_unread(settings: Settings) -> Iterator[tuple[str, str]]:
    """Each such key that has another value than its default, and what to say of it."""
    for key in KEYS.values():
        if getattr(settings, key.field_name) == key.default:
            continue
        reader = next((one for one in READERS if one.means(key) and not one.reads(settings)), None)
        if reader is not None:
            remedy = f"write {reader.wanted} beside it, or take it out"
            yield key.name, f"{key.name}: {CODE_UNREAD}: it is given, and nothing reads it; {remedy}"
