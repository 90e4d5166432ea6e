"""Law of all that reads what a stranger sends: twice the bytes cost at most about twice the work.

A request header of 4 kB of tags whose first bytes came ahead once cost 1.75 s, one of 60 kB minutes, for everybody.
"""

import importlib
import inspect
import pkgutil
from collections.abc import Callable, Iterator
from functools import partial
from struct import pack

import pytest

import bridge.wire
import bridge.wire.codec
from bridge.session.broker_answers import AnswerCutter, Expected
from bridge.session.limits import Limits
from bridge.session.outbox import Slot
from bridge.session.requests import RequestCutter
from bridge.wire.api_versions import read_api_versions, read_client_software
from bridge.wire.apis import ApiKey, is_flexible, request_header_version, response_header_version
from bridge.wire.codec.primitives import compact_size_bytes
from bridge.wire.codec.registry import (
    READABLE,
    SUPPORTED,
    body_bytes,
    decode_reply,
    decode_request,
    read_reply_fields,
    read_request_fields,
)
from bridge.wire.codec.schema import Direction, load_message
from bridge.wire.endpoints import brokers_in, rewrite
from bridge.wire.fetch import expects_answer, read_fetch, size_end, with_max_bytes
from bridge.wire.frames import RequestHeader, read_request_header, read_response_header, request_frame, response_frame
from bridge.wire.group_names import group_of, groups_in_settings, is_let_in
from bridge.wire.heartbeat import read_heartbeat
from bridge.wire.metadata import read_metadata, read_topic_errors
from bridge.wire.own_questions import (
    DESCRIBE_CONFIGS_VERSION,
    DESCRIBE_QUORUM_VERSION,
    LIST_OFFSETS_VERSION,
    read_broker_settings,
    read_controller_time,
    read_end_offsets,
)
from bridge.wire.sasl import (
    Credentials,
    Mechanism,
    is_refused,
    read_answer_token,
    read_authenticate,
    read_handshake,
    read_lifetime_ms,
    read_mechanism,
    read_step,
    read_token,
    read_username,
)
from bridge.wire.scram import Proof, check_server, prove
from tests.support.grown_messages import Grown, array_paths, tags
from tests.support.work_done import growth_faults, work_of
from translators.dialects.consumer_protocol import (
    Subscription,
    decode_assignment,
    decode_sticky_user_data,
    decode_subscription,
    encode_assignment,
    encode_subscription,
)
from translators.dialects.ids import RequestRef, TopicName, TopicPartition

SIZES = (30, 60, 120)
"""Elements of an array, tags of a section: far enough apart that a square shows."""
Make = Callable[[int], Callable[[], object]]
"""A reading of an input that grows with a number."""

WRITERS = {"response_frame", "request_frame", "authenticate_answer"}
BELOW = {
    "read_place", "replace", "locate_node_endpoints",  # by brokers_in and rewrite
    "allow", "part_of", "fault_of_cut",  # by decode_request
    "read_uvarint", "read_compact_size", "read_int16_size", "read_int32_size",  # one value each
    "compile_reader", "compile_writer",  # of a schema, which is ours
    "read_prefix",  # sixteen bytes, whatever comes behind
}  # fmt: skip
"""Functions that have bytes in hand and are walked through by others."""


# ---------------------------------------------------------------- messages by their schemas


def messages() -> Iterator[tuple[int, int, Direction]]:
    """The lowest and the highest version of everything that is read by schema: often plain and compact form."""
    for api_key, (first, last) in READABLE.items():
        for version in sorted({first, last}):
            for direction in Direction:
                yield api_key, version, direction


def reading(api_key: int, version: int, direction: Direction) -> Callable[[bytes], object]:
    """How a body is read: as far as anything of ours reads it."""
    is_known = api_key in SUPPORTED and SUPPORTED[api_key][0] <= version <= SUPPORTED[api_key][1]
    if direction is Direction.REQUEST:
        if is_known:
            return lambda body: decode_request(api_key, version, body, 0, 100_000)
        return partial(read_request_fields, api_key, version)
    header = bytes(4) + (b"\x00" if response_header_version(api_key, version) else b"")
    if is_known:
        return lambda body: decode_reply(api_key, version, header + body)
    return lambda body: read_reply_fields(api_key, version, header + body)


