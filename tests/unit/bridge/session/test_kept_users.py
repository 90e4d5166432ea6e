"""The file of those who log in at the bridge: what its lines mean, and which mean nothing."""

import pytest

from bridge.session.kept_users import UsersUnreadable, parse_users, user_line
from bridge.wire.sasl import Mechanism
from bridge.wire.scram import make_keys

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
