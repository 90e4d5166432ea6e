"""What was read of a JoinGroup counts as what it takes, until it is decided."""

from collections.abc import Iterable

import pytest
import trio

from bridge.net.proxy import Proxy
from bridge.net.shared import InFlight
from bridge.session.limits import READ_ELEMENT_BYTES, Limits
from bridge.wire.apis import ApiKey
from bridge.wire.codec.registry import encode_request
from tests.support.front import Front, front_of
from tests.support.scripted_broker import request
from tests.unit.bridge.net.shared.test_in_flight import until
from tests.unit.bridge.net.test_client_rights import MEMBER, OURS, SEEN, UNSEEN, JudgingBroker, settle
from translators.dialects.classic import JoinGroup, Protocol
from translators.dialects.consumer_protocol import Subscription, encode_subscription
from translators.dialects.ids import TopicName, TopicPartition

LIMIT = 4 * 1024 * 1024
FEW, MANY = 2_000, 20_000
"""Partitions that a member says it has: read where it is served, and beside."""


def join(correlation_id: int, partitions: int, topics: Iterable[TopicName] = (SEEN,)) -> bytes:
    """A JoinGroup v5 of who has so many partitions."""
    owned = frozenset(TopicPartition(SEEN, number) for number in range(partitions))
    blob = encode_subscription(Subscription(version=1, topics=tuple(topics), owned=owned))
    message = JoinGroup(
        group_id=OURS,
        member_id=MEMBER,
        instance_id=None,
        protocol_type="consumer",
        protocols=(Protocol("range", blob), Protocol("cooperative-sticky", blob)),
        session_timeout_ms=10_000,
        rebalance_timeout_ms=10_000,
    )
    return encode_request(ApiKey.JOIN_GROUP, 5, correlation_id, "client", message)


def held(proxy: Proxy) -> int:
    """What all connections are said to hold."""
    return proxy.statistics().bytes_held


async def send_beyond_limit(front: Front, nursery: trio.Nursery, frame: bytes, count: int) -> None:
    """So many clients send a frame at once; until more is held than may be."""
    clients = [await front.dial() for _ in range(count)]
    for client in clients:
        await client.send(request(ApiKey.API_VERSIONS, 0, 1))
        assert (await client.answer())[0] == 1
    for client in clients:
        nursery.start_soon(client.send, frame)
    with trio.fail_after(60):
        await until(lambda: held(front.proxy) > LIMIT)


async def decide_all(front: Front, count: int) -> None:
    """Decide each JoinGroup as it comes in, until so many have."""
    decided = 0
    with trio.fail_after(60):
        while decided < count:
            for _, submitted, _, _ in front.groups.submitted[decided:]:
                assert isinstance(submitted, JoinGroup)
                submitted.forget()
                decided += 1
            await trio.sleep(0.01)


@pytest.mark.parametrize("partitions", [FEW, MANY])
async def test_what_was_read_counts_until_it_is_decided(partitions: int) -> None:
    """While a broker is asked for the right, while the group's owner has other things to do, and no moment longer: its
    answer may wait for minutes.
    """
    broker, frame, read_bytes = JudgingBroker(), join(1, partitions), READ_ELEMENT_BYTES * (partitions + 1)
    broker.gate = trio.Event()
    async with front_of(broker) as front:
        client = await front.dial()
        await client.send(frame)
        with trio.fail_after(60):
            await until(lambda: bool(broker.questions))
        assert held(front.proxy) == len(frame) + read_bytes
        broker.gate.set()
        await settle()
        (_, submitted, _, _) = front.groups.submitted[0]
        assert isinstance(submitted, JoinGroup)
        assert held(front.proxy) == len(frame) + read_bytes
        submitted.forget()
        assert held(front.proxy) == len(frame)


async def test_what_goes_on_in_its_place_counts_alone() -> None:
    """A member is not told of topics that it may not see: what it said itself is forgotten then."""
    broker, frame = JudgingBroker(unseen=(UNSEEN,)), join(1, FEW, (SEEN, UNSEEN))
    async with front_of(broker) as front:
        client = await front.dial()
        await client.send(frame)
        await settle()
        (_, submitted, _, _) = front.groups.submitted[0]
        assert isinstance(submitted, JoinGroup)
        assert held(front.proxy) == len(frame) + READ_ELEMENT_BYTES * (FEW + 1)
        submitted.forget()
        assert held(front.proxy) == len(frame)


async def test_joins_that_wait_for_a_right_make_others_wait_for_room() -> None:
    """A hundred JoinGroups of 16 kB that a broker said nothing about counted 2 MB, and took 25 once they were read.

    Small requests are answered all the while, and all comes in once the broker has spoken.
    """
    broker, count = JudgingBroker(), 40
    broker.gate = trio.Event()
    async with front_of(broker, Limits(all_inflight_bytes_max=LIMIT)) as front, trio.open_nursery() as nursery:
        frame = join(1, FEW)
        await send_beyond_limit(front, nursery, frame, count)
        asking = await front.dial()
        await asking.send(request(ApiKey.API_VERSIONS, 0, 1))
        assert (await asking.answer())[0] == 1
        assert held(front.proxy) < LIMIT + count * len(frame) + 2 * READ_ELEMENT_BYTES * FEW
        broker.gate.set()
        await decide_all(front, count)
        assert held(front.proxy) <= count * len(frame)


async def test_large_joins_that_come_at_once_are_read_as_there_is_room(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each waited for the thread that reads, and none looked again at what those before it took: 256 of 1 MB, which is
    what may be held, became 10 GB. Whole ones that wait to be read count, too: nobody had them until then.
    """
    peak, note = 0, InFlight.note

    def watch(ledger: InFlight, connection: int, held_bytes: int, collected_bytes: int) -> None:
        nonlocal peak
        note(ledger, connection, held_bytes, collected_bytes)
        peak = max(peak, ledger.total_bytes)

    monkeypatch.setattr(InFlight, "note", watch)
    broker, count, read_bytes = JudgingBroker(), 12, READ_ELEMENT_BYTES * (MANY + 1)
    broker.gate = trio.Event()
    async with front_of(broker, Limits(all_inflight_bytes_max=LIMIT)) as front, trio.open_nursery() as nursery:
        frame = join(1, MANY)
        await send_beyond_limit(front, nursery, frame, count)
        # All that were let in have been read by then, one after the other, on any machine that is not very busy.
        await trio.sleep(1)
        assert peak < LIMIT + count * len(frame) + 2 * read_bytes
        broker.gate.set()
        await decide_all(front, count)
        assert peak < LIMIT + count * len(frame) + 2 * read_bytes
        assert held(front.proxy) <= count * len(frame)
