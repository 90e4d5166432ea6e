"""The vocabulary of the event log: facts, fields, stamps and how they become columns.

It is pure and must not know who observes a fact, nor where it is written.
"""
