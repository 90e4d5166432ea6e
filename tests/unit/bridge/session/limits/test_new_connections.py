"""Connections of one address in a second."""

from bridge.session.limits import NewConnections


def test_each_address_has_its_own_limit_in_each_second() -> None:
    """One beyond it is refused and counts for nothing, another address is not touched, the next second begins anew."""
    opened = NewConnections(2)
    assert [opened.admits("a", 10), opened.admits("a", 500), opened.admits("a", 1_009)] == [True, True, False]
    assert opened.admits("b", 1_009)
    assert [opened.admits("a", 1_010), opened.admits("a", 1_010), opened.admits("a", 1_010)] == [True, True, False]
