"""Why a connection is closed by the bridge: a stable code, what happened, the likely cause and the next step."""

from enum import Enum


class CloseReason(Enum):
    """One reason to close a client connection; its name is the counter's label, its value the code and the sentence."""

    CLIENT_GONE = ("EB-NET-000", "the client closed the connection")
    FRAME_TOO_LARGE = (
        "EB-NET-001",
        (
            "the length of the request is beyond wire.frame.bytes.max; most likely the bytes are not Kafka's: see what "
            "connects there, and raise that if the request is genuine"
        ),
    )
    FRAME_TOO_SHORT = (
        "EB-NET-002",
        "the length of the request has no room for a header; the bytes are not Kafka's: see what connects there",
    )
    TLS_ON_PLAIN_PORT = (
        "EB-NET-003",
        (
            "a TLS hello came on a plain port; set security.protocol to PLAINTEXT or SASL_PLAINTEXT in the client, or "
            "listen.tls: true in the bridge"
        ),
    )
    HTTP_ON_KAFKA_PORT = (
        "EB-NET-004",
        "an HTTP request came on a Kafka port; ask the admin API at its own address (admin.listen)",
    )
    UNKNOWN_API = (
        "EB-NET-005",
        "the api key is not offered; the client did not keep to the answer of ApiVersions: see which program it is",
    )
    UNSUPPORTED_VERSION = (
        "EB-NET-006",
        (
            "the version of the api is not offered; the client did not keep to the answer of ApiVersions, or never "
            "asked: let it ask"
        ),
    )
    MALFORMED_REQUEST = (
        "EB-NET-007",
        (
            "the request can't be read; the client writes it wrongly, or what is in between spoils it: see which "
            "program it is, and report this if a broker reads it"
        ),
    )
    GROUP_FRAME_TOO_LARGE = (
        "EB-NET-008",
        "a group request is larger than what is held for one; raise wire.group-frame.bytes.max if it is genuine",
    )
    TOO_MANY_CONNECTIONS = (
        "EB-NET-009",
        "limits.connections.max connections are open; see who keeps so many, and raise that if they are genuine",
    )
    IDLE = ("EB-NET-010", "nothing was sent, or taken of what is there for it, for limits.idle.ms")
    SLOW_REQUEST = (
        "EB-NET-011",
        (
            "a request did not arrive within limits.progress.ms; the client stands still in the middle of it, or its "
            "network is slow: see which, and raise that for slow ones"
        ),
    )
    UPSTREAM_UNREACHABLE = (
        "EB-NET-012",
        "the broker could not be reached within connect.timeout.ms; check that it runs and its address",
    )
    UPSTREAM_SILENT = (
        "EB-NET-037",
        "the broker took a question and did not answer; most likely it hangs or is overloaded, see its log",
    )
    UPSTREAM_LOST = ("EB-NET-013", "the broker closed its connection; the client will connect again")
    UPSTREAM_CONFUSED = (
        "EB-NET-014",
        "the broker answered something that was not asked; see whether it is a broker, and what is in between",
    )
    ANSWER_TOO_LARGE = (
        "EB-NET-015",
        (
            "an answer that must be rewritten is beyond wire.answer.bytes.max; raise that, or have the client ask for "
            "less at once"
        ),
    )
    RAW_SASL = (
        "EB-NET-016",
        (
            "SaslHandshake v0 is followed by bytes without a frame, of this mechanism nobody knows how many; use a "
            "client that sends SaslHandshake v1, or PLAIN, SCRAM or OAUTHBEARER"
        ),
    )
    RAW_LOGIN_REFUSED = (
        "EB-NET-039",
        (
            "the broker refused the login of a client that began it by SaslHandshake v0, and so hears of that by the "
            "end of its connection alone; check the client's sasl.*"
        ),
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
    UNAUTHENTICATED_FRAME = (
        "EB-NET-158",
        (
            "a request before a login is beyond limits.unauthenticated.frame.bytes; log the client in (sasl.*), or "
            "raise that if its tokens are so large"
        ),
    )
    UNAUTHENTICATED_BYTES = (
        "EB-NET-159",
        (
            "limits.unauthenticated.bytes are held for clients that have not logged in; see who opens these "
            "connections, and raise that if they are genuine"
        ),
    )
    TOO_MANY_LOGIN_STEPS = (
        "EB-NET-160",
        (
            "more than limits.unauthenticated.steps.max requests of SASL brought no login to its end; check the "
            "client's sasl.*"
        ),
    )
    NO_DESCRIPTORS = (
        "EB-NET-023",
        "no file descriptors are left for another client; raise the limit of open files (ulimit -n, LimitNOFILE)",
    )
    NO_LOGIN = (
        "EB-NET-204",
        (
            "the client does not log in, and the cluster wants it; set security.protocol to SASL_PLAINTEXT (SASL_SSL "
            "where listen.tls is true) in the client, with sasl.mechanism and its credentials"
        ),
    )
    NO_KEPT_LOGIN = (
        "EB-NET-207",
        "no line of listen.tls.clients.path means the client's certificate; add one, or give it another certificate",
    )
    KEPT_LOGIN_REFUSED = (
        "EB-NET-208",
        "no login came about with what listen.tls.clients.path names for the client; mend that line, or its secret",
    )
    NOT_LOGGED_IN = (
        "EB-NET-210",
        (
            "a request came before its client logged in at the bridge, as listen.sasl.mechanisms wants; set "
            "security.protocol to SASL_PLAINTEXT (SASL_SSL where listen.tls is true) in the client, with "
            "sasl.mechanism and its credentials"
        ),
    )
    LOGIN_REFUSED = (
        "EB-NET-211",
        (
            "the bridge refused the login; check the client's sasl.*, and its lines in listen.sasl.clients.path, which "
            "`epochbridge login-line` makes"
        ),
    )
    LOGIN_TWICE = (
        "EB-NET-212",
        (
            "clients log in at the bridge (listen.sasl.mechanisms), and the cluster wants logins of its own; take "
            "listen.sasl.* out of the configuration, and let clients log in at brokers through the bridge"
        ),
    )
    TOO_MANY_LOGINS = (
        "EB-NET-213",
        (
            "limits.logins.waiting.max logins at the bridge wait for their passwords to be judged; let clients log in "
            "by SCRAM, which takes no such time, or see who else opens connections"
        ),
    )
    LOGIN_RAN_OUT = (
        "EB-NET-026",
        "the login of the client has run out (KIP-368), as a broker ends it; the client connects and logs in again",
    )
    PLAIN_ON_TLS_PORT = (
        "EB-NET-060",
        (
            "bytes without TLS came on a port with TLS; set security.protocol to SSL or SASL_SSL in the client, or "
            "listen.tls: false in the bridge"
        ),
    )
    NO_CERTIFICATE = (
        "EB-NET-061",
        (
            "the client shows no certificate, as listen.tls.client.auth wants; give it one (ssl.keystore.location of "
            "Java, ssl.certificate.location of librdkafka)"
        ),
    )
    CERTIFICATE_REFUSED = (
        "EB-NET-062",
        "the client's certificate is not accepted; give it a valid one of an authority of listen.tls.trust.path",
    )
    CERTIFICATE_NOT_TRUSTED = (
        "EB-NET-063",
        (
            "the client does not accept the bridge's certificate; have it trust who signed that (Java's "
            "ssl.truststore.location, librdkafka's ssl.ca.location), keep the certificates in between in "
            "listen.tls.certificate.path, too, and name in it the host that clients connect to"
        ),
    )
    NO_TLS = (
        "EB-NET-064",
        "no TLS came about with the client; see listen.tls.version.min and what versions and ciphers the client has",
    )
    SLOW_HANDSHAKE = (
        "EB-NET-065",
        (
            "TLS with the client did not come about within limits.handshake.ms; it speaks something else, or its "
            "network is slow: see which, and raise that for slow ones"
        ),
    )
    TOO_MANY_HANDSHAKES = (
        "EB-NET-066",
        "limits.handshakes.max clients have not got their TLS yet; raise it if they are genuine",
    )
    EMPTY_RECORDS = (
        "EB-NET-069",
        (
            "the client sends TLS records that hold nothing (new keys, over and over), which cost much and mean "
            "nothing; see who it is, most likely it means harm"
        ),
    )
    TOO_MANY_NEW_CONNECTIONS = (
        "EB-NET-027",
        "its address opens connections over and over (limits.connections.address.rate.max); raise that if it is shared",
    )
    TOO_MANY_NEW_IN_ALL = (
        "EB-NET-029",
        (
            "limits.connections.rate.max connections were opened within this second; clients come again by themselves:"
            " see who opens so many, and raise that if they are genuine"
        ),
    )
    TOO_MANY_OF_ADDRESS = (
        "EB-NET-028",
        (
            "as many connections of its address are open as one may have (limits.connections.address.max); see what "
            "there opens connections and keeps them, or raise that if it is shared"
        ),
    )
    UNKNOWN_BROKER = (
        "EB-NET-151",
        (
            "the cluster names no broker with the id that this port or host stands for, or does not answer; check "
            "listen.ports, or what host the client was given, and that the broker runs"
        ),
    )
    UNKNOWN_HOST = (
        "EB-NET-152",
        (
            "the client asks in TLS (SNI) for a host that is neither advertised.host nor one of listen.sni.pattern; "
            "check its bootstrap.servers and both keys"
        ),
    )
    NO_HOST = (
        "EB-NET-153",
        (
            "the client asks for no host in TLS (SNI), and hosts tell brokers apart (listen.sni.pattern); give it "
            "names instead of addresses, and have it check the host, without which some libraries leave it out"
        ),
    )
    NOT_BROUGHT = (
        "EB-NET-154",
        (
            "it comes from no address of listen.proxy-protocol.from, and listen.proxy-protocol is required; connect "
            "through the load balancer, or add its address"
        ),
    )
    BAD_ANNOUNCEMENT = (
        "EB-NET-155",
        (
            "the load balancer does not say whom it brings as listen.proxy-protocol has it; have it send headers of "
            "version 2 (send-proxy-v2 of HAProxy), or set the key to optional or off"
        ),
    )
    SLOW_ANNOUNCEMENT = (
        "EB-NET-156",
        (
            "the load balancer did not say within limits.handshake.ms whom it brings; have it send PROXY headers "
            "(send-proxy-v2 of HAProxy), or set listen.proxy-protocol to optional or off"
        ),
    )
    PROXY_HEADER = (
        "EB-NET-157",
        (
            "a PROXY header came where none is read; set listen.proxy-protocol and listen.proxy-protocol.from, or have "
            "the load balancer leave it out"
        ),
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
