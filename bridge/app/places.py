"""Hosts, folders and URLs of a configuration judged as far as that can be done without a socket."""

import ipaddress
import re
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path
from urllib.parse import urlsplit

from bridge.app.settings import BROKER_KEYS, OFF, parse_address, parse_port
from bridge.config.causes import PORT_MAX, is_address, is_host
from bridge.config.configuration import Config
from bridge.config.faults import ConfigError, Fault, FaultCode, fault_of
from bridge.config.keys import KEYS, Settings
from bridge.config.named_files import is_for_a_shell
from bridge.config.secrets import without_login
from bridge.journal.refusals import JournalForeign
from bridge.journal.sqlite_file import refuse_strangers
from bridge.migration.route import Road

ADVERTISED = "advertised.host"
PORTS = "listen.ports"
ONE_EACH = "a port of its own for each broker"
_NOT_IN_HOSTS = frozenset(",;/@[] \t")
_LIKE_AN_ADDRESS = re.compile(r"[0-9]+(\.[0-9]+){3}")
_TOPIC_NAME = re.compile(r"[A-Za-z0-9._-]{1,249}")
_OF_BROKERS = frozenset(
    {"__cluster_metadata", "__consumer_offsets", "__remote_log_metadata", "__share_group_state", "__transaction_state"}
)
"""Kafka's internal topics."""


def judge_advertised_host(settings: Settings) -> None:
    """Raises ConfigError for what no client can connect to."""
    host = settings.advertised_host
    listened = parse_address("listen", settings.listen).host
    if not host and _is_wildcard(listened):
        hint = "clients would be told to connect to it, each to itself: give the name that they reach this machine by"
        raise _refuse(ADVERTISED, f"nothing is given, and listen is {settings.listen!r}", hint, FaultCode.MISSING)
    if not host:
        return
    if "://" in host:
        raise _refuse(ADVERTISED, _shown(host), "it begins with a scheme, as a URL does: write the host alone")
    bare, colon, port = host.rpartition(":")
    if colon and port.isdecimal() and ":" not in bare.strip("[]"):
        hint = f"a port is in it, and each broker has one of its own: write {without_login(bare)!r}; ports are those of"
        raise _refuse(ADVERTISED, _shown(host), f"{hint} `listen` and `listen.ports`")
    if _is_wildcard(host):
        hint = "it stands for all addresses of a machine, so each client would ask itself: give a name or one address"
        raise _refuse(ADVERTISED, _shown(host), hint)
    if "*" in host:
        hint = "a star stands for many hosts, and clients are told one: write that; brokers' are in listen.sni.pattern"
        raise _refuse(ADVERTISED, _shown(host), hint)
    if _NOT_IN_HOSTS.intersection(host) or (":" in host and not is_address(host)):
        raise _refuse(
            ADVERTISED, _shown(host), "it is no name and no address: write one host, without brackets or login"
        )
    if not is_address(host) and not is_host(host):
        hint = "nobody can look it up: dots part words of 1 to 63 letters, digits and hyphens; write one such name"
        raise _refuse(ADVERTISED, _shown(host), hint)
    if _LIKE_AN_ADDRESS.fullmatch(host) and not is_address(host):
        raise _refuse(ADVERTISED, _shown(host), "it looks like an address and is none: each number is from 0 to 255")


def judge_bootstrap(settings: Settings) -> None:
    """Raises ConfigError where the bridge would be its own broker."""
    listen = parse_address("listen", settings.listen)
    own = [(port, listen.host, f"broker {node} in `{PORTS}`") for node, port in map(parse_port, settings.listen_ports)]
    if settings.admin_listen != OFF:
        admin = parse_address("admin.listen", settings.admin_listen)
        # Which may have one port with another, each at a host of its own.
        own.append((admin.port, admin.host, "`admin.listen`"))
    own.append((listen.port, listen.host, "`listen`"))
    for text in settings.bootstrap:
        broker = parse_address("bootstrap", text)
        found = (name for port, host, name in own if port == broker.port and _is_asked_by_itself(broker.host, host))
        whose = next(found, None)
        if whose is not None:
            hint = "the bridge would ask itself for the cluster: give the brokers' own, and clients that of `listen`"
            seen = f"{without_login(text)!r} is the address of {whose}"
            raise _refuse("bootstrap", seen, hint, FaultCode.CONTRADICTION, "HOST:PORT of a broker")


