"""The inbox of a stream whose tables were moved: Spark notes files by their whole paths, and looks for them there.

A batch that was planned and not taken would break off at each start, and all files that count already come once more.
"""

import json
from pathlib import Path
from urllib.parse import quote, unquote, urlsplit

NOTES = ("sources", "0")
"""Where Spark notes, below the checkpoint of a stream, which files its one source has found."""
LEFT_BY_JAVA = "/!'()*,;:$&+=@~"
"""What Java writes as it is in the path of a URI, beside letters and digits, `-`, `.` and `_`."""


def follow_move(checkpoint: Path, inbox: Path) -> str:
    """Have Spark's notes name the files where they are now; give the folder that they were in, "" if it is this one.

    Who dies in between leaves some notes of the former place, which the next one finds. Raise OSError.
    """
    former = ""
    for note in sorted(checkpoint.joinpath(*NOTES).glob("[0-9]*")):
        lines = note.read_text(encoding="utf-8").splitlines()
        places = {Path(unquote(urlsplit(entry["path"]).path)).parent for entry in map(_entry, lines) if entry}
        elsewhere = [str(place) for place in places if place != inbox]
        if elsewhere:
            former = elsewhere[0]
            _replace(note, "\n".join(_named(line, inbox) for line in lines))
    return former


def _entry(line: str) -> dict[str, str]:
    """What a line says of a file, nothing where it tells the version; other values than texts are let be."""
    entry: dict[str, str] = json.loads(line) if line.startswith("{") else {}
    return entry


def _named(line: str, inbox: Path) -> str:
    """A line of a note with the same file in this folder."""
    entry = _entry(line)
    if not entry:
        return line
    name = entry["path"].rpartition("/")[2]
    return json.dumps({**entry, "path": f"file://{_as_java_writes(str(inbox))}/{name}"}, separators=(",", ":"))


def _as_java_writes(path: str) -> str:
    """A path in a URI, by which Spark knows a file again only if it is the same letter for letter."""
    return "".join(
        quote(char, safe=LEFT_BY_JAVA) if char.isascii() or not char.isprintable() else char for char in path
    )


def _replace(note: Path, text: str) -> None:
    part = note.with_name(f".{note.name}.part")
    part.write_text(text, encoding="utf-8")
    # Hadoop's checksum of what was there; without one it asks for none.
    note.with_name(f".{note.name}.crc").unlink(missing_ok=True)
    part.replace(note)
