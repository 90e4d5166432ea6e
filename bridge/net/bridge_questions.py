"""What the bridge asks the cluster for itself, as the Broker port: topics, foreign members and committed offsets."""

import logging
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from itertools import count
from typing import TypeVar

import trio

from bridge.log_lines import LogFields
from bridge.migration.missing_rights import Resource, Right
from bridge.net.broker_connection import BrokerClosed, exchange
from bridge.net.cluster import OWN_CLIENT_ID, UpstreamCluster
from bridge.net.descriptors import FreeDescriptors
from bridge.net.own_login import RenewedLogin
from bridge.net.transport import Transport
from bridge.ports import BrokerUnreachable, ClusterTopics, GroupRefused
from bridge.session.limits import LARGE_BODY_BYTES
from bridge.wire.apis import ApiKey
from bridge.wire.codec.api import error_code
from bridge.wire.codec.registry import (
    SUPPORTED,
    Reply,
    Request,
    decode_reply,
    encode_request,
    group_ids,
    read_reply_fields,
    whole_request_frame,
)
from bridge.wire.errors import MalformedFrame
from bridge.wire.frames import LENGTH_BYTES
from bridge.wire.metadata import all_topics_request, metadata_version, read_metadata
from bridge.wire.versions import VersionTable
from translators.dialects.admin import (
    SHARE_GROUP,
    STREAMS_GROUP,
    DeleteGroups,
    DescribedGroup,
    DescribeGroups,
    DescribeGroupsReply,
    ListGroups,
    ListGroupsReply,
)
from translators.dialects.classic import (
    Heartbeat,
    HeartbeatReply,
    JoinGroup,
    JoinGroupReply,
    LeaveGroup,
    LeaveGroupReply,
    SyncGroup,
    SyncGroupReply,
)
from translators.dialects.consumer import (
    ConsumerGroupDescribe,
    ConsumerGroupDescribeReply,
    ConsumerGroupHeartbeat,
    DescribedConsumerGroup,
)
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import GroupId
from translators.dialects.kept_names import KeptNames
from translators.dialects.offsets import (
    FetchedGroup,
    GroupOffsets,
    OffsetCommit,
    OffsetCommitReply,
    OffsetFetch,
    OffsetFetchReply,
)

ANSWER_BYTES_MAX = 104_857_600
"""What is longer is no answer: of requests brokers take as much by default (`socket.request.max.bytes`)."""
ANSWER_TIMEOUT_S = 10.0
"""How long a broker may take to let the bridge in, and for each answer."""
_ID_MAX = 0x7FFF_FFFF
COORDINATOR_TRIES = 20
COORDINATOR_PAUSE_S = 0.25
"""So often, and with such pauses, it is asked who coordinates a group: a cluster that has just
made `__consumer_offsets` says for some seconds that nobody does.
"""
FIND_COORDINATOR_VERSION_MAX = 3
OFFSET_COMMIT_VERSION_MAX = 9
FIRST_LIST_GROUPS_BY_TYPE = 5
OFFSET_FETCH_VERSION_MAX = 9
"""Version 10 names topics by id alone; what is fetched here is shown and committed by name."""
COORDINATORS_MAX = 100_000
"""Of so many groups it is known which broker stood for them: a client may have any name looked up."""
_NOT_YET = frozenset(
    {ErrorCode.COORDINATOR_NOT_AVAILABLE, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, ErrorCode.NOT_COORDINATOR}
)
# Kafka 3.9 offers ConsumerGroupDescribe with its new protocol off, and then answers it with UNSUPPORTED_VERSION.
_KNOWS_NO_CONSUMER_GROUP = frozenset({ErrorCode.GROUP_ID_NOT_FOUND, ErrorCode.UNSUPPORTED_VERSION})
ReplyT = TypeVar("ReplyT", bound=Reply)
ResultT = TypeVar("ResultT")
LOG = logging.getLogger("epochbridge.net")


