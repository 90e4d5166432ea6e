"""Takes pictures of pages with the browser that this machine has.

It must not know the pages.
"""

import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

NAMES = ("chromium-headless-shell", "chrome-headless-shell", "chromium", "chromium-browser", "google-chrome")
VARIABLE = "EPOCHBRIDGE_TEST_BROWSER"
PICTURE_S = 60.0


@dataclass(frozen=True, slots=True)
class Browser:
    """A browser of Chromium's family."""

    program: str

    def take_picture(self, page: Path, picture: Path, width: int, height: int, *, is_dark: bool = False) -> None:
        """Write what a window of this size shows of the page."""
        scheme = 0 if is_dark else 1
        subprocess.run(
            [
                self.program,
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
        )


def find_browser() -> Browser | None:
    """The browser of `EPOCHBRIDGE_TEST_BROWSER`, or the first of the known names on the path."""
    given = os.environ.get(VARIABLE)
    names = (given,) if given else NAMES
    found = next((program for name in names if (program := shutil.which(name))), None)
    if given and found is None:
        raise FileNotFoundError(f"{VARIABLE} names {given!r}, which is no program on this machine")
    return None if found is None else Browser(found)
