"""The proxy: a pure core that decides and a thin shell that touches the world.

This package itself holds nothing; its rooms know only what the import contracts grant them.
"""
