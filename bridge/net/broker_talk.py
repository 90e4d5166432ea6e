"""One connection of the bridge's own to one broker, for many questions one after the other."""

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import TypeVar

import trio

from bridge.net.broker_connection import exchange
from bridge.net.cluster import OWN_CLIENT_ID, OWN_SOFTWARE, UpstreamCluster
from bridge.net.own_login import RenewedLogin
from bridge.net.transport import Transport
from bridge.ports import BrokerUnreachable
from bridge.wire.api_versions import ApiVersionsAnswer, Features, api_versions_request, read_api_versions
from bridge.wire.apis import ApiKey
from bridge.wire.codec.api import Record
from bridge.wire.codec.registry import (
    SUPPORTED,
    Reply,
    Request,
    decode_reply,
    encode_request,
    read_reply_fields,
    whole_request_frame,
)
from bridge.wire.errors import MalformedFrame
from bridge.wire.frames import LENGTH_BYTES, read_response_header
from bridge.wire.own_questions import (
    DESCRIBE_CONFIGS_VERSION,
    DESCRIBE_QUORUM_VERSION,
    LIST_OFFSETS_VERSION,
    BrokerSettings,
    broker_settings_request,
    end_offsets_request,
    quorum_request,
    read_broker_settings,
    read_controller_time,
    read_end_offsets,
)
from bridge.wire.versions import VersionTable, speaks
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import TopicName, TopicPartition

ANSWER_BYTES_MAX = 104_857_600
ANSWER_TIMEOUT_S = 10.0
METADATA_VERSION = 1
FEATURES_VERSION = 3
VERSIONS_MAX = {ApiKey.OFFSET_FETCH: 9}
"""Version 10 names topics by id alone; what is fetched here is shown by name."""
UNASKED = BrokerSettings(ErrorCode.UNSUPPORTED_VERSION, {})
ReplyT = TypeVar("ReplyT", bound=Reply)


