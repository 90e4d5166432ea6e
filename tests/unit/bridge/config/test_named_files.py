"""What can be wrong with a file that somebody names is told in one sentence, which quotes nothing of it."""

import errno
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


def test_mark_of_editors_of_windows_is_no_part_of_a_secret(tmp_path: Path) -> None:
    """Nobody sees it: a password with it in front was refused by brokers, a token called more than one word."""
    path = tmp_path / "word"
    path.write_bytes(b"\xef\xbb\xbfword\r\n")
    assert read_secret(path) == "word"
    path.write_bytes(b"\xef\xbb\xbf")
    assert told(path) == f"{path} is empty"


def test_file_that_may_not_be_read_is_told_with_whose_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Root may read all, so it is the system's answer that is played."""
    path = tmp_path / "word"
    path.write_bytes(b"word")
    path.chmod(0o640)

    def refuse(name: str | Path, most: int) -> bytes:
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))

    monkeypatch.setattr(named_files, "_read", refuse)
    me = f"this process is user {os.geteuid()}"
    assert told(path) == (
        f"{path} can't be read: Permission denied ({me}, and it is user {path.stat().st_uid}'s, mode 0640)"
    )
    assert told(tmp_path / "none") == (
        f"{tmp_path / 'none'} can't be read: Permission denied ({me}, who may not look into its folder)"
    )


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
