"""A world in virtual time: clients, bridge, coordinator and faults under one seed.

It is pure and must not know real time, sockets or processes.
"""
