"""Which programs run the members that only tests use."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

KAFKAJS = Path(__file__).parent / "kafkajs"
GO = Path(__file__).parent / "golang"
GO_BUILD_TIMEOUT_S = 900
AIOKAFKA = (sys.executable, "-m", "tests.support.clients.aiokafka_member")


def java_program(java: Path, classpath: str, version: str) -> tuple[str, ...]:
    """The member program for Java's own clients: kafka-tools and its dependencies are on `classpath`."""
    wrapper = (sys.executable, "-m", "tests.support.clients.java_member")
    return (*wrapper, "--java", str(java), "--classpath", classpath, "--library-version", version)


def kafkajs_program(directory: Path) -> tuple[str, ...]:
    """The member program for kafkajs, installed by `npm ci` into `directory` from the lock file; blocks.

    Raises FileNotFoundError without Node and npm, CalledProcessError with npm's words when it refuses.
    """
    copied = shutil.copytree(KAFKAJS, directory / "kafkajs")
    subprocess.run(
        ["npm", "ci", "--no-audit", "--no-fund"], cwd=copied, check=True, capture_output=True, text=True, timeout=600
    )
    lock = json.loads((copied / "package-lock.json").read_text())
    version = str(lock["packages"]["node_modules/kafkajs"]["version"])
    return ("node", str(copied / "member.mjs"), "--library-version", version)


def go_programs(directory: Path) -> Path:
    """The member programs `franz` and `sarama`, built in `directory`; gives the folder that holds them. Blocks, for
    minutes where Go has built nothing of them before.

    Raises FileNotFoundError without Go, CalledProcessError with the compiler's words when it refuses.
    """
    built = directory / "golang"
    built.mkdir(parents=True, exist_ok=True)
    command = ["go", "build", "-buildvcs=false", "-o", f"{built}/", "./franz", "./sarama"]
    subprocess.run(command, cwd=GO, check=True, capture_output=True, text=True, timeout=GO_BUILD_TIMEOUT_S)
    return built
