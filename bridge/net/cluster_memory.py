"""What is known of a cluster from its answers, kept over restarts as a text for the journal: its brokers, what they
speak, whether it wants a login.
"""

import json
import logging
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from bridge.net.broker_connection import LoginRefused
from bridge.wire.endpoints import Endpoint
from bridge.wire.sasl import HandshakeAnswer
from bridge.wire.versions import VersionRange, VersionTable
from translators.dialects.errors import ErrorCode


class Entrance(StrEnum):
    """What is known of a cluster; the values stay as they are, since a journal may keep them."""

    UNKNOWN = "unknown"
    OPEN = "open"
    LOGIN = "login"


class Finding(StrEnum):
    """What one question to a broker came to."""

    ANSWERED_A_STRANGER = "answered a stranger"
    """Metadata named brokers to somebody who has not logged in."""
    NAMED_NO_BROKERS = "named no brokers"
    """An answer to Metadata that is one for somebody in the middle of a login, or of a broker that just starts."""
    LET_US_IN = "let the bridge in"
    REFUSED_OUR_LOGIN = "refused the bridge's login"
    FAILED_OUR_LOGIN = "failed the bridge's login"
    """It talked until something could not be read or verified."""
    HAD_NO_LOGIN = "was not shown the bridge's login"
    """It took the connection; what the bridge logs in with could not be had, so that nothing was asked."""
    TALKED_OF_SASL = "talked of SASL"
    """A question for a SASL mechanism was answered with those that there are."""
    KNOWS_NO_SASL = "knows no SASL"
    """The same question was refused as out of place, which a listener without SASL does, and one behind a balancer."""
    CLOSED = "closed"
    """The connection ended instead of an answer: by a listener with SASL at what is no login, by a broker that dies,
    hung or not, by a balancer without brokers. It looks the same.
    """
    SILENT = "silent"
    UNREADABLE = "unreadable"
    """TLS, or something else that is no Kafka broker without TLS."""
    UNREACHABLE = "unreachable"


PROVES = {
    Finding.ANSWERED_A_STRANGER: Entrance.OPEN,
    Finding.LET_US_IN: Entrance.LOGIN,
    Finding.REFUSED_OUR_LOGIN: Entrance.LOGIN,
    Finding.TALKED_OF_SASL: Entrance.LOGIN,
}
"""Only an answer proves anything. What is missing here, every failure above all, leaves what is known as it is."""


def after(known: Entrance, finding: Finding) -> Entrance:
    """What is known of the cluster then."""
    return PROVES.get(finding, known)


def handshake_finding(answer: HandshakeAnswer) -> Finding:
    """What an answer to SaslHandshake tells: a listener that wants a login names its mechanisms, whichever is asked."""
    talks = answer.error in (ErrorCode.NONE, ErrorCode.UNSUPPORTED_SASL_MECHANISM) and bool(answer.mechanisms)
    return Finding.TALKED_OF_SASL if talks else Finding.KNOWS_NO_SASL


def refusal_finding(refused: LoginRefused) -> Finding:
    """What a failed login tells: only the broker's own word on it proves that it wants one."""
    return Finding.REFUSED_OUR_LOGIN if refused.is_brokers_word else Finding.FAILED_OUR_LOGIN


FACT = "cluster"
"""The name under which the journal keeps it."""

LOG = logging.getLogger("epochbridge.net")


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterMemory:
    """Of the cluster behind these bootstrap addresses: whether it asks for a login, its brokers, what they speak.

    Brokers stand in the order of the ports of ours that stand for them, so that they get the same ones again.
    """

    bootstrap: tuple[str, ...]
    entrance: Entrance
    brokers: tuple[Endpoint, ...]
    versions: VersionTable

    def text(self) -> str:
        """As it is written down."""
        plain = {
            "bootstrap": self.bootstrap,
            "entrance": self.entrance.value,
            "brokers": self.brokers,
            "versions": {str(key): (one.lowest, one.highest) for key, one in sorted(self.versions.items())},
        }
        return json.dumps(plain, separators=(",", ":"))


def recollect(text: str) -> ClusterMemory | None:
    """What was written down; None where it can't be read, which a newer release may have caused: nothing is known."""
    try:
        plain: object = json.loads(text)
        match plain:
            case {
                "bootstrap": list(bootstrap),
                "entrance": str(entrance),
                "brokers": list(brokers),
                "versions": dict(versions),
            }:
                return ClusterMemory(
                    bootstrap=tuple(map(str, bootstrap)),
                    entrance=Entrance(entrance),
                    brokers=tuple(map(_broker, brokers)),
                    versions=_versions(versions),
                )
            case _:
                raise ValueError("it lacks bootstrap, entrance, brokers or versions")
    except (ValueError, LookupError, TypeError) as problem:
        LOG.warning("EB-NET-055: what the journal tells of the cluster can't be read (%s); it is asked anew", problem)
    return None


def _broker(plain: object) -> Endpoint:
    match plain:
        case [int(node_id), str(host), int(port)]:
            return Endpoint(node_id, host, port)
        case _:
            raise ValueError(f"{plain!r} is no broker")


def _versions(plain: Mapping[object, object]) -> VersionTable:
    table: dict[int, VersionRange] = {}
    for key, one in plain.items():
        match one:
            case [int(lowest), int(highest)]:
                table[int(str(key))] = VersionRange(lowest, highest)
            case _:
                raise ValueError(f"{one!r} is no range of versions")
    return table
