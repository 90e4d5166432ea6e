"""How events come to a topic at brokers that want TLS or a login: with those of the bridge itself, as settings of
librdkafka.

Files are read anew for each client, so that what is rotated counts for the next one.
"""

from collections.abc import Callable, Iterator
from functools import partial

from bridge.app.login import read_login
from bridge.app.tls import broker_tls
from bridge.config.configuration import Config
from bridge.config.faults import ConfigError
from bridge.config.sources import read_environment
from bridge.net.own_login import (
    LoginSource,
    PasswordFile,
    SecretUnreadable,
    TokenEndpoint,
    TokenFile,
    read_secret,
    read_token,
)
from bridge.net.tls import BrokerTls, TlsUnusable, authorities_pem, is_store
from bridge.telemetry.event_log.sinks import ClientSetting, SinkUnusable
from bridge.wire.sasl import Credentials, Mechanism

TOKEN_LIFE_S = 300.0
"""So long a token of a file counts before the file is read again; librdkafka asks at four fifths of it."""


def events_bootstrap(config: Config) -> tuple[str, ...]:
    """The brokers that have the topic of events."""
    return config.settings.events_bootstrap or config.settings.bootstrap


def topic_access(config: Config, wall_us: Callable[[], int]) -> dict[str, ClientSetting]:
    """What a client of the topic needs beside the brokers' addresses: nothing at brokers that `bootstrap` does not
    name, of which nobody here knows what they want. Raises SinkUnusable where a file can't be read now.
    """
    settings = config.settings
    if set(events_bootstrap(config)).isdisjoint(settings.bootstrap):
        return {}
    try:
        tls, login = broker_tls(settings), read_login(config, read_environment())
        told: dict[str, ClientSetting] = {} if tls is None else dict(_of_tls(tls))
        told |= {} if login is None else _of_login(login, wall_us)
    except (ConfigError, TlsUnusable, SecretUnreadable) as problem:
        sentence = f"EB-EVENTS-016: events can't be sent to topic {settings.events_topic!r}: {problem}"
        raise SinkUnusable(sentence) from None
    kind = ("SASL_" if login is not None else "") + ("SSL" if tls is not None else "PLAINTEXT")
    return {"security.protocol": kind, **told}


def _of_tls(tls: BrokerTls) -> Iterator[tuple[str, ClientSetting]]:
    if tls.trust is not None:
        yield "ssl.ca.pem", authorities_pem(tls.trust)
    if not tls.verifies_hostname:
        yield "ssl.endpoint.identification.algorithm", "none"
    if tls.identity is not None:
        own = tls.identity
        kind = "keystore" if is_store(own) else "key"
        if kind == "key":
            yield "ssl.certificate.location", str(own.certificate)
        yield f"ssl.{kind}.location", str(own.key or own.certificate)
        if own.password is not None:
            yield f"ssl.{kind}.password", read_secret(str(own.password))


def _of_login(login: LoginSource, wall_us: Callable[[], int]) -> dict[str, ClientSetting]:
    match login:
        case Credentials(mechanism=mechanism, username=username, password=password):
            return _of_password(mechanism, username, password)
        case PasswordFile(mechanism=mechanism, username=username, path=path):
            return _of_password(mechanism, username, read_secret(path))
        case TokenFile(path=path):
            give = partial(_token_of, path, wall_us)
            return {"sasl.mechanism": Mechanism.OAUTHBEARER.value, "oauth_cb": give}
        case TokenEndpoint():
            return _of_endpoint(login)


def _of_password(mechanism: Mechanism, username: str, password: str) -> dict[str, ClientSetting]:
    return {"sasl.mechanism": mechanism.value, "sasl.username": username, "sasl.password": password}


def _token_of(path: str, wall_us: Callable[[], int], _: str) -> tuple[str, float]:
    return read_token(path).token, wall_us() / 1e6 + TOKEN_LIFE_S


def _of_endpoint(endpoint: TokenEndpoint) -> dict[str, ClientSetting]:
    """librdkafka asks the endpoint by itself."""
    return {
        "sasl.mechanism": Mechanism.OAUTHBEARER.value,
        "sasl.oauthbearer.method": "oidc",
        "sasl.oauthbearer.token.endpoint.url": endpoint.url,
        "sasl.oauthbearer.client.id": endpoint.client_id,
        "sasl.oauthbearer.client.secret": endpoint.secret or read_secret(endpoint.secret_path),
        **({"sasl.oauthbearer.scope": endpoint.scope} if endpoint.scope else {}),
        **({"https.ca.location": endpoint.trust_path} if endpoint.trust_path else {}),
    }
