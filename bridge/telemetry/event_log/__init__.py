"""The event log: facts stamped, written as JSON lines, kept for a while, read back, and sent to a topic.

It must not know how a fact was observed, nor what is made of it.
"""