class BrokerTalk:
    """Every question raises BrokerUnreachable where no answer comes, or none that can be read."""

    def __init__(self, transport: Transport, versions: VersionTable, name: str, login: RenewedLogin) -> None:
        self._transport = transport
        self._login = login
        self.versions = versions
        self._name = name

    async def ask(self, api_key: ApiKey, request: Request, kind: type[ReplyT]) -> ReplyT:
        """An answer of the group APIs, in the highest version that both speak."""
        offered = self.versions.get(api_key)
        if offered is None:
            raise BrokerUnreachable(f"EB-NET-034: {self._name} does not offer {api_key.name}")
        version = min(offered.highest, VERSIONS_MAX.get(api_key, SUPPORTED[api_key].highest))
        frame = await self._exchange(encode_request(api_key, version, 0, OWN_CLIENT_ID, request))
        try:
            _, reply = decode_reply(api_key, version, frame[LENGTH_BYTES:])
        except MalformedFrame as problem:
            raise self._unreadable(problem) from problem
        if not isinstance(reply, kind):
            raise BrokerUnreachable(f"EB-NET-035: {self._name} answered {type(reply).__name__} to {api_key.name}")
        return reply

    async def read_features(self) -> Features:
        """What the cluster has turned on; nothing where the broker is too old to say so."""
        if not speaks(self.versions, ApiKey.API_VERSIONS, FEATURES_VERSION):
            return Features()
        frame = await self._exchange(api_versions_request(FEATURES_VERSION, 0, OWN_CLIENT_ID, OWN_SOFTWARE))
        try:
            header = read_response_header(frame, ApiKey.API_VERSIONS, FEATURES_VERSION)
            assert header is not None, "the frame is whole"
            answer: ApiVersionsAnswer = read_api_versions(FEATURES_VERSION, frame, header.body_offset)
        except MalformedFrame as problem:
            raise self._unreadable(problem) from problem
        return answer.features

    async def read_settings(self, node_id: int, names: Sequence[str]) -> BrokerSettings:
        """Settings of this broker."""
        if not speaks(self.versions, ApiKey.DESCRIBE_CONFIGS, DESCRIBE_CONFIGS_VERSION):
            return UNASKED
        frame = await self._exchange(broker_settings_request(node_id, names, OWN_CLIENT_ID))
        try:
            return read_broker_settings(frame)
        except MalformedFrame as problem:
            raise self._unreadable(problem) from problem

    async def read_controller_time(self) -> int | None:
        """What time it is at the active controller, in milliseconds since 1970; None where nobody tells."""
        if not speaks(self.versions, ApiKey.DESCRIBE_QUORUM, DESCRIBE_QUORUM_VERSION):
            return None
        frame = await self._exchange(quorum_request(OWN_CLIENT_ID))
        try:
            return read_controller_time(frame)
        except MalformedFrame as problem:
            raise self._unreadable(problem) from problem

    async def read_end_offsets(self, partitions: Sequence[TopicPartition]) -> Mapping[TopicPartition, int]:
        """Where partitions end that this broker leads; others are left out."""
        if not partitions or not speaks(self.versions, ApiKey.LIST_OFFSETS, LIST_OFFSETS_VERSION):
            return {}
        frame = await self._exchange(end_offsets_request(partitions, OWN_CLIENT_ID))
        try:
            return read_end_offsets(frame)
        except MalformedFrame as problem:
            raise self._unreadable(problem) from problem

    async def read_leaders(self, topics: Sequence[TopicName]) -> Mapping[TopicPartition, int]:
        """Who leads each partition of these topics; partitions without a leader are left out."""
        fields = {"topics": [{"name": topic} for topic in topics]}
        request = whole_request_frame(ApiKey.METADATA, METADATA_VERSION, 0, OWN_CLIENT_ID, fields)
        frame = await self._exchange(request)
        try:
            _, answer = read_reply_fields(ApiKey.METADATA, METADATA_VERSION, frame[LENGTH_BYTES:])
        except MalformedFrame as problem:
            raise self._unreadable(problem) from problem
        return {
            TopicPartition(TopicName(topic.text("name")), partition.number("partition_index")): leader
            for topic in answer.records("topics")
            for partition in topic.records("partitions")
            if (leader := _leader(partition)) >= 0
        }

    async def _exchange(self, request: bytes) -> bytes:
        try:
            with trio.fail_after(ANSWER_TIMEOUT_S):
                await self._login.be_in()
                return await exchange(self._transport, request, ANSWER_BYTES_MAX)
        except trio.TooSlowError as problem:
            raise BrokerUnreachable(f"EB-NET-037: no answer within {ANSWER_TIMEOUT_S:.0f} s") from problem

    def _unreadable(self, problem: MalformedFrame) -> BrokerUnreachable:
        return BrokerUnreachable(f"EB-NET-030: an answer of {self._name} can't be read: {problem}")


def _leader(partition: Record) -> int:
    return partition.number("leader_id")


@asynccontextmanager
async def talk_to(cluster: UpstreamCluster, node_id: int | None) -> AsyncIterator[BrokerTalk]:
    """A talk with a broker, or with any of the bootstrap list; the bridge logs in first where it has a login.

    Raises BrokerUnreachable.
    """
    name = "a broker of the bootstrap list" if node_id is None else f"broker {node_id}"
    offered = await cluster.offered(node_id)
    if offered is None:
        raise BrokerUnreachable(f"EB-NET-036: {name} did not say which versions it speaks; check that it runs")
    transport = await cluster.connect(node_id)
    if transport is None:
        raise BrokerUnreachable(f"EB-NET-036: no connection to {name}; check that it runs and the bootstrap setting")
    login = cluster.renewed_login(transport)
    try:
        try:
            with trio.fail_after(ANSWER_TIMEOUT_S):
                await login.be_in()
        except trio.TooSlowError as problem:
            raise BrokerUnreachable(f"EB-NET-037: no answer within {ANSWER_TIMEOUT_S:.0f} s") from problem
        yield BrokerTalk(transport, offered.broker, name, login)
    finally:
        transport.close()
