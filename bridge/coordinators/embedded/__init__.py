"""The coordinator of road `embedded`: the engine behind the port, and what only it needs of the cluster.

It must not know sockets, frames, HTTP or how entries are stored; of members with a machine it knows what
`ports.Members` tells. Only `coordinator`, `engine_commands` and `downgrades` speak the engine's commands for members;
regular expressions and assignor plug-ins are loaded here and nowhere else.
"""
