"""Takes pictures of pages with the browser that this machine has, or that its packages bring."""

import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from tests.support.debian import Program, debian_program

NAMES = ("chromium-headless-shell", "chrome-headless-shell", "chromium", "chromium-browser", "google-chrome")
PACKAGE, PLACE = "chromium-headless-shell", "usr/lib/chromium/chromium-headless-shell"
VARIABLE = "EPOCHBRIDGE_TEST_BROWSER"
PICTURE_S = 180.0


@dataclass(frozen=True, slots=True)
class Browser:
    """A browser of Chromium's family."""

    program: Program

    def take_picture(self, page: Path, picture: Path, width: int, height: int, *, is_dark: bool = False) -> None:
        """Write what a window of this size shows of the page."""
        scheme = 0 if is_dark else 1
        subprocess.run(
            [
                self.program.path,
                "--headless",
                "--no-sandbox",
                "--disable-gpu",
                "--hide-scrollbars",
                f"--blink-settings=preferredColorScheme={scheme}",
                f"--window-size={width},{height}",
                f"--screenshot={picture}",
                page.as_uri(),
            ],
            check=True,
            capture_output=True,
            timeout=PICTURE_S,
            env={**os.environ, **self.program.environment},
        )


def find_browser() -> Browser | None:
    """The browser of `EPOCHBRIDGE_TEST_BROWSER`, the first of the known names on the path, or Debian's. May block."""
    given = os.environ.get(VARIABLE)
    names = (given,) if given else NAMES
    found = next((path for name in names if (path := shutil.which(name))), None)
    if given and found is None:
        raise FileNotFoundError(f"{VARIABLE} names {given!r}, which is no program on this machine")
    program = debian_program(PACKAGE, PLACE) if found is None else Program(found)
    return None if program is None else Browser(program)
