"""Text that strangers chose, as a terminal or a log may show it: it moves no cursor, turns no letters around, and can
be written in any encoding of Unicode.
"""

import re

_OBEYED = re.compile(r"[\x00-\x1f\x7f-\x9f\u202a-\u202e\u2028\u2029\u2066-\u2069\ud800-\udfff]")


def printable(text: str) -> str:
    """The text with everything that would be obeyed instead of shown, as an escape or a line break, written out."""
    return _OBEYED.sub(lambda found: found.group().encode("unicode_escape").decode(), text)
