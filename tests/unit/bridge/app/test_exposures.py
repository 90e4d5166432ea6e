"""What a configuration shows to more people than need be."""

import pytest

from bridge.app.exposures import (
    CODE_ANY_BALANCER,
    CODE_ANY_BROKER,
    CODE_NOBODY,
    CODE_OWN_SECRETS,
    CODE_PASSWORDS,
    CODE_TOKENS,
    find_exposures,
)
from bridge.config.keys import Settings


@pytest.mark.parametrize(
    ("settings", "codes"),
    [
        (Settings(), []),
        (Settings(admin_listen="off"), []),
        (Settings(admin_listen="localhost:1"), []),
        (Settings(admin_listen="[::1]:1"), []),
        (Settings(admin_listen="0.0.0.0:1"), [CODE_NOBODY]),
        (Settings(admin_listen="10.0.0.1:1", admin_tls=True), [CODE_NOBODY]),
        (Settings(admin_listen="10.0.0.1:1", admin_tls=True, admin_tls_client_auth="requested"), []),
        (Settings(admin_listen="10.0.0.1:1", admin_token_read_path="t"), [CODE_TOKENS]),
        (Settings(admin_listen="10.0.0.1:1", admin_token_path="t", admin_tls=True), []),
        (Settings(listen_sasl_mechanisms=("PLAIN",)), [CODE_PASSWORDS]),
        (Settings(listen_sasl_mechanisms=("PLAIN",), listen_tls=True), []),
        (Settings(listen_sasl_mechanisms=("SCRAM-SHA-256",)), []),
        (Settings(upstream_sasl_mechanism="OAUTHBEARER"), [CODE_OWN_SECRETS]),
        (Settings(upstream_sasl_mechanism="PLAIN", upstream_tls=True), []),
        (Settings(upstream_sasl_mechanism="SCRAM-SHA-512"), []),
        (Settings(listen_proxy_protocol_from=("10.0.0.7", "10.1.0.0/16", "fd00::/8")), []),
        (Settings(listen_proxy_protocol_from=("10.0.0.7", "0.0.0.0/0")), [CODE_ANY_BALANCER]),
        (Settings(listen_proxy_protocol_from=("::/0",)), [CODE_ANY_BALANCER]),
        (Settings(upstream_tls=True, upstream_tls_verify_hostname=False), [CODE_ANY_BROKER]),
        (Settings(upstream_tls=True), []),
    ],
)
def test_each_exposure_has_its_code_and_a_next_step(settings: Settings, codes: list[str]) -> None:
    """And what shows nothing to anybody has none."""
    found = list(find_exposures(settings))
    assert [one.code for one in found] == codes
    assert all(str(one).startswith(f"{one.key}: {one.code}: ") and one.remedy for one in found)