class BridgeQuestions:
    """Asks by connections of its own, for every question or for all of one description: brokers restart.

    One is kept until `close`: to the coordinator that was asked last.
    """

    def __init__(self) -> None:
        self._attached: UpstreamCluster | None = None
        self._coordinators: KeptNames[int] = KeptNames(COORDINATORS_MAX)
        self._kept: tuple[GroupId, OwnConnection] | None = None
        """The group whose coordinator was asked last, and how."""
        self._descriptors: FreeDescriptors | None = None

    def attach(self, cluster: UpstreamCluster, descriptors: FreeDescriptors | None = None) -> None:
        """Ask this cluster from now on; where clients are served, with what they leave of the descriptors."""
        self._attached = cluster
        self._descriptors = descriptors

    @property
    def _cluster(self) -> UpstreamCluster:
        if self._attached is None:
            raise BrokerUnreachable("EB-NET-038: the bridge is still starting; ask again in a moment")
        return self._attached

    def coordinator_of(self, group_id: GroupId) -> int | None:
        """Which broker stood for a group when it was asked last."""
        return self._coordinators.get(group_id)

    async def fetch_topics(self) -> ClusterTopics:
        """See `ports.Broker`."""
        version = metadata_version(await self._versions(None))
        frame = await self._exchange(None, all_topics_request(version, 0, OWN_CLIENT_ID))
        try:
            found = await _read_beside(partial(read_metadata, version), frame)
        except MalformedFrame as problem:
            raise BrokerUnreachable(f"EB-NET-030: the answer to Metadata can't be read: {problem}") from problem
        return ClusterTopics(found.cluster_id or "", found.topics)

    async def describe_group(self, group_id: GroupId) -> DescribedGroup | DescribedConsumerGroup:
        """See `ports.Broker`; a broker that can't describe groups knows none."""
        connection = await self.connect_coordinator(await self.find_coordinator(group_id))
        try:
            with trio.fail_after(ANSWER_TIMEOUT_S):
                return await _described(connection, group_id)
        except trio.TooSlowError as problem:
            raise BrokerUnreachable(f"EB-NET-037: no answer within {ANSWER_TIMEOUT_S:.0f} s") from problem
        finally:
            connection.close()

    async def ask_coordinator(self, request: Request) -> Reply:
        """See `ports.Broker`.

        Bridges ask two things of their own group every three seconds, and a connection may cost a handshake and a
        login: it is kept until something fails, or another broker stands for the group.
        """
        (group_id,) = group_ids(request)
        kept, self._kept = self._kept, None
        if kept is not None and kept[0] == group_id:
            try:
                return await self._ask_and_keep(group_id, kept[1], request)
            except BrokerClosed:
                told = "the connection to the coordinator of %r was closed meanwhile; opening another"
                LOG.debug(told, group_id, extra=LogFields(group_id=group_id))
        elif kept is not None:
            kept[1].close()
        connection = await self.connect_coordinator(await self.find_coordinator(group_id))
        return await self._ask_and_keep(group_id, connection, request)

    async def _ask_and_keep(self, group_id: GroupId, connection: "OwnConnection", request: Request) -> Reply:
        """Whoever is cancelled leaves an answer on its way, which must not be taken for the next one."""
        is_to_be_kept = False
        try:
            with trio.fail_after(ANSWER_TIMEOUT_S):
                reply = await connection.ask(request, OWN_CLIENT_ID)
            is_to_be_kept = self._kept is None and _is_at_its_coordinator(reply)
        except trio.TooSlowError as problem:
            raise BrokerUnreachable(f"EB-NET-037: no answer within {ANSWER_TIMEOUT_S:.0f} s") from problem
        finally:
            if is_to_be_kept:
                self._kept = (group_id, connection)
            else:
                connection.close()
        return reply

    def close(self) -> None:
        """Nobody asks any more."""
        if self._kept is not None:
            self._kept[1].close()
            self._kept = None

    async def fetch_offsets(self, group_id: GroupId) -> FetchedGroup:
        """See `ports.Broker`; a partition with a commit of an open transaction carries UNSTABLE_OFFSET_COMMIT."""
        wanted = OffsetFetch(groups=(GroupOffsets(group_id=group_id, topics=None),), require_stable=True)
        reply = await self._ask(await self.find_coordinator(group_id), wanted, OffsetFetchReply)
        # Before version 8 the answer does not name its only group.
        if not reply.groups:
            raise BrokerUnreachable(f"EB-NET-031: OffsetFetch of {group_id!r} got no answer; asked again later")
        found = replace(reply.groups[0], group_id=group_id)
        if found.error is ErrorCode.GROUP_AUTHORIZATION_FAILED:
            right = Right("Describe", Resource.GROUP, group_id)
            raise BrokerUnreachable(f"EB-NET-203: the offsets of {group_id!r} are not told: {right.missing()}")
        if found.error is not ErrorCode.NONE:
            raise BrokerUnreachable(
                f"EB-NET-031: OffsetFetch of {group_id!r} got {found.error.name}; asked again later"
            )
        return found

    async def commit_offsets(self, commit: OffsetCommit) -> OffsetCommitReply:
        """See `ports.Broker`."""
        return await self._ask(await self.find_coordinator(commit.group_id), commit, OffsetCommitReply)

    async def connect_coordinator(self, broker_id: int) -> "OwnConnection":
        """See `ports.Coordinators`."""
        versions = await self._versions(broker_id)
        transport = await self._cluster.connect(broker_id)
        if transport is None:
            raise BrokerUnreachable(f"EB-NET-036: no connection to broker {broker_id}; check that it runs")
        login = self._cluster.renewed_login(transport)
        try:
            with trio.fail_after(ANSWER_TIMEOUT_S):
                await login.be_in()
        except BaseException as problem:
            transport.close()
            if isinstance(problem, trio.TooSlowError):
                raise BrokerUnreachable(f"EB-NET-037: no answer within {ANSWER_TIMEOUT_S:.0f} s") from problem
            raise
        return OwnConnection(broker_id, transport, versions, login)

    def reserve(self, connections: int) -> int:
        """See `ports.Coordinators`."""
        return 0 if self._descriptors is None else self._descriptors.reserve(connections)

    def give_back(self, connections: int) -> None:
        """See `ports.Coordinators`."""
        if self._descriptors is not None:
            self._descriptors.give_back(connections)

    async def find_coordinator(self, group_id: GroupId) -> int:
        """See `ports.Coordinators`."""
        offered = (await self._versions(None)).get(ApiKey.FIND_COORDINATOR)
        if offered is None:
            raise BrokerUnreachable("EB-NET-034: no broker offers FindCoordinator; is this a Kafka cluster?")
        version = min(FIND_COORDINATOR_VERSION_MAX, offered.highest)
        fields = {"key": group_id, "key_type": 0}
        request = whole_request_frame(ApiKey.FIND_COORDINATOR, version, 0, OWN_CLIENT_ID, fields)
        code = ErrorCode.COORDINATOR_NOT_AVAILABLE
        for _ in range(COORDINATOR_TRIES):
            frame = await self._exchange(None, request)
            try:
                _, answer = read_reply_fields(ApiKey.FIND_COORDINATOR, version, frame[LENGTH_BYTES:])
            except MalformedFrame as problem:
                raise BrokerUnreachable(
                    f"EB-NET-030: the answer to FindCoordinator can't be read: {problem}"
                ) from problem
            code = error_code(answer)
            if code is ErrorCode.NONE:
                node_id = answer.number("node_id")
                await self._learn(node_id)
                self._coordinators.put(group_id, node_id)
                return node_id
            if code is ErrorCode.GROUP_AUTHORIZATION_FAILED:
                right = Right("Describe", Resource.GROUP, group_id)
                raise GroupRefused(f"EB-NET-203: no coordinator for {group_id!r} is told: {right.missing()}")
            if code not in _NOT_YET:
                break
            await trio.sleep(COORDINATOR_PAUSE_S)
        raise BrokerUnreachable(f"EB-NET-032: no coordinator for {group_id!r}: {code.name}; check the broker's log")

    async def _learn(self, node_id: int) -> None:
        if node_id not in self._cluster.directory.brokers:
            await self._cluster.refresh()
        if node_id not in self._cluster.directory.brokers:
            raise BrokerUnreachable(
                f"EB-NET-033: broker {node_id} is named as coordinator, but not by Metadata; it may be starting or "
                "ending: see whether it runs, and ask again"
            )

    async def _ask(self, node_id: int, request: Request, kind: type[ReplyT]) -> ReplyT:
        return _expected(node_id, request, await self._answer(node_id, request), kind)

    async def _answer(self, node_id: int, request: Request) -> Reply:
        asked = _asked(node_id, await self._versions(node_id), request, OWN_CLIENT_ID)
        return await _read_beside(asked.read, await self._exchange(node_id, asked.frame))

    async def _exchange(self, node_id: int | None, request: bytes) -> bytes:
        transport = await self._cluster.connect(node_id)
        if transport is None:
            where = "the bootstrap list" if node_id is None else f"broker {node_id}"
            raise BrokerUnreachable(
                f"EB-NET-036: no connection to {where}; check that it runs and the bootstrap setting"
            )
        try:
            with trio.fail_after(ANSWER_TIMEOUT_S):
                await self._cluster.enter(transport)
                return await exchange(transport, request, ANSWER_BYTES_MAX)
        except trio.TooSlowError as problem:
            raise BrokerUnreachable(f"EB-NET-037: no answer within {ANSWER_TIMEOUT_S:.0f} s") from problem
        finally:
            transport.close()

    async def _versions(self, node_id: int | None) -> VersionTable:
        offered = await self._cluster.offered(node_id)
        if offered is None:
            raise BrokerUnreachable("EB-NET-036: no broker said which versions it speaks; check that the cluster runs")
        return offered.broker


