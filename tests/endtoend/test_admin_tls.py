"""The admin API in TLS, of a running bridge asked by its commands from what is another machine to it."""

import socket
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.support.bridge_process import QUICK_SETTINGS, ROOT, bridge_process
from tests.support.certificates import Authority
from tests.support.kafka import KafkaUnderTest

PATIENCE_S = 60.0


@dataclass(frozen=True, slots=True)
class Program:
    """Commands as one program runs them: with these files, of this address."""

    admin: str
    files: tuple[str, ...]

    def run(self, *command: str) -> "subprocess.CompletedProcess[str]":
        """One command."""
        words = [sys.executable, "-m", "bridge", *command, "--admin", self.admin, *self.files]
        return subprocess.run(words, capture_output=True, text=True, timeout=PATIENCE_S, check=False, cwd=ROOT)


@pytest.mark.timeout(180)
def test_commands_ask_in_tls_and_may_what_their_certificate_may(kafka_43: KafkaUnderTest, tmp_path: Path) -> None:
    """Who reads gives no orders, who shows nothing hears why, and a certificate that is renewed is shown at once.

    Asked by the name of this machine, which is none of loopback, whatever it leads to.
    """
    authority, host = Authority(tmp_path), socket.gethostname()
    roles = tmp_path / "roles"
    roles.write_text("CN=ops,* order\nCN=watch,* read\n", encoding="utf-8")
    pairs = {}
    for name in ("ops", "watch"):
        pairs[name] = tmp_path / f"{name}.pem"
        leaf = authority.authority.issue_cert(f"{name}.example", common_name=name)
        leaf.private_key_and_cert_chain_pem.write_to_path(str(pairs[name]))
    settings = {
        **QUICK_SETTINGS,
        "admin.listen": "0.0.0.0:0",
        "admin.tls": "true",
        "admin.tls.certificate.path": str(authority.pair(host)),
        "admin.tls.client.auth": "required",
        "admin.tls.trust.path": str(authority.trust),
        "admin.tls.clients.path": str(roles),
    }
    with bridge_process(kafka_43.bootstrap, (), tmp_path / "bridge", settings, has_admin=True) as bridge:
        admin = f"{host}:{bridge.admin.rpartition(':')[2]}"
        trust = ("--admin-ca-path", str(authority.trust))
        ops, watch = (Program(admin, (*trust, "--admin-certificate-path", str(pairs[who]))) for who in ("ops", "watch"))
        assert "ready" in ops.run("status").stdout
        assert watch.run("groups", "--json").stdout == '{"groups":[]}\n'
        assert "EB-ADMIN-017" in watch.run("reload").stderr
        assert ops.run("reload").returncode == 0
        assert "EB-TRACE-006" in watch.run("trace", "orders").stderr
        assert '"findings"' in watch.run("doctor", "--json").stdout
        nobody = Program(admin, trust).run("groups").stderr
        assert "EB-ADMIN-024" in nobody
        assert "--admin-certificate-path" in nobody
        assert "--admin-ca-path" in Program(f"https://{admin}", ()).run("groups").stderr
        assert "EB-ADMIN-021" in Program(f"http://{admin}", ()).run("groups").stderr
        authority.pair("elsewhere.example")
        assert ops.run("reload").returncode == 0
        renewed = ops.run("groups").stderr
        assert "EB-ADMIN-024: the certificate of" in renewed
        log = bridge.log.read_text(encoding="utf-8")
    assert "EB-ADMIN-020" in log
    assert "admin.tls: its files have changed" in log
