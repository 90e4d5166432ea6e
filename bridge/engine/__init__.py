"""The embedded group coordinator: decide, apply, deadlines, assignors.

It is pure and must not know connections, API versions or where records are kept.
"""
