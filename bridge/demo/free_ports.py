"""Loopback ports for what is started here: nothing listens on them, and nobody else who draws here is given them."""

import itertools
import math
import os
import socket
from collections import deque

LOOPBACK = "127.0.0.1"
PORT_FIRST, PORT_LAST = 20_000, 32_000
"""Below those that the kernel hands out to whoever connects, so that a dead broker's port stays its own."""
BLOCK_PORTS = 16
BLOCKS_CLAIMED_MAX = 100
"""Of one process; the blocks that it drew longest ago are given up beyond that, so that nobody has them all."""


class FreePorts:
    """Draws rows of ports in blocks, and claims each block for the life of this process.

    Looking for a listener is not enough: a bridge that a story killed and begins again after half a minute had its
    ports taken by another process meanwhile, and could not start (EADDRINUSE). The claim is a UDP socket at the
    block's first port, which no TCP listener minds, and which goes with the process whatever ends it.
    """

    def __init__(self) -> None:
        self.claims: deque[int] = deque()
        """Their file descriptors; the oldest first."""
        self._next: int | None = None

    def draw(self, count: int) -> range | None:
        """That many ports in a row; None if there is no such row. The same ones come again only after all others."""
        blocks = (PORT_LAST - PORT_FIRST) // BLOCK_PORTS
        wanted = math.ceil(count / BLOCK_PORTS)
        begin = os.getpid() * 37 % blocks if self._next is None else self._next
        for block in itertools.islice(itertools.cycle(range(blocks)), begin, begin + blocks):
            if block + wanted <= blocks and self._claim(range(block, block + wanted)):
                self._next = (block + wanted) % blocks
                first = PORT_FIRST + block * BLOCK_PORTS
                return range(first, first + count)
        return None

    def _claim(self, blocks: range) -> bool:
        claims = [claim for block in blocks if (claim := _claimed(block)) is not None]
        if len(claims) < len(blocks):
            for claim in claims:
                os.close(claim)
            return False
        self.claims.extend(claims)
        while len(self.claims) > max(BLOCKS_CLAIMED_MAX, len(blocks)):
            os.close(self.claims.popleft())
        return True


def _claimed(block: int) -> int | None:
    first = PORT_FIRST + block * BLOCK_PORTS
    with socket.socket(type=socket.SOCK_DGRAM) as claim:
        try:
            claim.bind((LOOPBACK, first))
            for port in range(first, first + BLOCK_PORTS):
                with socket.socket() as attempt:
                    # A port is free although connections of its last listener are still in TIME_WAIT.
                    attempt.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                    attempt.bind((LOOPBACK, port))
        except OSError:
            return None
        return claim.detach()


FREE_PORTS = FreePorts()
"""Of this process."""
