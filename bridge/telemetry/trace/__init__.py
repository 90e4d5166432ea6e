"""The command `trace`: rebalances of a log drawn in the terminal, as a page, for Perfetto and as JSON.

It must not know how a rebalance is put together or explained.
"""
