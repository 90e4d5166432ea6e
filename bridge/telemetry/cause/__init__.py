"""Why a rebalance happened, who caused it, and who was waited for: worked out of the events around it.

It is pure and must not know files, traces or screens.
"""
