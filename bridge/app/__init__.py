"""The composition root: it picks adapters, opens nurseries, and alone knows all rooms.

It must not decide anything about groups or bytes itself; nobody but the command line imports it.
"""
