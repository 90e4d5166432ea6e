"""Programs of Go modules, by a Go that is written for each test."""

from pathlib import Path

import pytest

from tests.support.go_program import go_program

BUILDS = '#!/bin/sh\nmkdir -p "$GOBIN" && echo "$2" > "$GOBIN/tool"\n'
FAILS = "#!/bin/sh\necho no such module >&2\nexit 1\n"


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine with a cache of its own; gives the folder of its programs."""
    programs = tmp_path / "bin"
    programs.mkdir()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("PATH", f"{programs}:/usr/bin:/bin")
    return programs


def put_go(machine: Path, text: str) -> None:
    """A `go` that does this."""
    (machine / "go").write_text(text, encoding="utf-8")
    (machine / "go").chmod(0o755)


def test_program_is_built_once(machine: Path) -> None:
    """The second time nothing is built."""
    put_go(machine, BUILDS)
    program = go_program("example.org/tool", "v1.2.3")
    assert program is not None
    assert Path(program).read_text(encoding="utf-8") == "example.org/tool@v1.2.3\n"
    put_go(machine, FAILS)
    assert go_program("example.org/tool", "v1.2.3") == program


def test_module_that_is_not_there_is_told(machine: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """And tried again the next time."""
    put_go(machine, FAILS)
    assert go_program("example.org/tool", "v1.2.3") is None
    assert capfd.readouterr().err == "example.org/tool can't be built by this machine's Go: no such module\n"
    put_go(machine, BUILDS)
    assert go_program("example.org/tool", "v1.2.3") is not None


@pytest.mark.usefixtures("machine")
def test_machine_without_go_has_none(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is looked for elsewhere."""
    monkeypatch.setattr("shutil.which", lambda _name: None)
    assert go_program("example.org/tool", "v1.2.3") is None
