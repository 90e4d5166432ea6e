"""The moves of live groups from road to road as state machines: values in, values out, a table of transitions each.

It is pure and must not know connections, journals or how a coordinator is implemented.
"""
