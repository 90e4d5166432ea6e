"""A Kerberos of one realm on this machine: its KDC from Debian's packages, and keys in files for whoever is named.

Nothing is installed, and no other Kerberos of this machine is asked.
"""

import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from bridge.demo.kafka_broker import HOST, free_ports
from tests.support.debian import Program, debian_program

REALM = "BRIDGE.TEST"
PACKAGE = "krb5-admin-server"
"""With the KDC, which it needs."""
PATIENCE_S = 60.0
MASTER_WORD = "master-word"
CLIENTS = """\
[libdefaults]
  default_realm = {realm}
  dns_lookup_kdc = false
  dns_lookup_realm = false
  dns_canonicalize_hostname = false
  rdns = false
  udp_preference_limit = 1
[realms]
  {realm} = {{
    kdc = {host}:{port}
  }}
[dbmodules]
  db_module_dir = {modules}
"""
SERVER = """\
[kdcdefaults]
  kdc_listen = {host}:{port}
  kdc_tcp_listen = {host}:{port}
[realms]
  {realm} = {{
    database_name = {folder}/principal
    key_stash_file = {folder}/stash
    acl_file = {folder}/acl
  }}
"""


@dataclass(frozen=True, slots=True)
class Programs:
    """The three programs of MIT's Kerberos, and where its kinds of databases are."""

    kdc: Program
    database: Program
    admin: Program
    modules: Path


def kerberos_programs() -> Programs | None:
    """Of this machine, or from Debian's package; None where there is neither. Blocks."""
    names = ("krb5kdc", "kdb5_util", "kadmin.local")
    found = [shutil.which(name, path=f"{os.environ.get('PATH', '')}:/usr/sbin") for name in names]
    if all(found):
        programs, root = [Program(str(path)) for path in found], Path("/")
    else:
        first = debian_program(PACKAGE, f"usr/sbin/{names[0]}")
        if first is None or not Path(first.path).exists():
            return None
        programs = [replace(first, path=str(Path(first.path).with_name(name))) for name in names]
        root = Path(first.path).parents[2]
    modules = next((path.parent for path in sorted(root.glob("usr/lib/*/krb5/plugins/kdb/db2.so"))), None)
    kdc, database, admin = programs
    return None if modules is None else Programs(kdc, database, admin, modules)


@dataclass(frozen=True, slots=True)
class Realm:
    """A KDC that runs, and what its clients read."""

    folder: Path
    programs: Programs

    @property
    def configuration(self) -> Path:
        """What clients are told by."""
        return self.folder / "krb5.conf"

    def add(self, principal: str, *how: str) -> str:
        """Have somebody known, with a key that nobody else has unless it is said how; gives its whole name."""
        name = f"{principal}@{REALM}"
        self.ask("addprinc", *(how or ("-randkey",)), name)
        return name

    def keys(self, file: str, *principals: str) -> Path:
        """A file with the keys of these, which they keep."""
        path = self.folder / file
        for name in principals:
            self.ask("ktadd", "-norandkey", "-k", str(path), name)
        return path

    def ask(self, *words: str) -> None:
        """Have an admin say something."""
        self.run(self.programs.admin, ["-q", " ".join(words)])

    def run(self, program: Program, arguments: Sequence[str]) -> None:
        """Run a program of this realm to its end."""
        command = [program.path, *arguments]
        ran = subprocess.run(
            command, env=self.environment(program), capture_output=True, text=True, timeout=PATIENCE_S, check=False
        )
        # The tool of admins ends well whatever it was told.
        assert ran.returncode == 0, f"{command}: {ran.stderr}"
        assert "while" not in ran.stderr, f"{command}: {ran.stderr}"

    def environment(self, program: Program) -> dict[str, str]:
        """That of this test, and where this realm is."""
        places = {"KRB5_CONFIG": str(self.configuration), "KRB5_KDC_PROFILE": str(self.folder / "kdc.conf")}
        return {**os.environ, **program.environment, **places}


@contextmanager
def kerberos_realm(programs: Programs, folder: Path) -> Iterator[Realm]:
    """Run a KDC at a free loopback port until the end of the block."""
    # A KDC listens to UDP, too, and the first port that is drawn is claimed by a socket of that kind.
    _, port = free_ports(2)
    words = {"realm": REALM, "host": HOST, "port": port, "folder": folder, "modules": programs.modules}
    realm = Realm(folder, programs)
    realm.configuration.write_text(CLIENTS.format(**words), encoding="utf-8")
    (folder / "kdc.conf").write_text(SERVER.format(**words), encoding="utf-8")
    realm.run(programs.database, ["create", "-r", REALM, "-s", "-P", MASTER_WORD])
    with (folder / "kdc.log").open("wb") as log:
        process = subprocess.Popen(
            [programs.kdc.path, "-n"], env=realm.environment(programs.kdc), stdout=log, stderr=subprocess.STDOUT
        )
    try:
        _wait_for(port, process, folder / "kdc.log")
        yield realm
    finally:
        process.terminate()
        process.wait(PATIENCE_S)


def _wait_for(port: int, process: "subprocess.Popen[bytes]", log: Path) -> None:
    until = time.monotonic() + PATIENCE_S
    while True:
        try:
            socket.create_connection((HOST, port), 1.0).close()
        except OSError:
            assert process.poll() is None, log.read_text(encoding="utf-8", errors="replace")
            assert time.monotonic() < until, "the KDC does not listen"
            time.sleep(0.1)
        else:
            return
