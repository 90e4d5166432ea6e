"""Members, times and partitions as people read them.

It must not know causes.
"""

import re
from collections.abc import Callable, Sequence

from bridge.telemetry.schema.facts import MemberInputs

UUID = re.compile(r"([0-9a-fA-F]{8})-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}")
KAFKA_UUID = re.compile(r"(?=.*[A-Z])(?=.*[a-z])[A-Za-z0-9+/_-]{22}")
"""As clients of the consumer protocol, and coordinators, write one."""
UUID_DIGITS = 8
SHORT_CHARS = 48
LISTED_MAX = 3

Introduced = Callable[[str], MemberInputs | None]
"""Takes a member id; gives what that member told about itself, None where nothing is known."""


def shorten(member_id: str) -> str:
    """A member id that can be read: random parts cut to eight digits."""
    if KAFKA_UUID.fullmatch(member_id):
        return member_id[:UUID_DIGITS]
    short = UUID.sub(r"\1", member_id)
    return short if len(short) <= SHORT_CHARS else f"{short[: SHORT_CHARS - 9]}…{short[-8:]}"


def is_named_after(member_id: str, client_id: str) -> bool:
    """Whether a classic coordinator made the id of the client's: client id, dash, UUID; random ones may look alike."""
    return not client_id or member_id == client_id or member_id.startswith(f"{client_id}-")


def call(member_id: str, introduced: Introduced) -> str:
    """A member in few words: its id, and its client's where that says more."""
    inputs = introduced(member_id)
    if inputs is None or is_named_after(member_id, inputs.client_id):
        return shorten(member_id)
    return f"{shorten(member_id)} of client {shorten(inputs.client_id)}"


def introduce(member_id: str, introduced: Introduced) -> str:
    """A member with its client id, unless its own id holds that, its library and host, as far as they are known."""
    inputs = introduced(member_id)
    if inputs is None:
        return f"member {shorten(member_id)}"
    known = " ".join(part for part in (inputs.library, inputs.library_version) if part)
    client = "" if is_named_after(member_id, inputs.client_id) else f"client {shorten(inputs.client_id)}"
    host = f"host {inputs.client_host}" if inputs.client_host else ""
    parts = [part for part in (client, known, host) if part]
    return f"member {shorten(member_id)}" + (f" ({', '.join(parts)})" if parts else "")


def enumerate_words(words: Sequence[str]) -> str:
    """Words as an enumeration; many are cut short."""
    if len(words) > LISTED_MAX + 1:
        words = [*words[:LISTED_MAX], f"{len(words) - LISTED_MAX} more"]
    return " and ".join((", ".join(words[:-1]), words[-1])) if len(words) > 1 else "".join(words)


def introduce_all(member_ids: Sequence[str], introduced: Introduced) -> str:
    """Members as an enumeration."""
    return enumerate_words([introduce(member_id, introduced) for member_id in member_ids])


def tell_duration(duration_us: int) -> str:
    """A duration with the digits that matter."""
    if duration_us < 1_000:
        return f"{duration_us} µs"
    if duration_us < 1_000_000:
        return f"{duration_us / 1_000:.0f} ms"
    if duration_us < 60_000_000:
        text = f"{duration_us / 1_000_000:.1f}".removesuffix(".0")
        return f"{text} s"
    minutes, seconds = divmod(round(duration_us / 1_000_000), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min {seconds} s"


def tell_timeout(timeout_ms: int) -> str:
    """A timeout, which nobody may have named."""
    return tell_duration(timeout_ms * 1_000) if timeout_ms > 0 else "its session timeout"
