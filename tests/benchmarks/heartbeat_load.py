"""The heartbeat load as a program of its own: it joins members, then beats as its standard input says.

It must not know what it is measured against; arguments: HOST:PORT, members, topic, group ("" beats without joining),
`classic` or `native`, and where they log in (PLAIN) name and password.
Commands, one a line: `fast SECONDS`, `steady INTERVAL_S SECONDS`; each is answered with one line of JSON.
"""

import json
import sys
from collections.abc import Sequence
from dataclasses import asdict

from bridge.wire.apis import ApiKey
from bridge.wire.codec.registry import encode_request
from bridge.wire.sasl import (
    FIRST_WITH_LIFETIME,
    Credentials,
    Mechanism,
    authenticate_request,
    handshake_request,
    plain_token,
)
from tests.benchmarks.beats import CLASSIC_ANSWER_BYTES, Beating, Beats
from tests.benchmarks.classic_client import HEARTBEAT_VERSION, ClassicClient
from tests.benchmarks.fleet import Fleet
from tests.benchmarks.native_client import ANSWER_BYTES as NATIVE_ANSWER_BYTES
from tests.benchmarks.native_client import NativeClient
from translators.dialects.classic import Heartbeat
from translators.dialects.ids import GroupId, MemberId

JOIN_TIMEOUT_S = 120.0
INTERVAL_S = 3.0
CALM_S = 16.0
"""A consumer group of 1,000 at Kafka 4.3.1 gets its first partitions with its members' third heartbeats, 5 s apart, and
may be dealt out anew by the next.
"""
SESSION_MS = 300_000
"""On a busy machine another bridge may take a minute to be ready, while these are silent."""
STRANGER = Heartbeat(GroupId("beats"), 1, MemberId("A" * 22), None)


def main(arguments: Sequence[str]) -> None:
    """Connect, join, say `ready`, obey."""
    address, members, topic, group, protocol, *login = arguments
    host, _, port = address.rpartition(":")
    fleet = Fleet((host, int(port)), interval_s=INTERVAL_S, login=_login(login))
    names = [f"member-{number:05}" for number in range(int(members))]
    clients = [
        NativeClient(group, topic, name)
        if protocol == "native"
        else ClassicClient(group, topic, name, cooperative=True)
        for name in names
    ]
    for client in clients:
        client.session_ms = SESSION_MS
    if group:
        fleet.add(clients)
        fleet.settle(JOIN_TIMEOUT_S, CALM_S)
    else:
        fleet.connect(clients)
    stranger = encode_request(ApiKey.HEARTBEAT, HEARTBEAT_VERSION, 3, "member-0", STRANGER)
    answer_bytes = NATIVE_ANSWER_BYTES if protocol == "native" else CLASSIC_ANSWER_BYTES
    beats = Beats([line.socket for line in fleet.lines], [client.beat or stranger for client in clients], answer_bytes)
    print("ready", flush=True)
    for line in sys.stdin:
        print(json.dumps(asdict(_obey(beats, line.split()))), flush=True)


def _login(words: Sequence[str]) -> tuple[bytes, ...]:
    if not words:
        return ()
    name, password = words
    token = plain_token(Credentials(mechanism=Mechanism.PLAIN, username=name, password=password))
    return handshake_request(Mechanism.PLAIN, "bench"), authenticate_request(token, "bench", FIRST_WITH_LIFETIME)


def _obey(beats: Beats, words: Sequence[str]) -> Beating:
    match words:
        case ["fast", seconds]:
            return beats.as_fast_as_answered(float(seconds))
        case ["steady", interval_s, seconds]:
            return beats.steadily(float(interval_s), float(seconds))
        case _:
            raise SystemExit(f"unknown command {words}: fast SECONDS, or steady INTERVAL_S SECONDS")


if __name__ == "__main__":
    main(sys.argv[1:])
