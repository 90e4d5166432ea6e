"""Pure: what clients send and are told, and what the engine writes down, followed and put into facts.

It must not know clocks, sockets or files; it decides nothing, and whatever it misunderstands concerns nobody else.
"""