@pytest.mark.parametrize(("api_key", "version", "direction"), list(messages()))
def test_a_message_costs_what_its_arrays_and_tags_have(api_key: int, version: int, direction: Direction) -> None:
    """Every array of every message, flat or nested, with equal and with different elements; and tags nobody knows."""
    fields = load_message(api_key, direction).fields
    read = reading(api_key, version, direction)
    faults = []
    for path in array_paths(fields, version):
        for alike in (False, True):
            bodies = [Grown(version, size, alike).body(api_key, direction, path) for size in SIZES]
            read(bodies[0])
            found = growth_faults([partial(read, body) for body in bodies])
            faults += [f"{'.'.join(path)}, alike {alike}: {fault}" for fault in found]
    if is_flexible(api_key, version):
        untagged = {field.name: field.default for field in fields if version in field.tagged}
        least = Grown(version, 1).fields(fields, ()) | untagged
        plain = bytes(body_bytes(api_key, version, direction, least))
        tagged = [plain[:-1] + tags(size) for size in SIZES]
        faults += growth_faults([partial(read, body) for body in tagged])
    assert not faults, "\n".join(faults)


# ---------------------------------------------------------------- readers by hand

NOBODY = Credentials(mechanism=Mechanism.SCRAM_SHA_256, username="u", password="p")
PROOF = Proof(b"", b"signature")
FEATURE = b"\x02\x7f" + b"f" * 126 + bytes(5)
"""What the tag of supported features holds: one with a long name."""


def answer(api_key: int, version: int, path: tuple[str, ...], size: int) -> bytes:
    """A broker's answer as a frame, by its schema."""
    return response_frame(api_key, version, 1, Grown(version, size).body(api_key, Direction.RESPONSE, path))


def produced(size: int, *, tagged: bool) -> bytes:
    """A Produce v10 answer: many partitions, or the endpoints' tag again and again."""
    endpoint = b"\x02" + pack(">i", 1) + b"\x02h" + pack(">i", 9) + b"\x00\x00"
    if tagged:
        return response_frame(ApiKey.PRODUCE, 10, 1, b"\x01" + bytes(4) + tags(size, 0, endpoint))
    partitions = compact_size_bytes(size) + (bytes(30) + b"\x01\x00\x00") * size
    return response_frame(ApiKey.PRODUCE, 10, 1, b"\x02\x02t" + partitions + b"\x00" + bytes(4) + tags(1, 0, endpoint))


def endpoints(size: int) -> bytes:
    """A Produce v10 answer that names many nodes."""
    nodes = b"".join(pack(">i", number) + b"\x02h" + pack(">i", 9) + b"\x00\x00" for number in range(size))
    return response_frame(ApiKey.PRODUCE, 10, 1, b"\x01" + bytes(4) + tags(1, 0, compact_size_bytes(size) + nodes))


def fetch(version: int, size: int, *, topics: bool) -> bytes:
    """A Fetch body with many partitions of one topic, or many topics."""
    partition = bytes(4) + bytes(28) + b"\x00" if version >= 12 else bytes(4) + bytes(24)
    topic_count, count = (size, 1) if topics else (1, size)
    if version >= 12:
        topic = bytes(16) + compact_size_bytes(count) + partition * count + b"\x00"
        return bytes(13) + bytes(8) + compact_size_bytes(topic_count) + topic * topic_count + b"\x01\x01\x00"
    names = (pack(">h", 6) + f"t{number:05}".encode() for number in range(topic_count))
    listed = b"".join(name + pack(">i", count) + partition * count for name in names)
    return bytes(17) + bytes(8) + pack(">i", topic_count) + listed


def new_addresses(size: int) -> dict[int, tuple[str, int]]:
    """An address for every node."""
    return {number: ("bridge", 9000 + number) for number in range(size)}


def text(size: int) -> bytes:
    """A string of the plain form."""
    return pack(">h", 4 * size) + b"text" * size


def partitions_of(size: int, *, one_topic: bool) -> frozenset[TopicPartition]:
    """Partitions of one topic, or of as many."""
    return frozenset(
        TopicPartition(TopicName("t" if one_topic else f"t{number}"), number if one_topic else 0)
        for number in range(size)
    )


def subscription(size: int, *, one_topic: bool) -> bytes:
    """The blob of a member that wants and owns much."""
    topics = tuple(TopicName(f"t{number}") for number in range(size))
    return encode_subscription(Subscription(version=1, topics=topics, owned=partitions_of(size, one_topic=one_topic)))


def heartbeat_request(size: int) -> bytes:
    """A Heartbeat v4 body with long names and many tags."""
    name = compact_size_bytes(size) + b"g" * size
    return name + bytes(4) + name + name + tags(size)


