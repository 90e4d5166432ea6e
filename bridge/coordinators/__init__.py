"""The owner of groups: machines of classic members and the coordinator behind them, moved in turns and written down.

It must not know sockets, frames, HTTP, how records are stored, or which coordinator decides: that is a room below it,
which alone knows its own words (the engine's in `embedded`). Within: machines know nothing of coordinators, and a
coordinator nothing of machines but what `ports.Members` tells; the owner knows no tasks, its task not what requests
mean, the journal's writer no files.
"""
