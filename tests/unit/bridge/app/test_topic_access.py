"""Events come to a topic as the bridge itself comes to its brokers: librdkafka takes what is said of it."""

from dataclasses import replace
from pathlib import Path

import pytest
from confluent_kafka import Producer

from bridge.app.topic_access import TOKEN_LIFE_S, topic_access
from bridge.config.configuration import Config
from bridge.config.keys import Settings
from bridge.telemetry.event_log.sinks import ClientSetting, SinkUnusable
from tests.support.certificates import STORE_WORD, Authority, key_store, store_word, trust_store, written

NOW_US = 4_000_000_000_000_000
"""Not before librdkafka's own clock: a token that is over is none."""
TOPIC = Settings(bootstrap=("k:9093",), events_topic="t")


def access(settings: Settings) -> dict[str, ClientSetting]:
    """What a client of the topic is told; librdkafka looks at files and words when it begins."""
    found = topic_access(Config(settings), lambda: NOW_US)
    Producer({"bootstrap.servers": "127.0.0.1:1", "log_level": 0, **found})
    return found


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    """Who signs."""
    return Authority(tmp_path)


def test_open_brokers_need_nothing_said() -> None:
    """As before there was TLS."""
    assert access(TOPIC) == {"security.protocol": "PLAINTEXT"}


def test_brokers_elsewhere_are_told_nothing(tmp_path: Path) -> None:
    """The bridge's password is for the brokers of its own."""
    word = written(tmp_path / "word", b"hush")
    login = replace(
        TOPIC, upstream_sasl_mechanism="PLAIN", upstream_sasl_username="u", upstream_sasl_password_path=str(word)
    )
    assert access(replace(login, events_bootstrap=("elsewhere:1",))) == {}
    own = {"sasl.mechanism": "PLAIN", "sasl.username": "u", "sasl.password": "hush"}
    for brokers in ((), ("elsewhere:1", "k:9093")):
        assert access(replace(login, events_bootstrap=brokers)) == {"security.protocol": "SASL_PLAINTEXT", **own}


def test_password_is_read_anew_for_each_client(tmp_path: Path) -> None:
    """What is rotated counts for the next one; what is gone is a sentence."""
    word = written(tmp_path / "word", b"one")
    settings = replace(
        TOPIC,
        upstream_sasl_mechanism="SCRAM-SHA-512",
        upstream_sasl_username="u",
        upstream_sasl_password_path=str(word),
    )
    found = [access(settings)["sasl.password"]]
    word.write_bytes(b"two\n")
    found.append(access(settings)["sasl.password"])
    assert found == ["one", "two"]
    word.unlink()
    with pytest.raises(SinkUnusable, match=r"EB-EVENTS-016: events can't be sent to topic 't': .*password\.path"):
        access(settings)


def test_token_of_a_file_is_read_whenever_one_is_asked_for(tmp_path: Path) -> None:
    """Somebody keeps it fresh."""
    token = written(tmp_path / "token", b"first")
    settings = replace(TOPIC, upstream_sasl_mechanism="OAUTHBEARER", upstream_sasl_token_path=str(token))
    give = access(settings)["oauth_cb"]
    assert not isinstance(give, str)
    assert give("") == ("first", NOW_US / 1e6 + TOKEN_LIFE_S)
    token.write_bytes(b"second\n")
    assert give("")[0] == "second"


def test_endpoint_is_asked_by_librdkafka(tmp_path: Path) -> None:
    """With the client's id and secret, and those that the endpoint is trusted by."""
    settings = replace(
        TOPIC,
        upstream_sasl_mechanism="OAUTHBEARER",
        upstream_sasl_username="id",
        upstream_sasl_password_path=str(written(tmp_path / "secret", b"hush")),
        upstream_sasl_token_endpoint="http://127.0.0.1:1/token",
        upstream_sasl_token_scope="kafka",
    )
    assert access(settings) == {
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": "OAUTHBEARER",
        "sasl.oauthbearer.method": "oidc",
        "sasl.oauthbearer.token.endpoint.url": "http://127.0.0.1:1/token",
        "sasl.oauthbearer.client.id": "id",
        "sasl.oauthbearer.client.secret": "hush",
        "sasl.oauthbearer.scope": "kafka",
    }


def test_certificates_of_the_bridge_may_be_pem(authority: Authority) -> None:
    """librdkafka reads the certificate and its key where they are."""
    own = str(authority.pair("bridge"))
    settings = replace(
        TOPIC,
        upstream_tls=True,
        upstream_tls_trust_path=str(authority.trust),
        upstream_tls_certificate_path=own,
    )
    told = {"ssl.certificate.location": own, "ssl.key.location": own}
    assert _without_authority(access(settings), authority) == {"security.protocol": "SSL", **told}


def test_certificates_of_the_bridge_may_be_stores(authority: Authority, tmp_path: Path) -> None:
    """librdkafka opens that with a key; authorities it takes as PEM alone, so they are handed on as that."""
    word, own = str(store_word(tmp_path)), str(key_store(tmp_path, authority.issue("bridge")))
    settings = replace(
        TOPIC,
        upstream_tls=True,
        upstream_tls_trust_path=str(trust_store(authority)),
        upstream_tls_trust_password_path=word,
        upstream_tls_certificate_path=own,
        upstream_tls_password_path=word,
    )
    told = {"ssl.keystore.location": own, "ssl.keystore.password": STORE_WORD}
    assert _without_authority(access(settings), authority) == {"security.protocol": "SSL", **told}


def _without_authority(found: dict[str, ClientSetting], authority: Authority) -> dict[str, ClientSetting]:
    """The others, once it is seen that the authority's certificate is among them."""
    assert str(found.pop("ssl.ca.pem")).strip() == authority.trust.read_text(encoding="ascii").strip()
    return found


def test_hosts_may_be_let_be(authority: Authority) -> None:
    """As on the bridge's own connections."""
    settings = replace(
        TOPIC, upstream_tls=True, upstream_tls_trust_path=str(authority.trust), upstream_tls_verify_hostname=False
    )
    assert access(settings)["ssl.endpoint.identification.algorithm"] == "none"
