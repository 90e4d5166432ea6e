"""How many characters of texts something keeps alive: a memory that is bounded by count may hold any number of them."""

import gc
from types import ModuleType


def kept_chars(root: object) -> int:
    """The characters of all texts that can be reached from here, but through modules, classes and functions."""
    seen, found, open_ends = set[int](), 0, [root]
    while open_ends:
        one = open_ends.pop()
        if id(one) in seen or isinstance(one, (type, ModuleType)) or callable(one):
            continue
        seen.add(id(one))
        if isinstance(one, str):
            found += len(one)
        else:
            # The collector does not name keys that are texts, which can't be in a cycle.
            open_ends += one if isinstance(one, dict) else ()
            open_ends += gc.get_referents(one)
    return found
