"""One classic client in front of a KIP-848 coordinator, as states, events and effects.

It must not know which coordinator answers, and has no clock or I/O of its own.
"""
