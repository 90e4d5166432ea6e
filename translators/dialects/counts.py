"""How many of something there are: in a sentence for people, and out of what people wrote."""


def counted(count: int, one: str, many: str = "") -> str:
    """A count with its noun, and with the verb behind it where that is part of both: `1 member is`, `2 members are`.

    Without `many` the plural of `one` ends in s.
    """
    return f"{count:,} {one if count == 1 else many or f'{one}s'}"


def read_count(text: str, most: int) -> int | None:
    """The whole number that a text says in digits alone, None for any other text, and for more than `most`.

    However long it is: `int` raises for more than 4,300 digits, and one who writes as many meant no number.
    """
    digits = text.lstrip("0")
    if not (text.isascii() and text.isdecimal()) or len(digits) > len(str(most)):
        return None
    count = int(digits or "0")
    return count if count <= most else None
