"""Member processes that only tests run: other client libraries behind the same command line and event log.

They must not know the fleet or the judge.
"""
