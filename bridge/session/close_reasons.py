"""Why a connection is closed by the bridge: a stable code, what happened, the likely cause and the next step.

It must not know sockets or counters.
"""

from enum import Enum


class CloseReason(Enum):
    """One reason to close a client connection; its name is the counter's label, its value the code and the sentence."""

    CLIENT_GONE = ("EB-NET-000", "the client closed the connection")
    FRAME_TOO_LARGE = (
        "EB-NET-001",
        "the length of the request is beyond wire.frame.bytes.max; most likely the bytes are not Kafka's",
    )
    FRAME_TOO_SHORT = ("EB-NET-002", "the length of the request has no room for a header; the bytes are not Kafka's")
    TLS_ON_PLAIN_PORT = (
        "EB-NET-003",
        "a TLS hello came on a plain port; set security.protocol=PLAINTEXT in the client or use a TLS listener",
    )
    HTTP_ON_KAFKA_PORT = ("EB-NET-004", "an HTTP request came on a Kafka port; the admin API has its own address")
    UNKNOWN_API = ("EB-NET-005", "the api key is not offered; the client did not keep to the answer of ApiVersions")
    UNSUPPORTED_VERSION = (
        "EB-NET-006",
        "the version of the api is not offered; the client did not keep to the answer of ApiVersions",
    )
    MALFORMED_REQUEST = ("EB-NET-007", "the request can't be read")
    GROUP_FRAME_TOO_LARGE = (
        "EB-NET-008",
        "a group request is larger than what is held for one; raise wire.group-frame.bytes.max if it is genuine",
    )
    TOO_MANY_CONNECTIONS = ("EB-NET-009", "limits.connections.max connections are open")
    IDLE = ("EB-NET-010", "nothing was sent for limits.idle.ms")
    SLOW_REQUEST = ("EB-NET-011", "a request did not arrive within limits.progress.ms")
    UPSTREAM_UNREACHABLE = (
        "EB-NET-012",
        "the broker could not be reached within connect.timeout.ms; check that it runs and its address",
    )
    UPSTREAM_LOST = ("EB-NET-013", "the broker closed its connection; the client will connect again")
    UPSTREAM_CONFUSED = ("EB-NET-014", "the broker answered something that was not asked")
    ANSWER_TOO_LARGE = (
        "EB-NET-015",
        "an answer that must be rewritten is beyond wire.answer.bytes.max",
    )
    RAW_SASL = (
        "EB-NET-016",
        "SaslHandshake v0 is followed by bytes without a frame; use a client that sends SaslHandshake v1",
    )
    DRAINED = ("EB-NET-017", "the bridge is shutting down")
    TOO_MANY_ELEMENTS = (
        "EB-NET-019",
        "a group request has more elements than are read; if genuine raise wire.elements.max (wire.names.max)",
    )
    NOT_AUTHENTICATED = (
        "EB-NET-022",
        "a group request came before its client logged in, as the cluster wants; set its security.protocol and sasl.*",
    )
    NO_DESCRIPTORS = (
        "EB-NET-023",
        "no file descriptors are left for another client; raise the limit of open files (ulimit -n, LimitNOFILE)",
    )
    LOGIN_RAN_OUT = (
        "EB-NET-026",
        "the login of the client has run out (KIP-368), as a broker ends it; the client connects and logs in again",
    )
    BUG = ("EB-NET-099", "the bridge failed on this connection; please report the log line with its traceback")

    @property
    def code(self) -> str:
        """The stable code to search for."""
        return self.value[0]

    @property
    def sentence(self) -> str:
        """What happened, the likely cause and the next step."""
        return self.value[1]


ORDINARY = frozenset({CloseReason.CLIENT_GONE, CloseReason.IDLE, CloseReason.DRAINED})
"""Reasons that nobody needs to be warned of."""
