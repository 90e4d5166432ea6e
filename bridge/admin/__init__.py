"""The HTTP door for people and tools: snapshots out, commands in, and the commands of the terminal that ask there.

It must not hold group state of its own, know how an order is carried out, or reach past its contracts.
"""
