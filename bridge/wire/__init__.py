"""Kafka's bytes: frames, headers, versions, codecs, and what is read or changed in frames that pass.

It is pure and must not know groups' states, sockets, roads or who is asked: a codec says what stands in a message,
never what it means to a coordinator.
"""
