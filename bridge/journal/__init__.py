"""Append, flush and replay of durable records, as bytes.

It must not know what the bytes mean.
"""
