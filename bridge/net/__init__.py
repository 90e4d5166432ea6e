"""Sockets and waits, and nothing but them.

It must not know what a group is or why a reply is late.
"""
