"""The commands of a tutorial, as somebody would type them: what follows `$ ` in blocks fenced as console."""

import re
from collections.abc import Mapping
from pathlib import Path

FENCED = re.compile(r"^```console\n(.*?)^```$", re.MULTILINE | re.DOTALL)
PROMPT = "$ "


def script_of(page: Path, instead: Mapping[str, str]) -> str:
    """A script for bash that ends with the first command that fails; `instead` maps texts to those to be used here.

    Raises ValueError for a text that the page does not have.
    """
    blocks = FENCED.findall(page.read_text(encoding="utf-8"))
    commands = [line[len(PROMPT) :] for block in blocks for line in block.splitlines() if line.startswith(PROMPT)]
    script = "\n".join(["set -e -o pipefail", *commands, ""])
    for text, other in instead.items():
        if text not in script:
            raise ValueError(f"{page} has no command with {text!r} in it")
        script = script.replace(text, other)
    return script
