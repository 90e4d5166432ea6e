"""The file of those who log in at the bridge: what its lines mean, and which mean nothing."""

from collections import Counter
from dataclasses import replace
from itertools import cycle

import pytest

from bridge.session.kept_users import BY_KEYS, KeptUsers, UsersUnreadable, parse_users, user_line
from bridge.wire.sasl import Mechanism
from bridge.wire.scram import ScramKeys, make_keys

KEYS = {
    mechanism: make_keys(mechanism, "word", bytes(16), 4_096)
    for mechanism in (Mechanism.SCRAM_SHA_256, Mechanism.SCRAM_SHA_512)
}
SHORT, LONG = KEYS[Mechanism.SCRAM_SHA_256], KEYS[Mechanism.SCRAM_SHA_512]


def test_lines_are_users_with_keys_by_mechanism() -> None:
    """PLAIN is judged by any; names may have spaces in them."""
    lines = ["# users", user_line("alice", SHORT), user_line("alice", LONG), "", user_line("bob and sons", SHORT)]
    users = parse_users("\n".join(lines))
    assert users.keys_of("alice", Mechanism.SCRAM_SHA_256) == SHORT
    assert users.keys_of("alice", Mechanism.PLAIN) == LONG
    assert users.keys_of("bob and sons", Mechanism.PLAIN) == SHORT
    assert users.keys_of("bob and sons", Mechanism.SCRAM_SHA_512) is None
    assert users.keys_of("eve", Mechanism.PLAIN) is None


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("alice my-secret", "line 1 has 2 words, or its second is no keys"),
        (f"{user_line('alice', SHORT)} more", "line 1 has 3 words"),
        (f"{user_line('alice', SHORT)}\n{user_line('alice', SHORT)}", "line 2 has other keys of SCRAM-SHA-256"),
        ("alice 'x", "line 1 can't be read"),
        ("# nobody", "it has no users"),
    ],
)
def test_lines_that_mean_nothing_are_named_and_not_quoted(text: str, said: str) -> None:
    """They may hold a password in the wrong place."""
    with pytest.raises(UsersUnreadable, match=said) as refused:
        parse_users(text)
    assert "secret" not in str(refused.value)


def several(*kinds: tuple[int, int]) -> KeptUsers:
    """Forty users with so many iterations and so long salts, in turn."""
    return KeptUsers(
        {
            f"user-{number}": {
                mechanism: make_keys(mechanism, "word", bytes([number]) * salt_bytes, iterations)
                for mechanism in BY_KEYS
            }
            for number, (iterations, salt_bytes) in zip(range(40), cycle(kinds), strict=False)
        }
    )


@pytest.mark.parametrize("mechanism", [Mechanism.PLAIN, *BY_KEYS])
def test_names_that_are_not_there_look_as_those_that_are(mechanism: Mechanism) -> None:
    """Where users have several counts of iterations, so have they: by the first user's all of them were told apart."""
    users = several((4_096, 16), (4_097, 24), (4_098, 24))
    looks = Counter[tuple[Mechanism, int, int]]()
    for number in range(600):
        keys = users.stand_in_keys(f"nobody-{number}", mechanism)
        assert keys is not None
        assert keys == users.stand_in_keys(f"nobody-{number}", mechanism)
        looks[keys.mechanism, keys.iterations, len(keys.salt)] += 1
    real = {(one.mechanism, one.iterations, len(one.salt)) for one in map_keys(users, mechanism)}
    assert looks.keys() == real
    # A third each, as of the users, by a hash.
    assert min(looks.values()) > 100


@pytest.mark.parametrize("mechanism", [Mechanism.PLAIN, *BY_KEYS])
def test_rare_looks_are_lent_as_well(mechanism: Mechanism) -> None:
    """Three of a thousand with keys of an old kind: as nobody else's, theirs would prove that they are users."""
    common, rare = make_keys(Mechanism.SCRAM_SHA_512, "word", bytes(16), 4_096), ((4_097, 16), (4_096, 24), (8_192, 16))

    def own(number: int, iterations: int, salt_bytes: int) -> dict[Mechanism, ScramKeys]:
        # The greatest of all, which no lot would choose.
        kept = replace(
            common, iterations=iterations, salt=bytes(salt_bytes), stored_key=bytes([255]) * 62 + number.to_bytes(2)
        )
        return {one: replace(kept, mechanism=one) for one in BY_KEYS}

    users = {f"user-{number}": own(number, 4_096, 16) for number in range(997)}
    users |= {f"rare-{number}": own(60_000 + number, *kind) for number, kind in enumerate(rare)}
    # Some users have keys of one mechanism only, which PLAIN is judged by as well.
    users["short"] = {Mechanism.SCRAM_SHA_256: own(61_000, 4_096, 16)[Mechanism.SCRAM_SHA_256]}
    kept, looks = KeptUsers(users), set[tuple[Mechanism, int, int]]()
    for number in range(3_000):
        keys = kept.stand_in_keys(f"nobody-{number}", mechanism)
        assert keys is not None
        looks.add((keys.mechanism, keys.iterations, len(keys.salt)))
    assert looks == {(one.mechanism, one.iterations, len(one.salt)) for one in map_keys(kept, mechanism)}


def map_keys(users: KeptUsers, mechanism: Mechanism) -> list[ScramKeys]:
    """Those of all users."""
    return [keys for name in users.keys if (keys := users.keys_of(name, mechanism))]


def test_new_password_changes_what_is_said_of_few_others() -> None:
    """Salts that all change together, when one user's does, are nobody's; and in another order they stay the same."""
    before = several((4_096, 16))
    names = [f"nobody-{number}" for number in range(200)]
    own = {Mechanism.SCRAM_SHA_512: make_keys(Mechanism.SCRAM_SHA_512, "new", bytes(16), 4_096)}
    for changed in ("user-0", "user-17", "one-more"):
        users = {**before.keys, changed: own}
        after = KeptUsers(dict(sorted(users.items(), reverse=True)))
        moved = [
            name
            for name in names
            if before.stand_in_keys(name, Mechanism.SCRAM_SHA_512) != after.stand_in_keys(name, Mechanism.SCRAM_SHA_512)
        ]
        assert len(moved) < len(names) // 5