class OwnConnection:
    """See `ports.CoordinatorConnection`: whoever asks bounds how long."""

    def __init__(self, broker_id: int, transport: Transport, versions: VersionTable, login: RenewedLogin) -> None:
        self.broker_id = broker_id
        self.versions = versions
        self._transport = transport
        self._login = login
        self._ids = count(1)
        """Each question has its own, so that an answer that is given twice is taken for none to the next one."""

    async def ask(self, request: Request, client_id: str) -> Reply:
        """See `ports.CoordinatorConnection`."""
        correlation_id = next(self._ids) & _ID_MAX
        asked = _asked(self.broker_id, self.versions, request, client_id, correlation_id)
        await self._login.be_in()
        return await _read_beside(asked.read, await exchange(self._transport, asked.frame, ANSWER_BYTES_MAX))

    async def expect(self, request: Request, kind: type[ReplyT]) -> ReplyT:
        """The answer to a question of the bridge's own. Raises BrokerUnreachable for one of another kind."""
        return _expected(self.broker_id, request, await self.ask(request, OWN_CLIENT_ID), kind)

    def close(self) -> None:
        """See `ports.CoordinatorConnection`."""
        self._transport.close()


def _is_at_its_coordinator(reply: Reply) -> bool:
    """Whether a group may be asked for there again; of what says nothing of that, not."""
    match reply:
        case JoinGroupReply() | SyncGroupReply() | HeartbeatReply() | LeaveGroupReply():
            return reply.error not in _NOT_YET
        case DescribeGroupsReply():
            return not any(group.error in _NOT_YET for group in reply.groups)
        case _:
            return False