def judge_doubles(settings: Settings) -> None:
    """Raises ConfigError where a list has one entry twice: most likely another one was meant."""
    faults: list[Fault] = []
    for key in KEYS.values():
        value = getattr(settings, key.field_name)
        # A broker that has two ports is told of there.
        if not isinstance(value, tuple) or key.name == PORTS:
            continue
        counts = Counter(entry.lower() if key.name in BROKER_KEYS else entry for entry in value)
        for entry in (entry for entry, count in counts.items() if count > 1):
            seen = "one value" if key.is_secret else repr(without_login(entry))
            hint = "take one of both out, or write the one that was meant"
            faults += [_fault(key.name, f"{seen} is given twice", hint, FaultCode.CONTRADICTION, "each once")]
    if faults:
        raise ConfigError(faults)


def judge_event_topic(settings: Settings) -> None:
    """Raises ConfigError for what is no name of a topic."""
    topic = settings.events_topic
    if topic and (topic in {".", ".."} or not _TOPIC_NAME.fullmatch(topic)):
        hint = "brokers know no such name: write letters, digits, dots, hyphens and underscores, as in my-events"
        raise _refuse("events.topic", f"{topic!r} is none", hint, allowed="a name of a topic")
    if topic in _OF_BROKERS:
        hint = "brokers keep offsets, transactions and their state there, and nobody else writes to it: name another"
        raise _refuse("events.topic", f"{topic!r} is the brokers' own", hint, allowed="a name of a topic")


def judge_admin(settings: Settings) -> None:
    """Raises ConfigError where the admin API would want the clients' own port."""
    if settings.admin_listen == OFF:
        return
    admin, listen = parse_address("admin.listen", settings.admin_listen), parse_address("listen", settings.listen)
    if admin.port and admin.port == listen.port and _share_ports(admin.host, listen.host):
        hint = "one port serves one of them: give admin.listen another one, or `off`"
        seen = f"{settings.admin_listen!r} is the port of `listen`"
        raise _refuse("admin.listen", seen, hint, FaultCode.CONTRADICTION, "a port of its own")


def judge_ports(settings: Settings) -> None:
    """Raises ConfigError where one port would stand for two, as far as that shows before brokers are known."""
    listen, admin = parse_address("listen", settings.listen), settings.admin_listen
    holders = {listen.port: "`listen`"} if listen.port else {}
    if admin != OFF:
        host, port = parse_address("admin.listen", admin)
        if port and _share_ports(host, listen.host):
            holders.setdefault(port, "`admin.listen`")
    given: set[int] = set()
    faults: list[Fault] = []
    for node_id, port in map(parse_port, settings.listen_ports):
        if node_id in given:
            hint = f"clients are told one port for a broker: name {node_id} once"
            faults += [_fault(PORTS, f"broker {node_id} has two ports", hint, FaultCode.CONTRADICTION, ONE_EACH)]
        elif port in holders:
            seen, hint = f"{node_id}={port} is the port of {holders[port]}", "give one of both another port"
            faults += [_fault(PORTS, seen, hint, FaultCode.CONTRADICTION, ONE_EACH)]
        given.add(node_id)
        holders.setdefault(port, f"broker {node_id}")
    # `listen.ports.first` may be anybody's port: where brokers count from 1, nobody has it. A broker 0 that does come
    # is told of then (EB-NET-150).
    if faults:
        raise ConfigError(faults)


def judge_collector(settings: Settings) -> None:
    """Raises ConfigError for a collector that is named by no URL."""
    endpoint = settings.otel_endpoint
    if not endpoint:
        return
    try:
        parts = urlsplit(endpoint)
        is_url = parts.scheme in {"http", "https"} and is_host(parts.hostname or "") and (parts.port or 1) <= PORT_MAX
    except ValueError:
        is_url = False
    if not is_url:
        port = "4317" if settings.otel_protocol == "grpc" else "4318"
        hint = f"the scheme is missing or another one: write it in front, as in `http://127.0.0.1:{port}`"
        if endpoint.startswith(("http://", "https://")):
            hint = f"its host is missing, or its port is none: write both, as in `http://127.0.0.1:{port}`"
        raise _refuse("otel.endpoint", _shown(endpoint), hint, allowed="a URL that begins with http:// or https://")


