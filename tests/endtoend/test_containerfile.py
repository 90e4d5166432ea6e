"""The Containerfile without a builder: its steps are carried out below a folder, and the bridge is started there."""

import json
import os
import shlex
import shutil
import signal
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from string import Template

import pytest

from bridge.config.keys import KEYS
from bridge.demo.services import free_place
from tests.architecture.source_tree import ROOT

CONTAINERFILE = ROOT / "deploy/container/Containerfile"
CONFIGURATION = "/etc/epochbridge/bridge.yaml"
STATE = "var/lib/epochbridge"
ARGUMENTS = {"EXTRAS": "tls"}
"""As `--build-arg`: the extra of traces alone would be half a minute of downloads."""
KNOWN = {
    *("ARG", "FROM", "WORKDIR", "COPY", "RUN", "ENV", "USER", "VOLUME", "EXPOSE"),
    *("HEALTHCHECK", "STOPSIGNAL", "ENTRYPOINT", "CMD"),
}


def instructions() -> Iterator[tuple[str, str]]:
    """Every instruction with what it says."""
    for line in CONTAINERFILE.read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("#"):
            word, _, rest = line.partition(" ")
            assert word in KNOWN, f"{word}: a step that this test does not know"
            yield word, rest


def said(word: str) -> str:
    """What the last instruction of this kind says."""
    return [rest for one, rest in instructions() if one == word][-1]


def listed(word: str) -> list[str]:
    """The same for those that are lists of words."""
    text = said(word)
    return [str(one) for one in json.loads(text[text.index("[") :])]


@dataclass(slots=True)
class Tree:
    """The file system of all stages, below a folder."""

    root: Path
    folder: str = "/"
    variables: dict[str, str] = field(default_factory=dict)

    def place(self, path: str) -> Path:
        """Where a path of the image lies."""
        return self.root / str(Path(self.folder) / path).lstrip("/")

    def carry_out(self, word: str, rest: str) -> None:
        """One instruction."""
        match word:
            case "ARG":
                name, _, value = rest.partition("=")
                self.variables[name] = ARGUMENTS.get(name, value)
            case "WORKDIR":
                self.folder = rest
                self.place(".").mkdir(parents=True)
            case "COPY":
                self._copy(shlex.split(rest))
            case "RUN":
                self._run(rest)
            case _:
                pass

    def _copy(self, words: list[str]) -> None:
        options = [word for word in words if word.startswith("--")]
        *sources, target = (word for word in words if not word.startswith("--"))
        is_from_stage = any(option.startswith("--from=") for option in options)
        for source in sources:
            found, final = self.root / source.lstrip("/") if is_from_stage else ROOT / source, self.place(target)
            if found == final:
                continue
            if found.is_dir():
                shutil.copytree(found, final, ignore=shutil.ignore_patterns("__pycache__"))
            else:
                shutil.copy(found, final / found.name if target.endswith("/") else final)

    def _run(self, command: str) -> None:
        words = [self._below(word) for word in shlex.split(Template(command).substitute(self.variables))]
        subprocess.run(words, cwd=self.place("."), check=True, env=own_environment({}))

    def _below(self, word: str) -> str:
        return str(self.place(word)) if word.startswith("/") else word


def own_environment(more: Mapping[str, str]) -> dict[str, str]:
    """What the process gets: nothing of these tests' Python."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "VIRTUAL_ENV"))}
    return {**kept, **more}


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Tree:
    """The image."""
    image = Tree(tmp_path_factory.mktemp("image"))
    for word, rest in instructions():
        image.carry_out(word, rest)
    return image


def test_image_runs_as_nobody_and_keeps_one_folder() -> None:
    """What Kubernetes and `read_only` ask for, and the port that the health check asks is the bridge's own."""
    assert said("USER") == "10001:10001"
    assert said("VOLUME") == f"/{STATE}"
    port = str(KEYS["admin.listen"].default).rpartition(":")[2]
    assert f":{port}/livez" in listed("HEALTHCHECK")[-1]
    assert said("EXPOSE").split()[0] == port


def test_what_the_image_starts_serves_and_writes_only_its_state(tree: Tree, tmp_path: Path) -> None:
    """With its own health check; nothing else of the tree changes, so that it may be read-only."""
    place = free_place()
    path = tmp_path / "bridge.yaml"
    text = f"bootstrap: 127.0.0.1:1\nlisten: {place.listen}\nadmin.listen: {place.admin}\n"
    path.write_text(f"{text}groups: [{{match: a, road: embedded}}]\n", encoding="utf-8")
    set_by_image = dict(pair.split("=", 1) for pair in said("ENV").split())
    programs = tree.root / set_by_image["PATH"].split(":")[0].lstrip("/")
    state = tree.root / set_by_image["STATE_DIRECTORY"].lstrip("/")
    environment = own_environment({**set_by_image, "PATH": str(programs), "STATE_DIRECTORY": str(state)})
    before = files_of(tree.root)
    (entry,), arguments = listed("ENTRYPOINT"), listed("CMD")
    command = [str(programs / entry), *(str(path) if word == CONFIGURATION else word for word in arguments)]
    assert str(path) in command
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=tmp_path, env=environment
    ) as bridge:
        assert bridge.stdout is not None
        try:
            assert bridge.stdout.readline().startswith(f"epochbridge waits: clients {place.listen}, ")
            healthy = ask_health(programs, place.admin, environment)
        finally:
            bridge.send_signal(signal.Signals[said("STOPSIGNAL")])
        _, log = bridge.communicate()
    assert (bridge.returncode, healthy) == (0, 0), log
    assert ask_health(programs, place.admin, environment) != 0
    assert list(state.glob("*.db"))
    assert files_of(tree.root) == before


def ask_health(programs: Path, admin: str, environment: Mapping[str, str]) -> int:
    """The status of the image's health check, at this address of the admin API."""
    program, *arguments = listed("HEALTHCHECK")
    asked = [word.replace(str(KEYS["admin.listen"].default), admin) for word in arguments]
    assert asked != arguments
    ran = subprocess.run([programs / program, *asked], check=False, capture_output=True, env=environment)
    return ran.returncode


def files_of(root: Path) -> dict[str, int]:
    """Every file but those of the state, and when it was written."""
    found = (path for path in root.rglob("*") if path.is_file() and root / STATE not in path.parents)
    return {str(path): path.stat().st_mtime_ns for path in found}
