"""Append, flush and replay of durable records as blocks of bytes, in one SQLite file and a small one beside it.

It must not know what the bytes mean, who asks, or which group an answer is for.
"""