def share_fetch(size: int) -> bytes:
    """A ShareFetch v1 request with long names before its size."""
    name = compact_size_bytes(size) + b"g" * size
    body = name + name + bytes(12) + pack(">i", 1 << 30) + bytes(20)
    return request_frame(RequestHeader(0, ApiKey.SHARE_FETCH, 1, 1, "c", 0), body)


def share_heartbeat(size: int) -> bytes:
    """A ShareGroupHeartbeat v1 request of a group with a long name, and more behind it."""
    body = compact_size_bytes(size) + b"g" * size + bytes(4 * size)
    return request_frame(RequestHeader(0, ApiKey.SHARE_GROUP_HEARTBEAT, 1, 1, "c", 0), body)


def with_header(read: Callable[[RequestHeader, bytes], object], frame: bytes) -> object:
    """What is read of a frame once its header is."""
    header = read_request_header(frame)
    assert header is not None
    return read(header, frame)


def scram(size: int) -> bytes:
    """A broker's first word with attributes that nobody asked for."""
    return b"r=nonce-and-more,s=c2FsdA==,i=4096," + b"x=y," * size


def login(size: int, token: bytes) -> bytes:
    """A SaslAuthenticate v2 request with a token and many tags."""
    body = compact_size_bytes(len(token)) + token + tags(size)
    return request_frame(RequestHeader(0, ApiKey.SASL_AUTHENTICATE, 2, 1, "c", 0), body)


def handshake(size: int) -> bytes:
    """A SaslHandshake v1 request for a mechanism of a long name."""
    return request_frame(RequestHeader(0, ApiKey.SASL_HANDSHAKE, 1, 1, "c", 0), pack(">h", size) + b"m" * size)


def raw_login(mechanism: bytes) -> bytes:
    """A SaslHandshake v0 request, behind which tokens have no header."""
    body = pack(">h", len(mechanism)) + mechanism
    return request_frame(RequestHeader(0, ApiKey.SASL_HANDSHAKE, 0, 1, "c", 0), body)


def settings(size: int, *, groups: int) -> bytes:
    """A DescribeConfigs v4 request about groups that together name so many settings, or each none."""
    keys = compact_size_bytes(size if groups == 1 else 0) + (b"\x02k" * size if groups == 1 else b"")
    body = compact_size_bytes(groups) + (b"\x20\x02g" + keys + b"\x00") * groups + b"\x00\x00\x00"
    return request_frame(RequestHeader(0, ApiKey.DESCRIBE_CONFIGS, 4, 1, "c", 0), body)


def let_in(size: int) -> object:
    """What a broker answers to a heartbeat of a share group, whose header has many tags."""
    header = read_request_header(share_heartbeat(1))
    assert header is not None
    return is_let_in(header, pack(">ii", 4 + len(tags(size)) + 6, 1) + tags(size) + bytes(6))


def quorum(size: int, *, voters: bool) -> bytes:
    """A DescribeQuorum answer with many partitions, or many voters of one."""
    replica = pack(">iqqq", 1, 7, 7, 7) + b"\x00"
    partitions, replicas = (1, size) if voters else (size, 1)
    listed = compact_size_bytes(replicas) + replica * replicas
    partition = pack(">ihiiq", 0, 0, 1, 1, 7) + listed + compact_size_bytes(0) + b"\x00"
    topic = b"\x02t" + compact_size_bytes(partitions) + partition * partitions + b"\x00"
    body = bytes(2) + compact_size_bytes(1) + topic + b"\x00"
    return response_frame(ApiKey.DESCRIBE_QUORUM, DESCRIBE_QUORUM_VERSION, 1, body)


def broker_settings(size: int, *, synonyms: bool) -> bytes:
    """A DescribeConfigs answer with many settings, or many synonyms of one."""
    settings, others = (1, size) if synonyms else (size, 1)
    synonym = text(1) + text(1) + b"\x01"
    names = (pack(">h", 6) + f"s{number:05}".encode() for number in range(settings))
    listed = b"".join(name + text(1) + bytes(3) + pack(">i", others) + synonym * others for name in names)
    body = bytes(4) + pack(">i", 1) + bytes(2) + text(1) + b"\x04" + text(1) + pack(">i", settings) + listed
    return response_frame(ApiKey.DESCRIBE_CONFIGS, DESCRIBE_CONFIGS_VERSION, 1, body)


