"""A crate at a fixed version, had from the registry of crates with cargo's own words.

It must not know what is in the crate.
"""

import json
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypedDict, cast

from tests.suites.outcome import SuiteError, call


class _Package(TypedDict):
    name: str
    manifest_path: str


@dataclass(frozen=True, slots=True)
class Crate:
    """Its name and version."""

    name: str
    version: str

    def copy(self, directory: Path) -> Path:
        """Fetch it and return a copy of its folder that can be written to."""
        wanting = directory / "wanting"
        (wanting / "src").mkdir(parents=True)
        (wanting / "src/lib.rs").touch()
        wanted = f'[package]\nname = "wanting"\nedition = "2021"\n\n[dependencies]\n{self.name} = "={self.version}"\n'
        (wanting / "Cargo.toml").write_text(wanted, encoding="utf-8")
        told = call([cargo(), "metadata", "--format-version=1"], wanting)
        packages = cast("Sequence[_Package]", json.loads(told)["packages"])
        (manifest,) = [package["manifest_path"] for package in packages if package["name"] == self.name]
        return Path(shutil.copytree(Path(manifest).parent, directory / self.name))


def cargo() -> str:
    """The path of cargo."""
    found = shutil.which("cargo")
    if found is None:
        raise SuiteError("there is no `cargo` on PATH: install Rust 1.85 or newer, or leave this suite out")
    return found
