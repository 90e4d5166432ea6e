"""A real Kafka whose clients have to say who they are: by PLAIN or SCRAM at one listener, by a TLS certificate at
another.
"""

import json
import subprocess
import time
from base64 import urlsafe_b64encode
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from confluent_kafka.admin import AdminClient
from confluent_kafka.admin._scram import ScramCredentialInfo, ScramMechanism, UserScramCredentialUpsertion

from bridge.demo.kafka_broker import HOST, KafkaBroker, KafkaTools, find_tools, free_ports
from bridge.demo.kafka_properties import DEFAULT_VERSION, BrokerPlace, BrokerSettings
from tests.support.kafka import make_offsets_topic

LISTENER = "SASL_PLAINTEXT"
MECHANISMS = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")
BEARER = "OAUTHBEARER"
"""The fourth: tokens that nobody has signed, as Kafka takes them unless it is told otherwise."""
PASSWORDS: Mapping[str, str] = {"admin": "admin-word", "bridge": "bridge,=word", "alice": "alice-word"}
"""By name; that of the bridge has what SCRAM and properties files have to escape."""
STORE_WORD = "store-word"
ANSWER_TIMEOUT_S = 180.0
ITERATIONS = 4_096
_BEARER_MODULE = "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule"
_PLAIN_MODULE = "org.apache.kafka.common.security.plain.PlainLoginModule"
_SCRAM_MODULE = "org.apache.kafka.common.security.scram.ScramLoginModule"


def login_of(name: str) -> dict[str, str]:
    """What a librdkafka client is configured with to log in by PLAIN."""
    return {
        "security.protocol": LISTENER,
        "sasl.mechanism": "PLAIN",
        "sasl.username": name,
        "sasl.password": PASSWORDS[name],
    }


def own_login(directory: Path, mechanism: str = "PLAIN", password: str = PASSWORDS["bridge"]) -> dict[str, str]:
    """The settings by which a bridge logs in for itself; its password stands in the file `password` there."""
    path = directory / "password"
    path.write_text(f"{password}\n", encoding="utf-8")
    return {
        "upstream.sasl.mechanism": mechanism,
        "upstream.sasl.username": "bridge",
        "upstream.sasl.password.path": str(path),
    }


@dataclass(frozen=True, slots=True)
class GuardedKafka:
    """Where clients log in with SASL, where they need a TLS certificate, and where they need nothing."""

    bootstrap: str
    tls: str
    tools: KafkaTools
    plain: str = ""


@contextmanager
def authorizing_kafka(directory: Path, users: Mapping[str, str], version: str) -> Iterator[GuardedKafka]:
    """Kafka with StandardAuthorizer, for whom `admin` and `bridge` may do everything, and others what ACLs say of a
    resource that any speaks of; the users of PLAIN with their passwords, and a listener where nobody logs in.
    """
    rules = {
        "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "super.users": "User:admin;User:bridge",
        "allow.everyone.if.no.acl.found": "true",
    }
    with sasl_kafka(directory, rules, version, {**PASSWORDS, **users}, has_plain=True) as running:
        yield running


@contextmanager
def sasl_kafka(
    directory: Path,
    more: Mapping[str, str] = MappingProxyType({}),
    version: str = DEFAULT_VERSION,
    users: Mapping[str, str] = PASSWORDS,
    *,
    has_plain: bool = False,
) -> Iterator[GuardedKafka]:
    """One node, without a listener that takes anybody unless it `has_plain`; `more` are further settings of its own."""
    client_port, controller_port, tls_port, *rest = free_ports(4 if has_plain else 3)
    plain_port = sum(rest)
    place = BrokerPlace(client_port=client_port, controller_port=controller_port, directory=directory)
    tools = find_tools(version, directory=directory)
    properties = {
        **_properties((client_port, controller_port, tls_port, plain_port), users),
        **_certificate(tools.java.parent / "keytool", directory / "tls.p12"),
        **more,
    }
    settings = BrokerSettings(version=version, properties=properties)
    with KafkaBroker(settings, place, tools) as broker:
        broker.format()
        broker.start()
        clients = {"bootstrap.servers": broker.bootstrap, **login_of("admin")}
        _teach_scram(AdminClient({**clients}))
        make_offsets_topic(clients)
        yield GuardedKafka(broker.bootstrap, f"{HOST}:{tls_port}", tools, f"{HOST}:{plain_port}" if plain_port else "")


