"""Rebalances put together from events, as values to draw, to trace and to measure.

It is pure and must not know files, screens or exporters.
"""
