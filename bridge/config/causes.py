"""What most likely led to a wrong value, key or variable, and what to write instead: a sentence for the next step.

A guess from the text alone; nothing is asked for or opened. An empty text says that nothing can be guessed.
"""

import re
from collections.abc import Collection, Iterable, Mapping
from difflib import get_close_matches
from ipaddress import ip_address

from bridge.config.entries import Written
from bridge.config.fields import Key

ENVIRONMENT_PREFIX = "EPOCHBRIDGE_"
NEARNESS = 0.7
"""How alike two names are of which one is taken for a misspelt other."""
PORT_MAX = 65_535
DIGITS_MAX = 10
"""Of the greatest whole number that brokers and ports have."""
IPV6 = 6
_NOT_IN_HOSTS = re.compile("[<>{}$\"'`,;/@ \t]")
"""Signs of several addresses in one, of a URL, or of a place to be filled in."""
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
_QUOTED = re.compile("[\"'\u2018-\u201e\u00ab\u00bb`]")
"""Also those that word processors put in."""
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


def is_host(host: str) -> bool:
    """Whether it can be looked up at all: a resolver is never asked for a word between dots that is empty, or longer
    than 63 signs.
    """
    try:
        host.encode("idna")
    except UnicodeError:
        return False
    return bool(host) and not _NOT_IN_HOSTS.search(host)


def is_address(host: str) -> bool:
    """Whether it is an address and no name, of IPv6 without brackets."""
    try:
        ip_address(host)
    except ValueError:
        return False
    return True


def is_ipv6_address(host: str) -> bool:
    """Whether it is one without brackets, perhaps with the interface that it belongs to."""
    try:
        return ip_address(host).version == IPV6
    except ValueError:
        return False


def cause_of_address(text: str) -> str:
    """Why a text is no HOST:PORT."""
    if not text.strip():
        return "nothing is written: write an address, or take the key or variable out to use the default"
    scheme = _SCHEME.match(text)
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
    return _cause_of_parts(*text.rpartition(":"))


def _cause_of_parts(host: str, colon: str, port: str) -> str:
    """What is wrong with the host, or with the port; without a colon there is one of both only."""
    if not colon and port.isdecimal():
        return f"only a port is given: write a host before it, as in '127.0.0.1:{port}'"
    if not colon:
        return f"the port is missing: write it after a colon, as in '{port.strip()}:9092'"
    if not host:
        return f"the host is missing: write it before the colon, as in '127.0.0.1:{port}'"
    if ":" in host:
        return f"an IPv6 host stands in brackets: write '[{host}]:{port}'"
    if port.isdecimal() and not is_host(host):
        return "its host is none: dots part words of 1 to 63 letters, digits and hyphens"
    if port.isdecimal():
        return f"ports are from 1 to {PORT_MAX}: give the one that listens there"
    return "what follows the last colon is no port: write a number there"


def _cause_of_signs(text: str) -> str:
    """What can be told by the signs of an address: some can't be seen, some look like digits, some are brackets."""
    if text.endswith("\n"):
        return "a line break is in it: write it in the line of its key, without | or >"
    if not text.isprintable():
        return "a sign is in it that can't be seen: write it anew, by hand"
    if _QUOTED.search(text):
        return "quotes are part of it: take them out; around a value they belong in the file only, and are ' or \""
    if re.search("[<>{}$]", text):
        return "it looks like a place that was to be filled in: write what belongs there; nothing is put in here"
    if text.endswith("]") and not text.startswith("["):
        return "a bracket of a list is in it: write several addresses with commas between them, and nothing around"
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
    if written == "":
        return "nothing is written: write a value, or take the key or variable out to use its default"
    if isinstance(key.default, bool):
        return ""
    if isinstance(key.default, int):
        return _cause_of_number(key, str(written))
    if isinstance(written, bool):
        return "YAML takes yes, no, on, off, true and false for truth values: put quotes around a word"
    return "it was read as a number: put quotes around a word"


def _cause_of_number(key: Key, text: str) -> str:
    if "$" in text or "{" in text:
        return f"nothing is put in here: write the number, or set {variable_of(key)} and take the key out"
    if _QUOTED.search(text):
        return "quotes are part of it: write digits alone"
    amount = _AMOUNT.fullmatch(text.strip())
    if amount is not None:
        is_time, is_size = key.name.endswith(".ms"), "bytes" in key.name
        factor = (_MS if is_time else _BYTES if is_size else {}).get(amount[2].lower())
        if factor is not None:
            what = "milliseconds" if is_time else "bytes"
            meant = round(float(amount[1]) * factor)
            is_taken = (key.minimum or 0) <= meant <= (key.maximum or meant)
            return f"it has a unit, and the key counts {what}: " + (
                f"write {meant}" if is_taken else f"{meant} is not within what is allowed"
            )
        return "it has a unit or a word behind the number: write the number alone"
    if re.fullmatch(r"-?\d+\.\d+", text):
        return f"it has a fraction: write {round(float(text))}"
    if re.fullmatch(r"\d{1,3}([, .']\d{3})+", text):
        return f"it has separators: write {re.sub('[^0-9]', '', text)}"
    return "it is no number: write digits alone, or take the key out to use its default"


def variable_of(key: Key) -> str:
    """The variable of the environment that stands over a key."""
    return ENVIRONMENT_PREFIX + key.field_name.upper()


