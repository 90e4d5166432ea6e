"""What most likely led to a wrong value, key or variable, and what to write instead: a sentence for the next step.

A guess from the text alone; nothing is asked for or opened. An empty text says that nothing can be guessed.
"""

import re
from collections.abc import Collection, Iterable, Mapping
from difflib import get_close_matches
from ipaddress import ip_address

from bridge.config.entries import Written
from bridge.config.fields import Key

NEARNESS = 0.7
"""How alike two names are of which one is taken for a misspelt other."""
PORT_MAX = 65_535
DIGITS_MAX = 10
"""Of the greatest whole number that brokers and ports have."""
IPV6 = 6
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9_+.-]*)://")
_AMOUNT = re.compile(r"(\d+(?:\.\d+)?)\s*([A-Za-z]+)")
_MS = {"ms": 1, "s": 1_000, "sec": 1_000, "m": 60_000, "min": 60_000, "h": 3_600_000, "d": 86_400_000}
_BYTES = {
    "b": 1,
    "kb": 10**3,
    "mb": 10**6,
    "gb": 10**9,
    "tb": 10**12,
    "k": 2**10,
    "kib": 2**10,
    "m": 2**20,
    "mib": 2**20,
    "g": 2**30,
    "gib": 2**30,
    "t": 2**40,
    "tib": 2**40,
}
FOREIGN_KEYS: Mapping[str, tuple[str, ...]] = {
    "advertised.listeners": ("advertised.host",),
    "bootstrap.servers": ("bootstrap",),
    "brokers": ("bootstrap",),
    "heartbeat.interval.ms": ("group.consumer.heartbeat.interval.ms",),
    "keystore": ("upstream.tls.certificate.path",),
    "listeners": ("listen",),
    "sasl.login.callback": ("upstream.sasl.token.path", "upstream.sasl.token.endpoint"),
    "sasl.oauthbearer.scope": ("upstream.sasl.token.scope",),
    "sasl.oauthbearer": ("upstream.sasl.token.endpoint",),
    "sasl.jaas.config": ("upstream.sasl.username", "upstream.sasl.password.path"),
    "sasl.mechanism": ("upstream.sasl.mechanism",),
    "sasl.password": ("upstream.sasl.password.path",),
    "sasl.username": ("upstream.sasl.username",),
    "security.protocol": ("upstream.tls", "upstream.sasl.mechanism"),
    "session.timeout.ms": ("group.consumer.session.timeout.ms",),
    "ssl.ca": ("upstream.tls.trust.path",),
    "ssl.certificate": ("upstream.tls.certificate.path",),
    "ssl.enabled.protocols": ("upstream.tls.version.min",),
    "ssl.endpoint.identification.algorithm": ("upstream.tls.verify.hostname",),
    "ssl.key.": ("upstream.tls.key.path", "upstream.tls.password.path"),
    "ssl.keystore": ("upstream.tls.certificate.path",),
    "ssl.truststore": ("upstream.tls.trust.path",),
    "ssl": ("upstream.tls",),
    "truststore": ("upstream.tls.trust.path",),
}
"""How Kafka's clients and brokers begin the names of what has another name here; longer beginnings come first."""
REMOVED_KEYS: Mapping[str, str] = {
    "embedded.trust-clients": (
        "take it out: what a client may do with an embedded group its broker is asked, on the client's own connection, "
        "and the broker's ACLs hold (docs/howto/secure-the-clients.md); the bridge needs upstream.sasl.… of its own"
    ),
}
"""Keys of former releases, and what came in their place."""
RULES = "groups"
_RULE_WORDS = frozenset({"rules", "rule", "group", "routes"})


def is_number(text: str) -> bool:
    """Whether it is digits, of those that every reader of numbers takes, and not more than a number may have."""
    return text.isascii() and text.isdecimal() and len(text) <= DIGITS_MAX


def is_ipv6_address(host: str) -> bool:
    """Whether it is one without brackets, perhaps with the interface that it belongs to."""
    try:
        return ip_address(host).version == IPV6
    except ValueError:
        return False


def cause_of_address(text: str) -> str:
    """Why a text is no HOST:PORT."""
    scheme = _SCHEME.match(text)
    host, colon, port = text.rpartition(":")
    if scheme is not None:
        rest = re.split("[/?#]", text[scheme.end() :].rpartition("@")[2])[0]
        return f"it begins with a scheme, as a URL does: write {rest!r}"
    if "@" in text:
        return (
            "a login is in it: leave it out; the bridge's own is upstream.sasl.username and upstream.sasl.password.path"
        )
    cause = _cause_of_signs(text)
    if cause:
        return cause
    if ";" in text or " " in text.strip():
        return "several addresses seem to be in one: put commas between them, where the key takes several"
    if text.isdecimal():
        return f"only a port is given: write a host before it, as in '127.0.0.1:{text}'"
    if not colon:
        return f"the port is missing: write it after a colon, as in '{text.strip() or 'localhost'}:9092'"
    if not host:
        return f"the host is missing: write it before the colon, as in '127.0.0.1:{port}'"
    if ":" in host:
        return f"an IPv6 host stands in brackets: write '[{host}]:{port}'"
    if port.isdecimal():
        return f"ports are from 1 to {PORT_MAX}: give the one that listens there"
    return "what follows the last colon is no port: write a number there"


