"""What may be chosen is what the log can do: rooms that offer it may not know the room that writes."""

import logging

from bridge.config.log_choices import FORMATS, LEVELS
from bridge.telemetry.logs import LogFormat


def test_formats_are_those_of_the_log() -> None:
    """Each of them, and no other."""
    assert set(FORMATS) == set(LogFormat)


def test_levels_are_those_of_the_standard_library_and_rise() -> None:
    """Who asks for one hears of it and of all behind it."""
    numbers = [logging.getLevelNamesMapping()[level.upper()] for level in LEVELS]
    assert numbers == sorted(numbers)
