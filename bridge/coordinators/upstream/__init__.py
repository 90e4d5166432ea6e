"""Road `upstream`: each classic client is a member of a consumer group that a broker coordinates (KIP-848).

It asks on the client's own connections, under the client's own rights. It must not know the engine, sockets, or what
the broker decides by.
"""
