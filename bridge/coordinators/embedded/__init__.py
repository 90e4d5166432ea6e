"""The coordinator of road `embedded`: the engine behind the port, and what only it needs of the cluster.

It must not know sockets, frames, HTTP or how entries are stored. Who owns groups, in the rooms above, does not know it.
"""
