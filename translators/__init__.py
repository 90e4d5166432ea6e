"""The group-protocol dialects and the machine between them. It must not know bytes, sockets, clocks or brokers."""
