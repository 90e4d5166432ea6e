"""The subscription and assignment blobs that consumers put into JoinGroup and SyncGroup.

It knows their bytes with all field defects, and must not know what a coordinator does with them.
"""
