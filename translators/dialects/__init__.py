"""The vocabulary of the group protocols as plain values.

It must not know API versions, bytes on the wire or who answers.
"""
