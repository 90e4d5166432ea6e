"""A world in virtual time: clients, bridge, coordinator and faults under one seed.

It knows the engine and the dialects. It is pure and must not know real time, sockets or processes, nor an
implementation of the bridge: whoever runs a story brings one (`subject.Subject`).
"""
