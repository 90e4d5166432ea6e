"""One client connection as a plain object: bytes in, decisions and ordered replies out.

It is pure and must not know trio, the engine or any other connection.
"""
