"""Moves of live groups while they are made: requests wait here, members are asked for in their clients' place.

What is decided is in `bridge.migration.moves`; this carries it out, and writes each step down before it is tried.
"""
