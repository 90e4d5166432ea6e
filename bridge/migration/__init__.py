"""Which road a group takes, and the plans that move it from one to another.

It is pure and must not know sockets or how a coordinator is implemented.
"""
