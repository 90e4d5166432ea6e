"""Live groups that are moved between a broker that coordinates and the real bridge, in virtual time.

It knows the bridge's moves, roads and owners as the composition root does; it must not know sockets.
"""
