"""Survivors that change nothing that anybody could see, each with the reason.

It must not hold what a test could find.
"""

from collections.abc import Mapping

EQUIVALENT: Mapping[tuple[str, str, str, str], str] = {}
"""By path, function, and how the piece reads before and after."""
