"""Ports that are drawn once on a machine, while nobody listens on them. It must not start what listens there."""

import os
import socket
import subprocess
import sys
from collections.abc import Iterator

import pytest

from bridge.demo.free_ports import BLOCK_PORTS, BLOCKS_CLAIMED_MAX, LOOPBACK, PORT_FIRST, PORT_LAST, FreePorts

DRAWS = "from bridge.demo.free_ports import FREE_PORTS; print(*(FREE_PORTS.draw(16)[0] for _ in range(750)))"


@pytest.fixture
def ports() -> Iterator[FreePorts]:
    """Draws of its own, whose claims end with the test."""
    drawn = FreePorts()
    yield drawn
    for claim in drawn.claims:
        os.close(claim)


def test_rows_are_apart_and_below_the_kernels_own(ports: FreePorts) -> None:
    """A stopped broker's port must not be taken by some outgoing connection, nor by who draws next."""
    rows = [ports.draw(count) for count in (1, 2, BLOCK_PORTS, BLOCK_PORTS + 1, 60)]
    drawn = [port for row in rows if row is not None for port in row]
    assert [len(row) for row in rows if row is not None] == [1, 2, BLOCK_PORTS, BLOCK_PORTS + 1, 60]
    assert len(set(drawn)) == len(drawn)
    assert PORT_FIRST <= min(drawn) <= max(drawn) < PORT_LAST


def test_what_one_process_drew_no_other_draws(ports: FreePorts) -> None:
    """The bridge of one test was dead for 30 s, and another test's took its port: EADDRINUSE at its next start."""
    row = ports.draw(3)
    assert row is not None
    others = subprocess.run([sys.executable, "-c", DRAWS], capture_output=True, text=True, check=True, timeout=60)
    assert row[0] not in map(int, others.stdout.split())


def test_row_with_a_listener_in_it_is_passed_over(ports: FreePorts) -> None:
    """Whoever it is, and whether or not it drew its port here."""
    drawn = ports.draw(1)
    assert drawn is not None
    (told,) = drawn
    os.close(ports.claims.pop())
    with socket.create_server((LOOPBACK, told + BLOCK_PORTS - 1)):
        again = [row[0] for _ in range(750) if (row := ports.draw(1)) is not None]
        assert len(again) == 750
        assert told not in again


def test_nobody_has_them_all(ports: FreePorts) -> None:
    """What was drawn longest ago is given up; all that is held goes round."""
    for _ in range(BLOCKS_CLAIMED_MAX * 8):
        assert ports.draw(1) is not None
    assert len(ports.claims) == BLOCKS_CLAIMED_MAX


def test_more_than_there_is_is_none(ports: FreePorts) -> None:
    """And nothing stays claimed for it."""
    assert ports.draw(PORT_LAST - PORT_FIRST + 1) is None
    assert not ports.claims
