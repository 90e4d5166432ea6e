"""Plans that move groups in stages: their values, what breaks them off, and the machine that drives them.

It is pure and must not know files, clocks, or how figures are counted and moves are made.
"""
