"""The users that log in at the bridge itself: lines of a name and keys, read into what a login is judged by."""

import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from hashlib import blake2b

from bridge.wire.sasl import Mechanism
from bridge.wire.scram import ScramKeys, keys_text, read_keys

USERS_MAX = 100_000
WORDS = 2
SALT_MAX = 64
"""A salt that is made up is no longer than a hash is."""
ALLOWED = "lines of NAME KEYS, as `epochbridge login-line NAME` makes them"
BY_KEYS = (Mechanism.SCRAM_SHA_512, Mechanism.SCRAM_SHA_256)


class UsersUnreadable(Exception):
    """The text names no users; it is for a person, and quotes no keys."""


@dataclass(frozen=True, slots=True)
class KeptUsers:
    """Each user's keys by mechanism."""

    keys: Mapping[str, Mapping[Mechanism, ScramKeys]] = field(repr=False)

    def keys_of(self, name: str, mechanism: Mechanism) -> ScramKeys | None:
        """By which a user is judged; PLAIN is judged by any that there are."""
        found = self.keys.get(name, {})
        if mechanism is not Mechanism.PLAIN:
            return found.get(mechanism)
        return next((found[one] for one in BY_KEYS if one in found), None)

    def somebodys_keys(self) -> ScramKeys:
        """Those by which PLAIN judges the first user of the file, which never has none."""
        found = self.keys_of(next(iter(self.keys)), Mechanism.PLAIN)
        assert found is not None, "a user has some keys"
        return found

    def stand_in_keys(self, name: str, mechanism: Mechanism) -> ScramKeys | None:
        """By what SCRAM challenges a name that is not there; None: nobody is challenged by this mechanism.

        As those of the first user look, and the same for the name as long as that one's keys are, in every life of the
        bridge; they are no password's.
        """
        real = next((own[mechanism] for own in self.keys.values() if mechanism in own), None)
        if real is None:
            return None

        def made(what: str, size: int) -> bytes:
            return blake2b(f"{what}\0{name}".encode(), key=real.stored_key, digest_size=size).digest()

        size = len(real.stored_key)
        salt = made("salt", min(len(real.salt), SALT_MAX))
        return replace(real, salt=salt, stored_key=made("stored", size), server_key=made("server", size))


def parse_users(text: str) -> KeptUsers:
    """Users of lines; raises UsersUnreadable."""
    users: dict[str, dict[Mechanism, ScramKeys]] = {}
    for number, line in enumerate(text.splitlines(), 1):
        try:
            words = shlex.split(line, comments=True)
        except ValueError as problem:
            raise UsersUnreadable(f"line {number} can't be read: {problem}") from None
        if not words:
            continue
        keys = read_keys(words[1]) if len(words) == WORDS else None
        if keys is None or not words[0]:
            # It may hold a password in the wrong place.
            raise UsersUnreadable(f"line {number} has {len(words)} words, or its second is no keys")
        own = users.setdefault(words[0], {})
        if keys.mechanism in own:
            raise UsersUnreadable(f"line {number} has other keys of {keys.mechanism} for a user that has some")
        own[keys.mechanism] = keys
    if not users or len(users) > USERS_MAX:
        raise UsersUnreadable(f"it has {len(users) or 'no'} users, {USERS_MAX} are read at most")
    return KeptUsers(users)


def user_line(name: str, keys: ScramKeys) -> str:
    """A line for one user."""
    return f"{shlex.quote(name)} {shlex.quote(keys_text(keys))}"