_BY_SCRAM = "the bridge's own user does not log in so: give it SCRAM-SHA-512; clients that do pass through as they are"
_OTHER_CHOICES = (
    ("SCRAM-SHA-512", ("gssapi", "kerberos", "aws_msk_iam", "external"), _BY_SCRAM),
    ("SCRAM-SHA-512", ("scram", "scram-sha"), "say which of the two: write `SCRAM-SHA-512` or `SCRAM-SHA-256`"),
    ("TLSv1.2", ("tlsv1", "tlsv1.0", "tlsv1.1", "sslv3"), "nothing that old is spoken: write `TLSv1.2`"),
    ("required", ("v1", "v2", "proxy", "always"), "version 2 alone is read: write `required`, or `optional`"),
)
"""What people write that know other programs: a choice by which the key is known, what is written, what to do."""


def cause_of_choice(choices: Iterable[str], text: str) -> str:
    """Which choice was perhaps meant."""
    by_small = {choice.lower(): choice for choice in choices}
    for choice, others, cause in _OTHER_CHOICES:
        if choice in by_small.values() and text.lower() in others:
            return cause
    near = get_close_matches(text.lower(), by_small, n=1, cutoff=NEARNESS)
    return f"perhaps it is misspelt: write `{by_small[near[0]]}`" if near else ""


_WHOLE_ADDRESSES = {
    "admin": "admin.listen",
    "admin.listen": "admin.listen",
    "bootstrap": "bootstrap",
    "listen": "listen",
}
_PART_OF_ADDRESSES = re.compile("add?r(?:ess?(?:es)?)?|bind|hosts?|port")


def cause_of_name(name: str, known: Collection[str]) -> str:
    """Which of the known keys was perhaps meant by one that there is not."""
    small = name.lower().replace("_", ".").replace("-", ".")
    if small in _RULE_WORDS:
        return f"rules of groups are a list under `{RULES}`: write that"
    if small in {"tls", "tls.cert", "tls.key"} or small.startswith("tls."):
        return (
            "each side has keys of its own: `listen.tls.…` for clients, `upstream.tls` and `upstream.tls.…` for brokers"
        )
    if name.startswith(ENVIRONMENT_PREFIX):
        return _cause_of_variable_in_file(name, known)
    stem, _, last = small.rpartition(".")
    if stem in _WHOLE_ADDRESSES and _PART_OF_ADDRESSES.fullmatch(last):
        return f"an address is written whole: write `{_WHOLE_ADDRESSES[stem]}: HOST:PORT`"
    same = [one for one in known if one.replace("-", ".") == small]
    near = same or get_close_matches(name, known, n=1, cutoff=NEARNESS)
    foreign = max((one for one in FOREIGN_KEYS if small.startswith(one)), key=len, default="")
    if foreign and not same:
        named = " and ".join(f"`{one}`" for one in FOREIGN_KEYS[foreign])
        return f"it is a name of Kafka's own: here that is {named}"
    if near:
        return f"perhaps it is misspelt: write `{near[0]}`"
    return "no key is spelt like it: look for it in docs/reference/configuration.md, or take it out"


def _cause_of_variable_in_file(name: str, known: Iterable[str]) -> str:
    meant = next((one for one in known if ENVIRONMENT_PREFIX + re.sub("[.-]", "_", one).upper() == name), None)
    keys = f"write `{meant}`" if meant else "look for the key in docs/reference/configuration.md"
    return f"that is the name of a variable of the environment: in a file {keys}"


_OF_KUBERNETES = re.compile(
    r"(_SERVICE_HOST|_SERVICE_PORT(_\w+)?|_PORT_\d+_(TCP|UDP|SCTP)(_PROTO|_PORT|_ADDR)?)|(_PORT)(?==(tcp|udp|sctp)://)"
)


def is_of_kubernetes(name: str, value: str) -> bool:
    """Whether a variable is one that Kubernetes sets in each pod for a Service whose name begins like our variables.

    EPOCHBRIDGE_LISTEN_PORT=9192 is somebody's mistake: where it ends so, Kubernetes writes a URL.
    """
    pair = f"{name}={value}"
    return any(found.end() == len(name) for found in _OF_KUBERNETES.finditer(pair))


_RULES_ELSEWHERE = (
    "rules of groups have no variable: write them in the file, or give --embedded or --upstream; unset it"
)
_OTHERS: Mapping[str, str] = {
    **dict.fromkeys(("GROUPS", "RULES", "EMBEDDED", "UPSTREAM"), _RULES_ELSEWHERE),
    **dict.fromkeys(("CONFIG", "CONFIG_FILE", "CONFIG_PATH"), "name the file by --config FILE, and unset this one"),
    "BOOTSTRAP_SERVERS": "it is a name of Kafka's own: set EPOCHBRIDGE_BOOTSTRAP, and unset this one",
    "UPSTREAM_SASL_PASSWORD": (
        "name this variable in upstream.sasl.password.variable, under a name that does not begin with EPOCHBRIDGE_; or "
        "set EPOCHBRIDGE_UPSTREAM_SASL_PASSWORD_PATH to a file that holds the password; unset this one"
    ),
    "ADMIN_TOKEN": "set EPOCHBRIDGE_ADMIN_TOKEN_PATH to a file that holds the token, and unset this one",
}
"""Variables that somebody may think of, without the prefix, and what there is in their place."""


def cause_of_variable(name: str, known: Collection[str], prefix: str) -> str:
    """Which variable was perhaps meant by one that nothing reads; all of them begin with `prefix`."""
    rest = name.upper().removeprefix(prefix).strip("_")
    if rest in _OTHERS:
        return _OTHERS[rest]
    # Compared without the prefix, by which any two would be alike.
    rests = {one.removeprefix(prefix): one for one in known}
    near = get_close_matches(rest, rests, n=1, cutoff=NEARNESS)
    if near:
        return f"perhaps it is misspelt: set {rests[near[0]]}, and unset this one"
    return "nothing reads it: unset it, or take the name of a key in capitals with _ for dots and hyphens"
