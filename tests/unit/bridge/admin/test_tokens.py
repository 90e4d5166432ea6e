"""Which header allows what."""

import pytest

from bridge.admin.tokens import Role, TokenPair, Tokens

BOTH = Tokens(TokenPair(order=b"order-order-order", read=b"read-read-read-read"))


@pytest.mark.parametrize(
    ("header", "role"),
    [
        ("Bearer order-order-order", Role.ORDER),
        ("bearer  read-read-read-read ", Role.READ),
        ("Bearer order-order-orde", None),
        ("Bearer ", None),
        ("Bearer", None),
        ("", None),
        ("Basic order-order-order", None),
        ("order-order-order", None),
        ("Bearer \u00e9\udcff", None),
    ],
)
def test_only_the_whole_token_counts(header: str, role: Role | None) -> None:
    """Behind the word Bearer, however that is written."""
    assert BOTH.role(header) is role


@pytest.mark.parametrize("header", ["Bearer ", "Bearer x", ""])
def test_where_there_is_none_nothing_is_right(header: str) -> None:
    """An empty token is nobody's."""
    assert Tokens().role(header) is None
    assert not Tokens().has_any()
