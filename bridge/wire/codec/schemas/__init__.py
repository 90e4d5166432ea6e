"""Kafka's own message definitions of the APIs that are read and written here, as they stand in its client library.

They are data, and must not be changed by hand: README.md says where they come from. No other room reads them.
"""
