"""The vocabulary of the group protocols as plain values.

It must not know API versions, bytes on the wire, who answers or where anything is kept.
"""
