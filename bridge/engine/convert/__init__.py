"""Groups that change their type online: classic to consumer and back, with everybody on board.

It is pure and must not know machines, connections or operators' tools.
"""
