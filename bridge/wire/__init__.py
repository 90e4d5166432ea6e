"""Kafka's bytes: frames, headers, codecs and rewrites.

It is pure and must not know groups' states, sockets or roads.
"""