def end_offsets(size: int, *, topics: bool) -> bytes:
    """A ListOffsets answer with many topics, or many partitions of one."""
    topic_count, count = (size, 1) if topics else (1, size)
    partitions = b"".join(pack(">ihqq", number, 0, -1, 7) for number in range(count))
    names = (pack(">h", 6) + f"t{number:05}".encode() for number in range(topic_count))
    listed = b"".join(name + pack(">i", count) + partitions for name in names)
    return response_frame(ApiKey.LIST_OFFSETS, LIST_OFFSETS_VERSION, 1, pack(">i", topic_count) + listed)


BY_HAND: dict[str, Make] = {
    "read_request_header": lambda n: partial(read_request_header, headed(ApiKey.API_VERSIONS, 3, n)),
    "read_response_header": lambda n: partial(
        read_response_header, pack(">ii", 4 + len(tags(n)), 1) + tags(n), ApiKey.HEARTBEAT, 4
    ),
    "expects_answer": lambda n: partial(expects_answer, 9, compact_size_bytes(n) + b"t" * n + bytes(20)),
    "expects_answer, old": lambda n: partial(expects_answer, 7, text(n) + bytes(20)),
    "size_end": lambda n: partial(with_header, size_end, share_fetch(n)),
    "with_max_bytes": lambda n: partial(with_header, lambda h, f: with_max_bytes(h, f, 1_000), share_fetch(n)),
    "group_of": lambda n: partial(with_header, group_of, share_heartbeat(n)),
    "read_client_software": lambda n: partial(read_client_software, 3, b"\x02a\x021" + tags(n), 0),
    "read_api_versions": lambda n: partial(read_api_versions, 3, answer(18, 3, ("api_keys",), n), 8),
    "read_api_versions, features": lambda n: partial(
        read_api_versions, 3, response_frame(18, 3, 1, bytes(2) + b"\x01" + bytes(4) + tags(n, 0, FEATURE)), 8
    ),
    "read_reply_fields, known tags": lambda n: partial(
        read_reply_fields, 18, 3, bytes(6) + b"\x01" + bytes(4) + tags(n, 0, FEATURE)
    ),
    "read_fetch": lambda n: partial(read_fetch, 11, fetch(11, n, topics=True), 0),
    "read_fetch, partitions": lambda n: partial(read_fetch, 11, fetch(11, n, topics=False), 0),
    "read_fetch, ids": lambda n: partial(read_fetch, 15, fetch(15, n, topics=True), 0),
    "read_heartbeat": lambda n: partial(read_heartbeat, 4, heartbeat_request(n), 0),
    "read_metadata": lambda n: partial(read_metadata, 12, answer(3, 12, ("topics",), n)),
    "read_metadata, partitions": lambda n: partial(read_metadata, 12, answer(3, 12, ("topics", "partitions"), n)),
    "read_metadata, brokers": lambda n: partial(read_metadata, 1, answer(3, 1, ("brokers",), n)),
    "brokers_in": lambda n: partial(brokers_in, ApiKey.METADATA, 12, answer(3, 12, ("brokers",), n)),
    "brokers_in, found": lambda n: partial(brokers_in, ApiKey.FIND_COORDINATOR, 4, answer(10, 4, ("coordinators",), n)),
    "brokers_in, cluster": lambda n: partial(brokers_in, ApiKey.DESCRIBE_CLUSTER, 0, answer(60, 0, ("brokers",), n)),
    "brokers_in, produced": lambda n: partial(brokers_in, ApiKey.PRODUCE, 10, produced(n, tagged=False)),
    "brokers_in, tags": lambda n: partial(brokers_in, ApiKey.PRODUCE, 10, produced(n, tagged=True)),
    "rewrite": lambda n: partial(
        rewrite, ApiKey.METADATA, 12, answer(3, 12, ("brokers",), n), lambda _: new_addresses(100)
    ),
    "rewrite, endpoints": lambda n: partial(rewrite, ApiKey.PRODUCE, 10, endpoints(n), lambda _: new_addresses(n)),
    "read_handshake": lambda n: partial(
        read_handshake, response_frame(17, 1, 1, bytes(2) + pack(">i", n) + text(2) * n)
    ),
    "is_refused": lambda n: partial(
        is_refused, response_frame(17, 1, 1, bytes(2) + pack(">i", n) + text(2) * n)
    ),
    "read_authenticate": lambda n: partial(
        read_authenticate, response_frame(36, 0, 1, bytes(2) + text(n) + pack(">i", n) + b"a" * n)
    ),
    "read_lifetime_ms": lambda n: partial(
        read_lifetime_ms, response_frame(36, 2, 1, bytes(2) + b"\x01" + compact_size_bytes(n) + b"a" * n + bytes(8)), 2
    ),
    "read_answer_token": lambda n: partial(
        read_answer_token, response_frame(36, 2, 1, bytes(2) + b"\x01" + compact_size_bytes(n) + b"a" * n + bytes(8)), 2
    ),
    "read_username": lambda n: partial(with_header, read_username, login(n, b"\0" + b"u" * n + b"\0p")),
    "read_username, SCRAM": lambda n: partial(with_header, read_username, login(n, b"n,,n=" + b"=2C" * n + b",r=x")),
    "read_username, no name": lambda n: partial(with_header, read_username, login(n, b"n=" + b"n," * n)),
    "read_mechanism": lambda n: partial(with_header, read_mechanism, handshake(n)),
    "read_token": lambda n: partial(with_header, read_token, login(n, b"t" * n)),
    "groups_in_settings": lambda n: partial(with_header, groups_in_settings, settings(n, groups=n)),
    "groups_in_settings, keys": lambda n: partial(with_header, groups_in_settings, settings(n, groups=1)),
    "is_let_in": lambda n: partial(let_in, n),
    "read_step": lambda n: partial(
        read_step, response_frame(36, 2, 1, bytes(2) + b"\x01" + compact_size_bytes(n) + b"a" * n + bytes(8)), 2
    ),
    "read_topic_errors": lambda n: partial(read_topic_errors, 12, answer(3, 12, ("topics",), n)),
    "read_controller_time": lambda n: partial(read_controller_time, quorum(n, voters=False)),
    "read_controller_time, voters": lambda n: partial(read_controller_time, quorum(n, voters=True)),
    "read_broker_settings": lambda n: partial(read_broker_settings, broker_settings(n, synonyms=False)),
    "read_broker_settings, synonyms": lambda n: partial(read_broker_settings, broker_settings(n, synonyms=True)),
    "read_end_offsets": lambda n: partial(read_end_offsets, end_offsets(n, topics=True)),
    "read_end_offsets, partitions": lambda n: partial(read_end_offsets, end_offsets(n, topics=False)),
    "prove": lambda n: partial(prove, NOBODY, "nonce", scram(n)),
    "check_server": lambda n: partial(check_server, b"v=c2lnbmF0dXJl" + b",x=y" * n, PROOF),
    "decode_subscription": lambda n: partial(decode_subscription, subscription(n, one_topic=True)),
    "decode_subscription, topics": lambda n: partial(decode_subscription, subscription(n, one_topic=False)),
    "decode_assignment": lambda n: partial(decode_assignment, encode_assignment(partitions_of(n, one_topic=False))),
    "decode_sticky_user_data": lambda n: partial(
        decode_sticky_user_data, encode_assignment(partitions_of(n, one_topic=False))[2:-4]
    ),
}  # fmt: skip
BY_SCHEMA = {
    "read_fields",
    "read_reply_fields",
    "read_request_fields",
    "decode_request",
    "decode_reply",
    "peek_group_id",
}


