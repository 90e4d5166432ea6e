"""Classic groups: the join and sync barriers of JoinGroup and SyncGroup, where one member computes for all.

It must not know consumer groups.
"""
