"""What a census costs: a thousand groups of two members that pass, each with commits, asked of a broker and shown.

It must not know how the bridge asks or hears.
"""

import json
import socket
import time
from pathlib import Path

import httpx

from bridge.demo.services import free_place
from bridge.wire.apis import ApiKey
from bridge.wire.codec.registry import encode_request
from bridge.wire.frames import LENGTH_BYTES
from tests.benchmarks.bridge_child import bridge_words
from tests.benchmarks.broker import SMALL_TOPIC, BenchBroker, make_topics
from tests.benchmarks.classic_client import ClassicClient
from tests.benchmarks.figures import Figure, Target, middle, spread
from tests.benchmarks.fleet import Fleet
from tests.benchmarks.processes import BenchmarkError, command
from translators.dialects.ids import GroupId, TopicName
from translators.dialects.offsets import OffsetCommit, PartitionCommit, TopicCommit

GROUPS, MEMBERS, PARTITIONS = 1_000, 2, 4
ROUNDS = 5
INTERVAL_S = 3.0
SETTLED_TIMEOUT_S = 180.0
COMMIT_VERSION = 7
PAGE_TIMEOUT_S = 60.0
A_SECOND = Target(bound=1.0)


def measure_census(broker: BenchBroker, directory: Path) -> list[Figure]:
    """The page of all groups, time after time, as a program that asks for it feels it."""
    make_topics(broker, SMALL_TOPIC)
    place = free_place()
    host, _, port = place.listen.rpartition(":")
    with command(bridge_words(broker.bootstrap, place, ()), directory, {}) as bridge:
        fleet = Fleet((host, int(port)), interval_s=INTERVAL_S)
        fleet.add(
            [
                ClassicClient(f"census-{group:04}", SMALL_TOPIC, f"m-{group}-{one}", cooperative=False, partitions=4)
                for group in range(GROUPS)
                for one in range(MEMBERS)
            ]
        )
        fleet.settle(SETTLED_TIMEOUT_S)
        _commit((host, int(port)), fleet.clients)
        took_s: list[float] = []
        cpu_s: list[float] = []
        for _ in range(ROUNDS):
            fleet.run_for(INTERVAL_S)
            before_s, began = bridge.cpu_s(), time.monotonic()
            answer = httpx.get(f"http://{place.admin}/census", timeout=PAGE_TIMEOUT_S, trust_env=False)
            took_s.append(time.monotonic() - began)
            cpu_s.append(bridge.cpu_s() - before_s)
            _check(answer.content)
        fleet.close()
    what = f"census of {GROUPS:,} groups with {MEMBERS} members and {PARTITIONS} commits each"
    return [
        Figure(name=what, value=middle(took_s), unit="s", target=A_SECOND, note=spread(took_s)),
        Figure(name="the same: CPU of the bridge", value=middle(cpu_s), unit="s", note=spread(cpu_s)),
    ]


def _commit(address: tuple[str, int], clients: list[ClassicClient]) -> None:
    """One member of each group commits all its partitions, in its generation."""
    with socket.create_connection(address) as sock, sock.makefile("rb") as answers:
        for group, client in enumerate(clients[::MEMBERS]):
            generation, member_id = client.identity
            partitions = tuple(PartitionCommit(partition=number, offset=0) for number in range(PARTITIONS))
            request = OffsetCommit(
                group_id=GroupId(f"census-{group:04}"),
                generation=generation,
                member_id=member_id,
                instance_id=None,
                topics=(TopicCommit(name=TopicName(SMALL_TOPIC), partitions=partitions),),
            )
            sock.sendall(encode_request(ApiKey.OFFSET_COMMIT, COMMIT_VERSION, group, "bench", request))
            size = int.from_bytes(answers.read(LENGTH_BYTES), "big")
            answers.read(size)


def _check(page: bytes) -> None:
    """A census that leaves something out is quick."""
    document = json.loads(page)
    whole = [
        group
        for group in document["groups"]
        if len(group["members"]) == MEMBERS and (group["committed"], group["lag"]) == (PARTITIONS, 0)
    ]
    if len(whole) < GROUPS or document["unseen"]:
        raise BenchmarkError(f"{len(whole)} of {GROUPS} groups are whole; not seen: {document['unseen']}")
