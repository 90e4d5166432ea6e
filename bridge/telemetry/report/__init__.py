"""What the moves of a group did to it, from the event log: one page for the owner of an application.

It must not ask a running bridge for anything but where its event log is, nor judge whether a move was right.
"""