def _certificate(keytool: Path, store: Path) -> dict[str, str]:
    """A certificate of the broker's own, which it also takes from clients; no client has it."""
    words = [str(keytool), "-genkeypair", "-alias", "broker", "-dname", "CN=localhost", "-keyalg", "EC"]
    words += ["-storetype", "PKCS12", "-storepass", STORE_WORD, "-keystore", str(store)]
    subprocess.run(words, check=True, capture_output=True)
    kinds = {"ssl.keystore": store, "ssl.truststore": store}
    places = {f"{kind}.location": str(path) for kind, path in kinds.items()}
    words_of = {f"{kind}.password": STORE_WORD for kind in kinds}
    return {**places, **words_of, "ssl.key.password": STORE_WORD, "ssl.client.auth": "required"}


def _properties(ports: tuple[int, int, int, int], users: Mapping[str, str]) -> dict[str, str]:
    client_port, controller_port, tls_port, plain_port = ports
    people = " ".join(f'user_{name}="{password}"' for name, password in users.items())
    clients = f"{LISTENER}://{HOST}:{client_port},SSL://{HOST}:{tls_port}"
    clients += f",PLAINTEXT://{HOST}:{plain_port}" if plain_port else ""
    prefix = f"listener.name.{LISTENER.lower()}"
    own = f'username="admin" password="{PASSWORDS["admin"]}"'
    return {
        "listeners": f"{clients},CONTROLLER://{HOST}:{controller_port}",
        "advertised.listeners": clients,
        "listener.security.protocol.map": f"CONTROLLER:PLAINTEXT,{LISTENER}:{LISTENER},SSL:SSL,PLAINTEXT:PLAINTEXT",
        "inter.broker.listener.name": LISTENER,
        "sasl.mechanism.inter.broker.protocol": "PLAIN",
        "sasl.enabled.mechanisms": ",".join((*MECHANISMS, BEARER)),
        f"{prefix}.oauthbearer.sasl.jaas.config": f'{_BEARER_MODULE} required unsecuredLoginStringClaim_sub="admin";',
        f"{prefix}.plain.sasl.jaas.config": f"{_PLAIN_MODULE} required {own} {people};",
        f"{prefix}.scram-sha-256.sasl.jaas.config": f"{_SCRAM_MODULE} required;",
        f"{prefix}.scram-sha-512.sasl.jaas.config": f"{_SCRAM_MODULE} required;",
    }


def _teach_scram(admin: AdminClient) -> None:
    for name in ("bridge", "alice"):
        set_scram(admin, name, PASSWORDS[name])


def set_scram(admin: AdminClient, name: str, password: str) -> None:
    """Give a user a password for both kinds of SCRAM."""
    # Kafka takes one change of a user at a time.
    for mechanism in (ScramMechanism.SCRAM_SHA_256, ScramMechanism.SCRAM_SHA_512):
        info = ScramCredentialInfo(mechanism, ITERATIONS)
        wanted = UserScramCredentialUpsertion(name, info, password.encode())
        for future in admin.alter_user_scram_credentials([wanted], request_timeout=ANSWER_TIMEOUT_S).values():
            future.result(ANSWER_TIMEOUT_S)


def bearer_token(name: str, life_s: float = 3_600.0) -> str:
    """A token of a user that nobody has signed (RFC 7519, "alg": "none")."""
    now_s = time.time()
    claims = {"sub": name, "iat": now_s, "exp": now_s + life_s}
    parts = (json.dumps(part).encode() for part in ({"alg": "none"}, claims))
    return ".".join((*(urlsafe_b64encode(part).decode().rstrip("=") for part in parts), ""))
