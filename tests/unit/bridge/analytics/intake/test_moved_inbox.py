"""A stream whose tables were moved takes up its files where they are now."""

import json
from pathlib import Path
from urllib.parse import unquote, urlsplit

from bridge.analytics.intake.moved_inbox import follow_move


def noted(checkpoint: Path, name: str, *files: str) -> Path:
    """A note as Spark writes it, with Hadoop's checksum beside it."""
    folder = checkpoint / "sources" / "0"
    folder.mkdir(parents=True, exist_ok=True)
    lines = [json.dumps({"path": path, "timestamp": 7, "batchId": 0}, separators=(",", ":")) for path in files]
    note = folder / name
    note.write_text("\n".join(["v1", *lines]))
    (folder / f".{name}.crc").write_bytes(b"crc")
    return note


def test_notes_name_the_files_where_they_are_now(tmp_path: Path) -> None:
    """Those that Spark has put together, too, whatever the names of the folders; a second start changes nothing."""
    inbox = tmp_path / "new place é" / "_inbox"
    notes = [
        noted(tmp_path, "9.compact", "file:///old%20place/_inbox/events-a-000001.jsonl"),
        noted(tmp_path, "10", "file:///old%20place/_inbox/events-a-000002.jsonl", "file:///x/_inbox/b%20c"),
    ]
    assert follow_move(tmp_path, inbox) in {"/old place/_inbox", "/x/_inbox"}
    lines = [line for note in notes for line in note.read_text().splitlines() if line != "v1"]
    entries = [json.loads(line) for line in lines]
    names = [unquote(urlsplit(entry["path"]).path) for entry in entries]
    assert names == [str(inbox / name) for name in ("events-a-000001.jsonl", "events-a-000002.jsonl", "b c")]
    assert all(entry["timestamp"] == 7 for entry in entries)
    assert [note.read_text().splitlines()[0] for note in notes] == ["v1", "v1"]
    assert not list(tmp_path.glob("sources/0/.*")), "a checksum of what was there would be taken for damage"
    assert follow_move(tmp_path, inbox) == ""


def test_files_are_named_as_by_spark_itself(tmp_path: Path) -> None:
    """What Hadoop's Path of Spark 4.2 makes of each of these; a file by another name came once more."""
    for folder, written in (
        ("/a=b/é (1)", "/a=b/é%20(1)"),
        ("/x@y,z;+&$!'~*:%41", "/x@y,z;+&$!'~*:%2541"),
        ('/q?r#s[t]{u}|^`"<>\\v', "/q%3Fr%23s%5Bt%5D%7Bu%7D%7C%5E%60%22%3C%3E%5Cv"),
        ("/z\xa0w\x85", "/z%C2%A0w%C2%85"),
        ("/日本", "/日本"),
    ):
        note = noted(tmp_path, "0", "file:///old/_inbox/events-a-000001.jsonl")
        assert follow_move(tmp_path, Path(folder)) == "/old/_inbox"
        entry = json.loads(note.read_text().splitlines()[1])
        assert entry["path"] == f"file://{written}/events-a-000001.jsonl"
        assert follow_move(tmp_path, Path(folder)) == ""


def test_notes_of_tables_that_stayed_are_let_be(tmp_path: Path) -> None:
    """With their checksums; and there may be none."""
    inbox = tmp_path / "out" / "_inbox"
    assert follow_move(tmp_path, inbox) == ""
    note = noted(tmp_path, "0", f"{inbox.as_uri()}/events-a-000001.jsonl")
    before = note.read_text()
    assert (follow_move(tmp_path, inbox), note.read_text()) == ("", before)
    assert (note.parent / ".0.crc").exists()
