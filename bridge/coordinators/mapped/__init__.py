"""Road `mapped`: classic members whom their broker knows by another id or generation than their clients do.

Their requests are rewritten on the way, until the client joins next and both are equal again. It must not know moves.
"""
