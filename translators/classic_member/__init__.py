"""One classic client in front of a KIP-848 coordinator, as states, events and effects: a module for each phase.

It must not know which coordinator answers, who delivers events or how ids are made, and has no clock or I/O.
"""
