"""What can be wrong with a file that somebody names is told in one sentence, which quotes nothing of it."""

import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from bridge.config import named_files
from bridge.config.named_files import SECRET_BYTES_MAX, FileUnreadable, read_bytes, read_secret, read_text


def told(path: str | Path) -> str:
    """Why there is no secret in it."""
    with pytest.raises(FileUnreadable) as refused:
        read_secret(path)
    assert refused.value.__cause__ is None
    return str(refused.value)


def test_secret_is_all_but_the_last_line_end(tmp_path: Path) -> None:
    """Of an editor of any system; what stands before it belongs to the secret."""
    path = tmp_path / "word"
    for written in (b"word", b"word\n", b"word\r\n"):
        path.write_bytes(written)
        assert read_secret(path) == "word"
    path.write_bytes("w\u00f6rd\n\n".encode())
    assert read_secret(str(path)) == "w\u00f6rd\n"


def test_file_that_can_not_be_used_is_told_and_not_quoted(tmp_path: Path) -> None:
    """A folder, nothing, other bytes, a path that is none."""
    path = tmp_path / "word"
    assert told(path) == f"{path} can't be read: No such file or directory"
    assert told(tmp_path) == f"{tmp_path} can't be read: Is a directory"
    path.write_bytes(b"\n")
    assert told(path) == f"{path} is empty"
    path.write_bytes(b"secret\xff")
    assert told(path) == f"{path} can't be read: it is no UTF-8"
    assert "null" in told("a\0b")


def test_device_that_never_ends_is_read_up_to_a_bound() -> None:
    """Two commands read it until there was no memory left."""
    assert told("/dev/zero") == f"/dev/zero has more than {SECRET_BYTES_MAX} bytes"
    with pytest.raises(FileUnreadable, match="more than 10 bytes"):
        read_text("/dev/zero", 10)


def test_pipe_that_nobody_writes_to_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """To open one waited for ever, and so did everybody whom the bridge served, where it was named at a reload."""
    monkeypatch.setattr(named_files, "PIPE_WAIT_MS", 1)
    os.mkfifo(path := tmp_path / "pipe")
    assert told(path).startswith(
        f"{path} is no file but a pipe or a terminal, from which nothing came for 1 ms: name a"
    )
    # Somebody has it open and says nothing.
    writer = os.open(path, os.O_RDWR)
    assert "from which nothing came" in told(path)
    os.close(writer)


@pytest.mark.parametrize("count", [0, 10, 300_000])
def test_pipe_is_read_to_its_end(tmp_path: Path, count: int) -> None:
    """As a shell's `<(…)` is: whoever writes may come later, and takes several turns for what does not fit in it."""
    os.mkfifo(path := tmp_path / "pipe")
    with ThreadPoolExecutor(1) as pool:
        written = pool.submit(path.write_bytes, bytes(count))
        assert read_bytes(path, 400_000) == bytes(count)
        assert written.result() == count


def test_file_of_just_the_bound_is_read(tmp_path: Path) -> None:
    """And one byte more is not."""
    path = tmp_path / "file"
    path.write_bytes(bytes(10))
    assert read_bytes(path, 10) == bytes(10)
    with pytest.raises(FileUnreadable):
        read_bytes(path, 9)
