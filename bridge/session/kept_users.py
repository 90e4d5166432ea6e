"""The users that log in at the bridge itself: lines of a name and keys, read into what a login is judged by."""

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from heapq import nsmallest

from bridge.wire.sasl import Mechanism
from bridge.wire.scram import ScramKeys, keys_text, read_keys

USERS_MAX = 100_000
WORDS = 2
SALT_MAX = 64
"""A salt that is made up is no longer than a hash is."""
ALLOWED = "lines of NAME KEYS, as `epochbridge login-line NAME` makes them"
LENDERS_MAX = 64
"""So many of them are asked for each name, in some 60 µs."""
LOT_BYTES = 16
BY_KEYS = (Mechanism.SCRAM_SHA_512, Mechanism.SCRAM_SHA_256)


def choose_lenders(found: Sequence[ScramKeys]) -> tuple[ScramKeys, ...]:
    """Those whose looks are lent, by their keys, which nobody knows: who comes or goes changes little of it.

    One of each kind first: a kind that nobody lends would prove of whoever has it that he is a user.
    """
    first: dict[tuple[Mechanism, int, int], ScramKeys] = {}
    for keys in found:
        kind = keys.mechanism, keys.iterations, min(len(keys.salt), SALT_MAX)
        if kind not in first or keys.stored_key < first[kind].stored_key:
            first[kind] = keys
    chosen = nsmallest(LENDERS_MAX, first.values(), key=_stored_key)
    taken = {keys.stored_key for keys in chosen}
    others = (keys for keys in found if keys.stored_key not in taken)
    return (*chosen, *nsmallest(LENDERS_MAX - len(chosen), others, key=_stored_key))


def _stored_key(keys: ScramKeys) -> bytes:
    return keys.stored_key


class UsersUnreadable(Exception):
    """The text names no users; it is for a person, and quotes no keys."""


@dataclass(frozen=True, slots=True)
class KeptUsers:
    """Each user's keys by mechanism."""

    keys: Mapping[str, Mapping[Mechanism, ScramKeys]] = field(repr=False)
    _lenders: dict[Mechanism, tuple[ScramKeys, ...]] = field(default_factory=dict, init=False, repr=False)
    """Keys as which those of names look that are not there."""

    def keys_of(self, name: str, mechanism: Mechanism) -> ScramKeys | None:
        """By which a user is judged; PLAIN is judged by any that there are."""
        found = self.keys.get(name, {})
        if mechanism is not Mechanism.PLAIN:
            return found.get(mechanism)
        return next((found[one] for one in BY_KEYS if one in found), None)

    def __post_init__(self) -> None:
        """Choose the users that lend their looks."""
        for mechanism in (Mechanism.PLAIN, *BY_KEYS):
            found = (self.keys_of(name, mechanism) for name in self.keys)
            self._lenders[mechanism] = choose_lenders([one for one in found if one])

    def stand_in_keys(self, name: str, mechanism: Mechanism) -> ScramKeys | None:
        """By what a name is judged that is not there; None: nobody is judged by this mechanism.

        They look as those of one of the users, whom the name itself chooses: as many iterations, as long a salt, of
        which there may be several kinds. They are the same in every life of every bridge with this file, and change
        when that user's do: of one change of the file a name hears as seldom as a user does. They are no password's.
        """
        lenders = self._lenders[mechanism]
        if not lenders:
            return None
        told = name.encode()
        real = min(lenders, key=lambda keys: blake2b(told, key=keys.stored_key, digest_size=LOT_BYTES).digest())

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