@pytest.mark.parametrize("name", BY_HAND)
def test_a_reader_costs_what_it_reads(name: str) -> None:
    """Those that no schema made; each on the input that gives it most to do."""
    assert not growth_faults([BY_HAND[name](size) for size in SIZES])


def test_every_reader_is_walked() -> None:
    """A new reader of bytes joins one of the tables above."""
    handles = {"frame", "data", "body", "blob", "buf", "cursor", "message", "server_first", "server_final"}
    found = set()
    for package in (bridge.wire, bridge.wire.codec):
        for module in pkgutil.iter_modules(package.__path__, package.__name__ + "."):
            for name, each in vars(importlib.import_module(module.name)).items():
                is_here = inspect.isfunction(each) and each.__module__ == module.name and not name.startswith("_")
                if is_here and handles & set(inspect.signature(each).parameters):
                    found.add(name)
    walked = {name.partition(",")[0] for name in BY_HAND} | BY_SCHEMA
    assert found - WRITERS - BELOW <= walked
    assert walked - found <= {"decode_subscription", "decode_assignment", "decode_sticky_user_data"}


# ---------------------------------------------------------------- what comes in pieces


def whole(stream: bytes) -> list[bytes]:
    """As one receive."""
    return [stream]


def halves(stream: bytes) -> list[bytes]:
    """The first bytes ahead of the rest."""
    return [stream[:9], stream[9:]]


