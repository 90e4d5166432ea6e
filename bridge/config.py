"""One frozen configuration, parsed once from YAML and the environment; every limit and duration has its name here.

It must not know which room uses a value.
"""
