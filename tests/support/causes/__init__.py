"""Stories of rebalances with a known cause and a known slow member: who plays, what happens, what is to be said.

It must not know how causes are found.
"""
