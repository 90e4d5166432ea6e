"""The configuration: every key with its bounds, read once from a file, the environment and the command line.

It must not know which room uses a value, nor import any room but the pure ones.
"""