def judge_folders(config: Config) -> None:
    """Raises ConfigError where what has to be written can't be: the journal's folder, and that of events."""
    settings = config.settings
    faults: list[Fault] = []
    for find in (partial(_journal_faults, config), partial(_event_faults, settings)):
        # Who checks a file need not be whom the bridge runs as, who alone may look into its folders.
        with suppress(PermissionError):
            faults += find()
    if faults:
        raise ConfigError(faults)


def place_judges(config: Config) -> Iterator[Callable[[], None]]:
    """All that need no file system: whoever starts the bridge is told of these before anything else."""
    for judge in _JUDGES:
        yield _bind(judge, config.settings)


_JUDGES = (
    judge_bootstrap,
    judge_doubles,
    judge_advertised_host,
    judge_admin,
    judge_ports,
    judge_collector,
    judge_event_topic,
)


def _bind(judge: Callable[[Settings], None], settings: Settings) -> Callable[[], None]:
    return lambda: judge(settings)


def _journal_faults(config: Config) -> Iterator[Fault]:
    path = Path(config.settings.journal_path)
    is_written = any(rule.road is not Road.PASS for rule in config.rules)
    if config.settings.journal != "sqlite" or not config.settings.journal_path or not is_written:
        return
    allowed = "a file in a folder that exists"
    if path.is_dir():
        seen, hint = f"{path} is a folder", f"name a file in it, as in {path / 'journal.db'}"
        yield _fault("journal.path", seen, hint, allowed=allowed)
    elif path.exists() and not path.is_file():
        yield _fault("journal.path", f"{path} is a pipe, a socket or a device", "name a file", allowed=allowed)
    elif not path.parent.is_dir():
        seen = f"the folder of {str(path)!r} is not there"
        hint = f"make it: mkdir -p {path.parent}, or mend the path"
        if is_for_a_shell(str(path)):
            hint = "only a shell knows what ~ and $ stand for: write the whole path"
        elif ":" in path.parts[0]:
            hint = f"it is a path, not a URL: write it without the {path.parts[0]}// in front"
        yield _fault("journal.path", seen, hint, allowed=allowed)
    else:
        try:
            refuse_strangers(path)
        except JournalForeign as problem:
            seen, _, hint = str(problem).partition("; ")
            yield _fault("journal.path", seen, hint, allowed=allowed)


def _event_faults(settings: Settings) -> Iterator[Fault]:
    path = Path(settings.events_path)
    if settings.events_path and path.exists() and not path.is_dir():
        yield _fault("events.path", f"{path} is a file", "name a folder, which is made if need be", allowed="a folder")


def _share_ports(one: str, other: str) -> bool:
    """Whether a port of the one host is a port of the other, too."""
    one, other = _known_by_address(one), _known_by_address(other)
    return one == other or _is_wildcard(one) or _is_wildcard(other)


def _known_by_address(host: str) -> str:
    """What is listened at for a host of this machine that has two names."""
    return "127.0.0.1" if host.lower() == "localhost" else host.lower()


def _is_asked_by_itself(host: str, listened: str) -> bool:
    """Whether who asks this host on this machine comes to who listens at the other."""
    asked, own = map(_known_by_address, (host, listened))
    return asked == own or (_is_wildcard(own) and (_is_wildcard(asked) or _is_loopback(asked)))


def _is_loopback(host: str) -> bool:
    return is_address(host) and ipaddress.ip_address(host).is_loopback


def _is_wildcard(host: str) -> bool:
    try:
        return host == "*" or ipaddress.ip_address(host).is_unspecified
    except ValueError:
        return False


def _shown(text: str) -> str:
    return f"{without_login(text)!r} is none"


def _refuse(
    key: str,
    seen: str,
    hint: str,
    code: FaultCode = FaultCode.WRONG_KIND,
    allowed: str = "a host",
) -> ConfigError:
    return ConfigError([_fault(key, seen, hint, code, allowed)])


def _fault(
    key: str,
    seen: str,
    hint: str,
    code: FaultCode = FaultCode.WRONG_KIND,
    allowed: str = "a host",
) -> Fault:
    return fault_of(key, seen, allowed, code, hint)
