"""Whether a treatment makes members wait longer: pairs of rebalances, bets that run along with them, and a verdict.

It must not know where waits come from, nor what is done about a verdict. Tables and plans ask the same judge.
"""
