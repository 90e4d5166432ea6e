"""The composition root: it picks adapters and opens nurseries, and alone knows all rooms.

It must not decide anything about groups or bytes itself.
"""
