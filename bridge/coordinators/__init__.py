"""The owners of group state: embedded decides by itself, upstream asks a broker.

It must not know sockets, HTTP or how records are stored.
"""
