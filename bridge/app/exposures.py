"""What a configuration shows to more people than its writer may think; it can be used all the same."""

from collections.abc import Iterator
from dataclasses import dataclass
from ipaddress import ip_network

from bridge.admin.addresses import is_loopback, parse_address
from bridge.config.keys import Settings
from bridge.wire.sasl import Mechanism

ADMIN_OFF = "off"
CODE_PASSWORDS = "EB-CONFIG-011"
"""Clients send their passwords to the bridge as they are: logins by PLAIN without TLS."""
CODE_NOBODY = "EB-CONFIG-012"
"""The admin API listens beyond this machine, and nothing says who may ask it there."""
CODE_TOKENS = "EB-CONFIG-013"
"""The admin API listens beyond this machine without TLS: whoever reads along sees its tokens."""
CODE_OWN_SECRETS = "EB-CONFIG-014"
"""The bridge sends its own password or token to brokers as it is: a login by PLAIN or OAUTHBEARER without TLS."""
CODE_ANY_BALANCER = "EB-CONFIG-015"
"""Whoever connects is believed where it says it comes from: every address counts for a load balancer's."""
CODE_ANY_BROKER = "EB-CONFIG-016"
"""Any certificate of a trusted authority counts for a broker's, whatever host it names."""
EVERYBODY = 0
"""The bits of a network that all addresses are in."""
SENT_AS_THEY_ARE = frozenset((Mechanism.PLAIN, Mechanism.OAUTHBEARER))


@dataclass(frozen=True, slots=True)
class Exposure:
    """What a key shows: a stable code, what was seen, what to do."""

    key: str
    code: str
    sentence: str
    remedy: str

    def __str__(self) -> str:
        """One line for a person."""
        return f"{self.key}: {self.code}: {self.sentence}; {self.remedy}"


def find_exposures(settings: Settings) -> Iterator[Exposure]:
    """All there is to say."""
    if Mechanism.PLAIN in settings.listen_sasl_mechanisms and not settings.listen_tls:
        sentence = (
            "PLAIN is taken without listen.tls: clients send their passwords as they are, for whoever reads along"
        )
        remedy = "set listen.tls: true, or take SCRAM-SHA-512 alone"
        yield Exposure("listen.sasl.mechanisms", CODE_PASSWORDS, sentence, remedy)
    mechanism = settings.upstream_sasl_mechanism
    if mechanism in SENT_AS_THEY_ARE and not settings.upstream_tls:
        sentence = f"{mechanism} without upstream.tls: the bridge sends its password or token to brokers as it is"
        remedy = "set upstream.tls: true, or log in by SCRAM-SHA-512"
        yield Exposure("upstream.sasl.mechanism", CODE_OWN_SECRETS, sentence, remedy)
    if any(ip_network(one, strict=False).prefixlen == EVERYBODY for one in settings.listen_proxy_protocol_from):
        sentence = "every address is in it: who connects says from where it comes, to limits, logs and brokers alike"
        remedy = "name the load balancers' own addresses or networks"
        yield Exposure("listen.proxy-protocol.from", CODE_ANY_BALANCER, sentence, remedy)
    if settings.upstream_tls and not settings.upstream_tls_verify_hostname:
        sentence = "a certificate for any host counts as a broker's: whoever has one may be in between"
        remedy = "name brokers in bootstrap and advertised.listeners by hosts of their certificates, and leave it out"
        yield Exposure("upstream.tls.verify.hostname", CODE_ANY_BROKER, sentence, remedy)
    if settings.admin_listen != ADMIN_OFF and not is_loopback(parse_address(settings.admin_listen)[0]):
        yield from _find_at_admin(settings)


def _find_at_admin(settings: Settings) -> Iterator[Exposure]:
    seen = f"{settings.admin_listen} is beyond this machine"
    has_tokens = bool(settings.admin_token_path or settings.admin_token_read_path)
    if not has_tokens and settings.admin_tls_client_auth == "none":
        sentence = f"{seen}, and nothing says who may ask there: everybody reads health and /metrics, nobody the pages"
        remedy = "name admin.token.path, set admin.tls with admin.tls.client.auth, or listen at a loopback address"
        yield Exposure("admin.listen", CODE_NOBODY, sentence, remedy)
    if has_tokens and not settings.admin_tls:
        sentence = f"{seen}, without admin.tls: whoever reads along sees tokens, and gives orders with them"
        remedy = "set admin.tls: true, or keep the port behind a firewall"
        yield Exposure("admin.listen", CODE_TOKENS, sentence, remedy)
