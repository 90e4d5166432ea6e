"""The HTTP door for people and tools: snapshots out, commands in.

It must not hold group state of its own or reach past the ports.
"""
