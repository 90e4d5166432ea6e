"""Configuration files on the disk."""

from pathlib import Path

import pytest

from bridge.config_faults import ConfigError, FaultCode
from bridge.config_file import Entry, WrittenFile, read_file


def test_file_is_read_under_its_own_name(tmp_path: Path) -> None:
    """Faults name it."""
    path = tmp_path / "bridge.yaml"
    path.write_text("listen: x:1\n", encoding="utf-8")
    assert read_file(path) == WrittenFile(str(path), {"listen": Entry("x:1", 1)}, ())


def test_missing_and_binary_files_are_faults(tmp_path: Path) -> None:
    """No traceback for a wrong path."""
    binary = tmp_path / "b"
    binary.write_bytes(b"\xff\xfe\x00")
    for path in (tmp_path / "none", binary, tmp_path):
        with pytest.raises(ConfigError) as caught:
            read_file(path)
        assert caught.value.faults[0].code is FaultCode.UNREADABLE
