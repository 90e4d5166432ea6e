"""What most likely led to text that is no YAML, or to a key in the wrong place, and what to write instead.

A guess from the text alone, as in `causes`; an empty text says that nothing can be guessed.
"""

import re
from collections.abc import Sequence

from bridge.config.causes import cause_of_name
from bridge.config.kafka_keys import GROUP_NAMES
from bridge.config.keys import KEYS

RULE_WORDS = frozenset({"match", "group", "regex", "road"})
_OF_A_MERGE = re.compile(r"<{7} |={7}$|>{7} ")
_ASSIGNMENT = re.compile(r"\s*([A-Za-z][\w.-]*)\s*=\s*\S")
_NO_BLANK = re.compile(r"\s*-?\s*([A-Za-z][\w.-]*):\S")
_NEEDS_QUOTES = re.compile(r"[^#:]*:\s+([*&@`%!|>])\S")
_BRACKETED = re.compile(r"[^#:]*:\s+([{\[])[^}\]]*[}\]][^\s,#]")
_QUOTES = "put quotes around the value"


def cause_of_yaml(text: str, line: int, problem: str) -> str:
    """Why text is no YAML, by the line at which its reader gave up (0: nobody knows), saying `problem`."""
    lines = text.splitlines()
    merged = next((number for number, one in enumerate(lines, 1) if _OF_A_MERGE.match(one)), 0)
    if merged:
        return f"line {merged} is a mark of a merge that was not finished: finish it, and take its marks out"
    if "another document" in problem:
        return "one file holds one document: take the line `---` out, or what stands in front of it"
    if "an alias of this" in problem:
        return "an alias stands for a single value only: write the list or mapping out in each place"
    if "special characters" in problem:
        return "a sign is in it that can't be seen: write that line anew, by hand"
    # What is wrong may have begun a line above the one at which it shows.
    near = [*lines[line - 1 : line], *lines[max(line - 2, 0) : line - 1]] if line else []
    return next(filter(None, map(_cause_of_line, near)), "")


def _cause_of_line(line: str) -> str:
    if "\t" in line:
        return "a tab is in it, which YAML takes for no blank: write blanks in its place"
    if "{{" in line:
        return "it looks like a template that was not filled in: have it filled in, or put quotes around the value"
    if "\u00a0" in line or "\uff1a" in line:
        return "a blank or colon of another script is in it: write `key: value` anew, by hand"
    quoted = _NEEDS_QUOTES.match(line) or _BRACKETED.match(line)
    if quoted is not None:
        return f"to YAML a value that begins with {quoted[1]} is no word: {_QUOTES}"
    assigned = _ASSIGNMENT.match(line)
    if assigned is not None:
        return f"keys and values are parted by a colon and a blank: write `{assigned[1]}: …`"
    unparted = _NO_BLANK.match(line)
    if unparted is not None:
        return f"a blank is missing behind a colon: write `{unparted[1]}: …`"
    if line.startswith("["):
        return "sections are of other kinds of files: write one `key: value` a line, without them"
    return ""


def cause_of_nesting(key: str, inner: Sequence[str]) -> str:
    """Why a value is no plain one, where `inner` are the keys that are written under `key`."""
    if RULE_WORDS.intersection(inner):
        return "rules of groups are a list under `groups`: write them there"
    if not inner:
        return "write one value, and put quotes around what is no plain word"
    whole = f"{key}.{inner[0]}"
    if whole in KEYS:
        return f"keys are written whole, with dots: write `{whole}: …` in a line of its own"
    if inner[0] in KEYS or inner[0] in GROUP_NAMES:
        return f"no key stands within another one: write `{inner[0]}: …` one level further out, and take `{key}:` out"
    if {"host", "port"}.intersection(inner):
        return f"host and port are one word: write `{key}: HOST:PORT`"
    if key in KEYS and isinstance(KEYS[key].default, tuple) and inner[0].isdecimal():
        pairs = ", ".join(f"{name}=…" for name in inner)
        return f"a list of words is wanted: write `{key}: [{pairs}]`, or its words, with commas between them"
    return f"keys are written whole, with dots, in lines of their own; for `{whole}`: {cause_of_name(whole, KEYS)}"
