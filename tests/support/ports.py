"""Loopback ports that nothing listens on and that no other test of this machine draws."""

from bridge.demo.free_ports import FREE_PORTS


def free_port() -> int:
    """One of them: for a broker that is yet to start, or for nobody."""
    return free_neighbours(1)


def free_neighbours(count: int) -> int:
    """The first of `count` in a row."""
    ports = FREE_PORTS.draw(count)
    assert ports is not None, "all rows are taken: the tests of one machine are some hundreds"
    return ports[0]