def byte_by_byte(stream: bytes) -> list[bytes]:
    """As slowly as it goes."""
    return [stream[at : at + 1] for at in range(len(stream))]


def cut_requests(chunks: list[bytes]) -> None:
    """Everything that a connection's cutter makes of it."""
    cutter = RequestCutter(Limits(), reads_fetch=lambda: True)
    for chunk in chunks:
        view, position = memoryview(chunk), 0
        while cutter.cut(view, position) is not None:
            position = cutter.position


def cut_answers(chunks: list[bytes], held: bool) -> None:
    """Everything that the broker's side makes of it."""
    cutter = AnswerCutter(1 << 20)
    slot = Slot(RequestRef(0, 1, 1), 3, 12, 1)
    for _ in range(max(1, sum(map(len, chunks)) // 8)):
        cutter.expect(Expected(1, slot, (lambda _: None) if held else None))
    for chunk in chunks:
        view, position = memoryview(chunk), 0
        while cutter.cut(view, position) is not None:
            position = cutter.position


def headed(api_key: int, version: int, size: int) -> bytes:
    """A request with a long client id and many tags in its header, and a body."""
    client_id = "c" * size
    frame = request_frame(RequestHeader(0, api_key, version, 1, client_id, 0), b"")
    is_tagged = request_header_version(api_key, version) == 2
    after = frame[4:-1] + tags(size) if is_tagged else frame[4:]
    after += bytes(4 * size)
    return pack(">i", len(after)) + after


ARRIVING: dict[str, Callable[[int], bytes]] = {
    **{f"{key.name} v{version}": partial(headed, key, version) for key, version in (
        (ApiKey.PRODUCE, 9), (ApiKey.PRODUCE, 7), (ApiKey.FETCH, 15), (ApiKey.FETCH, 17), (ApiKey.SHARE_FETCH, 1),
        (ApiKey.METADATA, 12), (ApiKey.METADATA, 1), (ApiKey.SASL_HANDSHAKE, 1), (ApiKey.SASL_AUTHENTICATE, 2),
        *((ApiKey(key), version) for key, (_, version) in SUPPORTED.items()),
    )},
    "many requests": lambda n: request_frame(RequestHeader(0, 3, 1, 1, "c", 0), bytes(4)) * n,
    "bare token": lambda n: raw_login(b"PLAIN") + pack(">i", 4 * n) + bytes(4 * n),
    "many heartbeats": lambda n: request_frame(RequestHeader(0, 12, 4, 1, "c", 0), bytes(9)) * n,
}  # fmt: skip
WAYS = (whole, halves, byte_by_byte)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", ARRIVING)
def test_requests_cost_the_same_however_they_arrive(name: str, way: Callable[[bytes], list[bytes]]) -> None:
    """Whole, with the first bytes ahead, or a byte at a time."""
    assert not growth_faults([partial(cut_requests, way(ARRIVING[name](size))) for size in SIZES])


@pytest.mark.parametrize("held", [True, False])
@pytest.mark.parametrize("way", WAYS)
def test_answers_cost_the_same_however_they_arrive(way: Callable[[bytes], list[bytes]], held: bool) -> None:
    """One long one, and many short ones."""
    for make in (lambda n: pack(">ii", 4 + 8 * n, 1) + bytes(8 * n), lambda n: pack(">ii", 4, 1) * n):
        assert not growth_faults([partial(cut_answers, way(make(size)), held) for size in SIZES])


# ---------------------------------------------------------------- the yardstick


def quadratic_lines(size: int) -> int:
    """Looks at everything again for each element."""
    seen = 0
    for number in range(size):
        for _ in range(number):
            seen += 1
    return seen


def quadratic_copies(size: int) -> int:
    """Copies all that came before for each element."""
    data, seen = bytes(64 * size), 0
    for number in range(size):
        seen += len(data[: 64 * number])
    return seen


def linear(size: int) -> list[bytes]:
    """Makes something for each element."""
    return [bytes(64) for _ in range(size)]


def test_the_yardstick_sees_squares_and_nothing_else() -> None:
    """Both kinds of square, of which one runs inside a single line."""
    assert growth_faults([partial(quadratic_lines, size) for size in SIZES])
    assert growth_faults([partial(quadratic_copies, size) for size in SIZES])
    assert not growth_faults([partial(linear, size) for size in SIZES])
    assert work_of(partial(linear, 50)) == work_of(partial(linear, 50))
