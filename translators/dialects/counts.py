"""How many of something there are, in a sentence for people."""


def counted(count: int, one: str, many: str = "") -> str:
    """A count with its noun, and with the verb behind it where that is part of both: `1 member is`, `2 members are`.

    Without `many` the plural of `one` ends in s.
    """
    return f"{count:,} {one if count == 1 else many or f'{one}s'}"