async def _read_beside(read: Callable[[bytes], ResultT], frame: bytes) -> ResultT:
    """What a broker answered; where it is large clients are served meanwhile (decision 133)."""
    return read(frame) if len(frame) < LARGE_BODY_BYTES else await trio.to_thread.run_sync(read, frame)


async def _described(connection: OwnConnection, group_id: GroupId) -> DescribedGroup | DescribedConsumerGroup:
    """See `ports.Broker.describe_group`: as a classic group, or else a consumer group, or one of another kind."""
    versions = connection.versions
    found = DescribedGroup(error=ErrorCode.NONE, group_id=group_id, group_state="Dead")
    if ApiKey.DESCRIBE_GROUPS in versions:
        described = await connection.expect(DescribeGroups(group_ids=(group_id,)), DescribeGroupsReply)
        found = next(iter(described.groups), found)
    if not found.members and ApiKey.CONSUMER_GROUP_DESCRIBE in versions:
        consumers = await connection.expect(ConsumerGroupDescribe((group_id,)), ConsumerGroupDescribeReply)
        if consumers.groups and consumers.groups[0].error not in _KNOWS_NO_CONSUMER_GROUP:
            return consumers.groups[0]
    return found if found.members else await _with_other_kind(connection, found)


async def _with_other_kind(connection: OwnConnection, found: DescribedGroup) -> DescribedGroup:
    """The same, with the kind and state of a share or streams group of that name: they have a list in common only.

    Only brokers that have such groups are asked, since others may refuse a filter that they don't know.
    """
    versions = connection.versions
    kinds = tuple(kind for key, kind in _OTHER_KINDS.items() if key in versions)
    listing = versions.get(ApiKey.LIST_GROUPS)
    if not kinds or listing is None or listing.highest < FIRST_LIST_GROUPS_BY_TYPE:
        return found
    listed = await connection.expect(ListGroups(types=kinds), ListGroupsReply)
    same = [group for group in listed.groups if group.group_id == found.group_id and group.group_type in kinds]
    return replace(found, group_state=same[0].group_state, protocol_type=same[0].group_type) if same else found


