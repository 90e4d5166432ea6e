"""How long before a rebalance its cause may lie, and what counts as a deployment.

It must not know events.
"""

SECOND_US = 1_000_000
SAME_TURN_US = SECOND_US
"""The engine tells what happened and what follows from it in one turn; a request may have waited a little for that."""
SHORTLY_BEFORE_US = 15 * SECOND_US
"""Elsewhere a change is noticed with the next heartbeat of some member: three to five seconds, and a margin."""
MOVED_US = 60 * SECOND_US
"""A member comes to a new coordinator when it misses the former one: after a session without answer, and a margin."""
METADATA_AGE_US = 330 * SECOND_US
"""A classic leader notices new partitions when it refreshes its metadata: every five minutes, and a margin."""
WAVE_WINDOW_US = 60 * SECOND_US
WAVE_CHANGES_MIN = 3
"""So many joins and leaves, some of each, within the window are a deployment."""