def _cause_of_signs(text: str) -> str:
    """What can be told by the signs of an address: some can't be seen, some look like digits, some are brackets."""
    if not text.isprintable():
        return "a sign is in it that can't be seen: write it anew, by hand"
    host, _, port = text.rpartition(":")
    if not port.isascii():
        return "its port has digits of another script: write it with 0 to 9"
    if is_ipv6_address(text.strip("[]")) and not is_ipv6_address(host):
        return f"the port is missing: write it behind brackets, as in '[{text.strip('[]')}]:9092'"
    if text.startswith("["):
        return "what stands in brackets is an IPv6 address, as in '[::1]:9092': close them behind it, and write a port"
    return ""


def cause_of_kind(key: Key, written: Written) -> str:
    """Why a value is not of the kind that a key takes."""
    if written is None:
        return "nothing is written after the colon: write a value, or take the key out to use its default"
    if isinstance(written, tuple):
        return "a list is written where one value is taken: write that value alone"
    if isinstance(key.default, bool):
        return ""
    if isinstance(key.default, int):
        return _cause_of_number(key, str(written))
    if isinstance(written, bool):
        return "YAML takes yes, no, on, off, true and false for truth values: put quotes around a word"
    return "it was read as a number: put quotes around a word"


def _cause_of_number(key: Key, text: str) -> str:
    amount = _AMOUNT.fullmatch(text.strip())
    if amount is not None:
        is_time, is_size = key.name.endswith(".ms"), "bytes" in key.name
        factor = (_MS if is_time else _BYTES if is_size else {}).get(amount[2].lower())
        if factor is not None:
            what = "milliseconds" if is_time else "bytes"
            return f"it has a unit, and the key counts {what}: write {round(float(amount[1]) * factor)}"
        return "it has a unit or a word behind the number: write the number alone"
    if re.fullmatch(r"-?\d+\.\d+", text):
        return f"it has a fraction: write {round(float(text))}"
    if re.fullmatch(r"\d{1,3}([, .']\d{3})+", text):
        return f"it has separators: write {re.sub('[^0-9]', '', text)}"
    return "it is no number: write digits alone, or take the key out to use its default"


def cause_of_choice(choices: Iterable[str], text: str) -> str:
    """Which choice was perhaps meant."""
    by_small = {choice.lower(): choice for choice in choices}
    near = get_close_matches(text.lower(), by_small, n=1, cutoff=NEARNESS)
    return f"perhaps it is misspelt: write `{by_small[near[0]]}`" if near else ""


def cause_of_name(name: str, known: Collection[str]) -> str:
    """Which of the known keys was perhaps meant by one that there is not."""
    small = name.lower().replace("_", ".").replace("-", ".")
    if small in _RULE_WORDS:
        return f"rules of groups are a list under `{RULES}`: write that"
    if small in {"tls", "tls.cert", "tls.key"} or small.startswith("tls."):
        return (
            "each side has keys of its own: `listen.tls.…` for clients, `upstream.tls` and `upstream.tls.…` for brokers"
        )
    same = [one for one in known if one.replace("-", ".") == small]
    near = same or get_close_matches(name, known, n=1, cutoff=NEARNESS)
    foreign = max((one for one in FOREIGN_KEYS if small.startswith(one)), key=len, default="")
    if foreign and not same:
        named = " and ".join(f"`{one}`" for one in FOREIGN_KEYS[foreign])
        return f"it is a name of Kafka's own: here that is {named}"
    if near:
        return f"perhaps it is misspelt: write `{near[0]}`"
    return "no key is spelt like it: look for it in docs/reference/configuration.md, or take it out"


_OF_KUBERNETES = re.compile(
    r"(_SERVICE_HOST|_SERVICE_PORT(_\w+)?|_PORT_\d+_(TCP|UDP|SCTP)(_PROTO|_PORT|_ADDR)?)|(_PORT)(?==(tcp|udp|sctp)://)"
)


def is_of_kubernetes(name: str, value: str) -> bool:
    """Whether a variable is one that Kubernetes sets in each pod for a Service whose name begins like our variables.

    EPOCHBRIDGE_LISTEN_PORT=9192 is somebody's mistake: where it ends so, Kubernetes writes a URL.
    """
    pair = f"{name}={value}"
    return any(found.end() == len(name) for found in _OF_KUBERNETES.finditer(pair))


def cause_of_variable(name: str, known: Collection[str], prefix: str) -> str:
    """Which variable was perhaps meant by one that nothing reads; all of them begin with `prefix`."""
    # Compared without the prefix, by which any two would be alike.
    rests = {one.removeprefix(prefix): one for one in known}
    near = get_close_matches(name.upper().removeprefix(prefix), rests, n=1, cutoff=NEARNESS)
    if near:
        return f"perhaps it is misspelt: set {rests[near[0]]}, and unset this one"
    return "nothing reads it: unset it, or take the name of a key in capitals with _ for dots and hyphens"
