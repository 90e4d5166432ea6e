"""Names and sinks of traces, metrics, logs and rebalance events.

It observes steps and records, and must not decide anything, nor change what goes by.
"""
