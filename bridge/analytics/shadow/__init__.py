"""What a live group would go through under another protocol, told while it happens, from the event log of its bridge.

It must not know Spark, nor how a play decides anything.
"""