def _expected(node_id: int, request: Request, reply: Reply, kind: type[ReplyT]) -> ReplyT:
    if not isinstance(reply, kind):
        api_key = _API_KEYS[type(request)]
        raise BrokerUnreachable(f"EB-NET-035: broker {node_id} answered {type(reply).__name__} to {api_key.name}")
    return reply


@dataclass(frozen=True, slots=True)
class _Asked:
    """A request as a frame, and how its answer is read."""

    node_id: int
    api_key: ApiKey
    version: int
    frame: bytes

    def read(self, frame: bytes) -> Reply:
        try:
            _, reply = decode_reply(self.api_key, self.version, frame[LENGTH_BYTES:])
        except MalformedFrame as problem:
            raise BrokerUnreachable(
                f"EB-NET-030: the answer of broker {self.node_id} can't be read: {problem}"
            ) from problem
        return reply


def _asked(node_id: int, versions: VersionTable, request: Request, client_id: str, correlation_id: int = 0) -> _Asked:
    """The request in the highest version that both sides speak."""
    api_key = _API_KEYS[type(request)]
    offered = versions.get(api_key)
    if offered is None:
        raise BrokerUnreachable(f"EB-NET-034: broker {node_id} does not offer {api_key.name}")
    version = min(offered.highest, SUPPORTED[api_key][1], _VERSIONS_MAX.get(api_key, SUPPORTED[api_key][1]))
    return _Asked(node_id, api_key, version, encode_request(api_key, version, correlation_id, client_id, request))


_API_KEYS: dict[type[object], ApiKey] = {
    DescribeGroups: ApiKey.DESCRIBE_GROUPS,
    JoinGroup: ApiKey.JOIN_GROUP,
    SyncGroup: ApiKey.SYNC_GROUP,
    Heartbeat: ApiKey.HEARTBEAT,
    LeaveGroup: ApiKey.LEAVE_GROUP,
    DeleteGroups: ApiKey.DELETE_GROUPS,
    ConsumerGroupHeartbeat: ApiKey.CONSUMER_GROUP_HEARTBEAT,
    ConsumerGroupDescribe: ApiKey.CONSUMER_GROUP_DESCRIBE,
    ListGroups: ApiKey.LIST_GROUPS,
    OffsetFetch: ApiKey.OFFSET_FETCH,
    OffsetCommit: ApiKey.OFFSET_COMMIT,
}
_OTHER_KINDS = {ApiKey.SHARE_GROUP_HEARTBEAT: SHARE_GROUP, ApiKey.STREAMS_GROUP_HEARTBEAT: STREAMS_GROUP}
_VERSIONS_MAX = {ApiKey.OFFSET_COMMIT: OFFSET_COMMIT_VERSION_MAX, ApiKey.OFFSET_FETCH: OFFSET_FETCH_VERSION_MAX}
