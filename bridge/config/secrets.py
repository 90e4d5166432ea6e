"""What of a configured value may be shown: in `check-config`, in faults, in logs."""

import re
from urllib.parse import unquote_to_bytes, urlsplit

from bridge.config.fields import Key, Value

HIDDEN = "…"
_LOGIN = re.compile(r"\S*@")
"""Who logs in, in front of a host: `user:password@`; the password may hold anything."""


def shown(key: Key, value: Value) -> str:
    """A value for people, without what may be a secret: the values of headers, a login or a query in a URL."""
    items = value if isinstance(value, tuple) else (value,)
    return ", ".join(_named_only(str(item)) if key.is_secret else without_login(str(item)) for item in items)


def without_login(text: str) -> str:
    """A text without what stands before the host of an address or URL, and without a URL's query."""
    before, slashes, rest = text.partition("//") if "//" in text else ("", "", text)
    place, question, _ = rest.partition("?")
    return before + slashes + _LOGIN.sub(f"{HIDDEN}@", place) + (f"?{HIDDEN}" if question else "")


def _named_only(pair: str) -> str:
    name, equals, _ = pair.partition("=")
    return f"{name.strip()}={HIDDEN}" if equals else HIDDEN


def split_login(url: str) -> tuple[str, bytes | None]:
    """A URL without its login, and that as `user:password`: libraries write the URLs that they ask into their logs."""
    parts = urlsplit(url)
    login, at, host = parts.netloc.rpartition("@")
    if not at:
        return url, None
    return parts._replace(netloc=host).geturl(), unquote_to_bytes(login)
