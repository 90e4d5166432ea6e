"""Connections of one address, and of all, in a second."""

from bridge.session.close_reasons import CloseReason
from bridge.session.open_connections import NewConnections


def test_each_address_has_its_own_limit_in_each_second() -> None:
    """One beyond it is refused and counts for nothing, another address is not touched, the next second begins anew."""
    opened, over = NewConnections(2), CloseReason.TOO_MANY_NEW_CONNECTIONS
    assert [opened.refusal("a", now_ms) for now_ms in (10, 500, 1_009)] == [None, None, over]
    assert opened.refusal("b", 1_009) is None
    assert [opened.refusal("a", 1_010) for _ in range(3)] == [None, None, over]


def test_all_addresses_together_have_a_limit_in_each_second() -> None:
    """What one address may not counts for nobody, and what is refused for all counts for no address."""
    opened, of_one, of_all = NewConnections(2, 3), CloseReason.TOO_MANY_NEW_CONNECTIONS, CloseReason.TOO_MANY_NEW_IN_ALL
    assert [opened.refusal("a", 10) for _ in range(4)] == [None, None, of_one, of_one]
    assert [opened.refusal("b", 10) for _ in range(3)] == [None, of_all, of_all]
    assert opened.refusal("c", 1_009) is of_all
    assert [opened.refusal(host, 1_010) for host in "abca"] == [None, None, None, of_all]
