"""Which programs run the members that only tests use. It must not know processes."""

import sys
from pathlib import Path

AIOKAFKA = (sys.executable, "-m", "tests.support.clients.aiokafka_member")


def java_program(java: Path, classpath: str, version: str) -> tuple[str, ...]:
    """The member program for Java's own clients: kafka-tools and its dependencies are on `classpath`."""
    wrapper = (sys.executable, "-m", "tests.support.clients.java_member")
    return (*wrapper, "--java", str(java), "--classpath", classpath, "--library-version", version)
