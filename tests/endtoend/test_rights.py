"""What somebody may do with a group is the same at a bridge as at the broker behind it, for every API of groups.

It must not know how rights are found out.
"""

import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest
from confluent_kafka import Consumer, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.admin._acl import AclBinding, AclBindingFilter, AclOperation, AclPermissionType
from confluent_kafka.admin._resource import ResourcePatternType, ResourceType
from confluent_kafka.cimpl import NewTopic

from bridge.admin.client import ask_move, give_order, group_path, parse
from bridge.wire.apis import ApiKey
from bridge.wire.codec.registry import Request
from bridge.wire.frames import RequestHeader, request_frame
from tests.support.bridge_process import QUICK_SETTINGS, bridge_process
from tests.support.rights import REQUESTS, SINCE_KAFKA_4, TRANSACTION, Line, answered
from tests.support.sasl_kafka import GuardedKafka, authorizing_kafka, login_of, own_login
from tests.support.talker import share_body, share_offsets_body, streams_body
from translators.dialects.classic import Heartbeat, JoinGroup, LeaveGroup, LeavingMember, SyncGroup
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import GroupId, MemberId, TopicName
from translators.dialects.offsets import OffsetCommit

PATIENCE_S = 180.0
KEEP_MS = 500
WORD = "a-word"
LIVE, ABSENT = "live", "absent"
MODERN = "modern"
"""A group of KIP-848 members."""
_ALL, _READ, _DESCRIBE, _DELETE = (getattr(AclOperation, name) for name in ("ALL", "READ", "DESCRIBE", "DELETE"))
_SHOW_CONFIGS, _ALTER_CONFIGS = (getattr(AclOperation, f"{word}_CONFIGS") for word in ("DESCRIBE", "ALTER"))
_ALLOW, _DENY = AclPermissionType.ALLOW, AclPermissionType.DENY
Grants = tuple[tuple[AclOperation, AclPermissionType], ...]
ON_GROUPS: dict[str, Grants] = {
    "nothing": (),
    "reads": ((_READ, _ALLOW),),
    "describes": ((_DESCRIBE, _ALLOW),),
    "deletes": ((_DELETE, _ALLOW),),
    "all": ((_ALL, _ALLOW),),
    "all-but-read": ((_ALL, _ALLOW), (_READ, _DENY)),
    "all-but-describe": ((_ALL, _ALLOW), (_DESCRIBE, _DENY)),
    "all-but-delete": ((_ALL, _ALLOW), (_DELETE, _DENY)),
    "shows-configs": ((_SHOW_CONFIGS, _ALLOW),),
    "alters-configs": ((_ALTER_CONFIGS, _ALLOW),),
    "all-but-configs": ((_ALL, _ALLOW), (_SHOW_CONFIGS, _DENY), (_ALTER_CONFIGS, _DENY)),
    "no-topic": ((_ALL, _ALLOW),),
    "describes-topic": ((_ALL, _ALLOW),),
    "no-transaction": ((_ALL, _ALLOW),),
    "describes-cluster": (),
    "neither-group-nor-transaction": (),
}
"""Each operation on groups allowed, denied and absent; all users but the next two may do everything with the topic."""
ON_TOPIC: dict[str, Grants] = {"no-topic": (), "describes-topic": ((_DESCRIBE, _ALLOW),)}
USERS = {**dict.fromkeys((*ON_GROUPS, "fickle"), WORD)}
_COMMIT = "a commit that its group refuses is refused for all its topics alike, also for those that may not be read"
DELIBERATE: dict[tuple[str, str, ApiKey], str] = {
    **{(user, kind, ApiKey.OFFSET_COMMIT): _COMMIT for user in ON_TOPIC for kind in (LIVE, MODERN)},
}
"""Cells in which the bridge answers otherwise, and why: user, group, API."""


def acl(kind: ResourceType, name: str, user: str, operation: AclOperation, permission: AclPermissionType) -> AclBinding:
    """One ACL, for requests from everywhere."""
    return AclBinding(kind, name, ResourcePatternType.LITERAL, f"User:{user}", "*", operation, permission)


def acls(topic: str) -> list[AclBinding]:
    """All of the users above; who is nobody at the controller's listener is the broker itself."""
    bound = [acl(ResourceType.BROKER, "kafka-cluster", "ANONYMOUS", _ALL, _ALLOW)]
    bound.append(acl(ResourceType.BROKER, "kafka-cluster", "describes-cluster", _DESCRIBE, _ALLOW))
    for user, grants in ON_GROUPS.items():
        bound += [acl(ResourceType.GROUP, "*", user, *grant) for grant in grants]
        bound += [acl(ResourceType.TOPIC, topic, user, *grant) for grant in ON_TOPIC.get(user, ((_ALL, _ALLOW),))]
        if user not in ("no-transaction", "neither-group-nor-transaction"):
            bound.append(acl(ResourceType.TRANSACTIONAL_ID, TRANSACTION, user, _ALL, _ALLOW))
    return bound


@dataclass(slots=True)
class World:
    """A broker, a bridge before it, and groups of the same kinds at both."""

    version: str
    broker: GuardedKafka
    bridge: str
    admin_of_bridge: str
    plain_bridge: str
    topic: TopicName
    admin: AdminClient
    stack: ExitStack
    settings: dict[str, str]
    """Those of the bridge."""
    lines: dict[tuple[str, str], Line] = field(default_factory=dict)

    def line(self, bootstrap: str, user: str) -> Line:
        """A connection of somebody, the same each time."""
        if (bootstrap, user) not in self.lines:
            self.lines[bootstrap, user] = line = Line(bootstrap, user, USERS[user])
            self.stack.callback(line.close)
        return self.lines[bootstrap, user]

    def bind(self, *bindings: AclBinding) -> None:
        """Have ACLs, one after the other."""
        for binding in bindings:
            self.admin.create_acls([binding])[binding].result(PATIENCE_S)


def coordinator_of(bootstrap: str) -> str:
    """Where the only broker is at a bridge: who has the same login there shares what is said of rights."""
    (broker,) = AdminClient({"bootstrap.servers": bootstrap, **login_of("admin")}).list_topics().brokers.values()
    return f"{broker.host}:{broker.port}"


def consume(bootstrap: str, group: str, topic: str, protocol: str, stack: ExitStack) -> Consumer:
    """Have a member in a group until the end; it lives on as long as it is polled."""
    consumer = Consumer(
        {"bootstrap.servers": bootstrap, "group.id": group, "group.protocol": protocol, **login_of("admin")}
    )
    stack.callback(consumer.close)
    consumer.subscribe([topic])
    until = time.monotonic() + PATIENCE_S
    while not consumer.assignment():
        assert time.monotonic() < until, f"{group} does not form"
        consumer.poll(0.2)
    # From its first commit on the broker has heard of an embedded group, and says of its topics who may read them.
    consumer.commit(offsets=[TopicPartition(topic, 0, 1)], asynchronous=False)
    return consumer


@pytest.fixture(scope="module", params=["4.3.1", "3.9.1"])
def world(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """One broker for all cells of its version."""
    version: str = request.param
    folder, topic = tmp_path_factory.mktemp("rights"), f"rights-{uuid.uuid4().hex[:8]}"
    own = own_login(folder)
    # The machine may be slow, and the cells are about groups with members.
    sessions = {"group.consumer.session.timeout.ms": "45000", "group.consumer.heartbeat.interval.ms": "3000"}
    settings = {**QUICK_SETTINGS, **sessions, "authorization.cache.ms": str(KEEP_MS)}
    with ExitStack() as stack:
        broker = stack.enter_context(authorizing_kafka(folder, USERS, version))
        admin = AdminClient({"bootstrap.servers": broker.bootstrap, **login_of("admin")})
        admin.create_topics([NewTopic(topic, num_partitions=1, replication_factor=1)])[topic].result(PATIENCE_S)
        bridge = stack.enter_context(
            bridge_process(broker.bootstrap, ("embedded-*",), folder, {**settings, **own}, has_admin=True)
        )
        plain = stack.enter_context(bridge_process(broker.plain, ("embedded-*",), folder, settings))
        address = coordinator_of(bridge.bootstrap)
        world = World(
            version, broker, address, bridge.admin, plain.bootstrap, TopicName(topic), admin, stack, {**settings, **own}
        )
        world.bind(*acls(topic))
        yield world


Cells = dict[tuple[str, str, ApiKey], tuple[str, str]]


def cells(world: World, kind: str, members: list[Consumer], names: tuple[str, str] = ("pass", "embedded")) -> Cells:
    """Where broker and bridge differ about groups of a kind, one of each name, and in what they answer."""
    differ: Cells = {}
    for user in ON_GROUPS:
        for member in members:
            member.poll(0)
        for api_key in REQUESTS:
            if api_key in SINCE_KAFKA_4 and world.version == "3.9.1":
                # The broker has it turned off or knows it of no group, and says so before it judges anything.
                continue
            name = f"{kind}-{user}-{api_key}" if kind == ABSENT else kind
            at_broker, at_bridge = (
                answered(world.line(bootstrap, user), api_key, GroupId(f"{road}-{name}"), world.topic)
                for bootstrap, road in zip((world.broker.bootstrap, world.bridge), names, strict=True)
            )
            if at_broker[0] != at_bridge[0] and (user, kind.partition("-")[0], api_key) not in DELIBERATE:
                differ[user, kind, api_key] = at_broker[1], at_bridge[1]
    return differ


def test_every_cell_is_the_brokers(world: World) -> None:
    """Every API, by everybody, of groups with members of either protocol and of groups that there are not."""
    members: list[Consumer] = []
    differ = cells(world, ABSENT, members)
    with ExitStack() as stack:
        for kind, protocol in ((LIVE, "classic"), (MODERN, "consumer")):
            if kind == MODERN and world.version == "3.9.1":
                continue
            for bootstrap, road in ((world.broker.bootstrap, "pass"), (world.bridge, "embedded")):
                members.append(consume(bootstrap, f"{road}-{kind}", world.topic, protocol, stack))
            differ.update(cells(world, kind, members))
    assert not differ, "\n".join(f"{cell}:\n  {one}\n  {two}" for cell, (one, two) in differ.items())


OF_OTHER_KINDS: dict[ApiKey, tuple[int, Callable[[GroupId, str], bytes]]] = {
    ApiKey.SHARE_GROUP_HEARTBEAT: (1, share_body),
    ApiKey.STREAMS_GROUP_HEARTBEAT: (0, lambda group, _: streams_body(group)),
    ApiKey.ALTER_SHARE_GROUP_OFFSETS: (0, share_offsets_body),
}
"""Requests of groups of other kinds, whose names are of consumer groups here."""
OF_AN_UNSEEN_TOPIC = ("no-topic", ApiKey.SHARE_GROUP_HEARTBEAT)
"""Deliberate: a broker says 29 of it first; who may READ the group is told at once here that it is of another kind."""


def test_name_that_is_taken_is_refused_as_by_the_broker(world: World) -> None:
    """To the byte, by who may READ the group and by who may not: nobody else is told what has the name."""
    if world.version == "3.9.1":
        # It has no groups of other kinds, and offers none of these.
        return
    differ, seen = {}, set()
    with ExitStack() as stack:
        for bootstrap, road in ((world.broker.bootstrap, "pass"), (world.bridge, "embedded")):
            consume(bootstrap, f"{road}-names", world.topic, "consumer", stack)
        for user in ON_GROUPS:
            for api_key, (version, body) in OF_OTHER_KINDS.items():
                answers = []
                for bootstrap, group in ((world.broker.bootstrap, "pass-names"), (world.bridge, "embedded-names")):
                    header = RequestHeader(0, api_key, version, 7, "rights", 0)
                    frame = world.line(bootstrap, user).exchange(
                        request_frame(header, body(GroupId(group), world.topic))
                    )
                    seen.add(ErrorCode(int.from_bytes(frame[13:15], "big")))
                    answers.append(named_alike(frame, group))
                if answers[0] != answers[1] and (user, api_key) != OF_AN_UNSEEN_TOPIC:
                    differ[user, api_key] = answers
    assert not differ
    assert seen >= {ErrorCode.GROUP_AUTHORIZATION_FAILED, ErrorCode.GROUP_ID_NOT_FOUND}


def named_alike(frame: bytes, group: str) -> bytes:
    """What an answer says behind its throttle time, whatever the group is called."""
    said, name = frame[13:], group.encode()
    # The length of the sentence that the name is in stands in one byte before it.
    return said if name not in said else said[:2] + said[3:].replace(name, b"")


def told(line: Line, group: str, topic: str) -> str:
    """What somebody's heartbeat in a group is answered."""
    return answered(line, ApiKey.HEARTBEAT, GroupId(group), TopicName(topic))[1]


def beat_until(line: Line, group: str, topic: str, code: ErrorCode) -> None:
    """Beat until the answer has a code."""
    until = time.monotonic() + PATIENCE_S
    while code.name not in told(line, group, topic):
        assert time.monotonic() < until, f"{group} is not answered {code.name}"
        time.sleep(KEEP_MS / 5_000)


@pytest.mark.parametrize("road", ["embedded", "upstream"])
def test_right_that_is_lost_and_given_back_counts_while_its_client_runs(world: World, road: str) -> None:
    """On one connection, without a pause: from the next look on, and at once."""
    line, group = world.line(world.bridge, "fickle"), f"{road}-{uuid.uuid4().hex[:8]}"
    right = acl(ResourceType.GROUP, group, "fickle", _READ, _ALLOW)
    for _ in range(2):
        beat_until(line, group, world.topic, ErrorCode.GROUP_AUTHORIZATION_FAILED)
        world.bind(right)
        beat_until(line, group, world.topic, ErrorCode.UNKNOWN_MEMBER_ID)
        names = (right.restype, right.name, right.resource_pattern_type, right.principal, right.host)
        unbound = AclBindingFilter(*names, right.operation, right.permission_type)
        world.admin.delete_acls([unbound])[unbound].result(PATIENCE_S)


def test_one_name_shares_what_was_said_of_it_and_no_other(world: World, tmp_path: Path) -> None:
    """Within the time for which an answer counts, also on connections that come later."""
    group = f"embedded-{uuid.uuid4().hex[:8]}"
    right = acl(ResourceType.GROUP, group, "fickle", _READ, _ALLOW)
    world.bind(right)
    settings = {**world.settings, "authorization.cache.ms": "3600000"}
    with bridge_process(world.broker.bootstrap, ("embedded-*",), tmp_path, settings) as bridge, ExitStack() as stack:
        address = coordinator_of(bridge.bootstrap)

        def told_anew(user: str, bootstrap: str = address) -> str:
            line = Line(bootstrap, user, USERS[user])
            stack.callback(line.close)
            return told(line, group, world.topic)

        assert "GROUP_AUTHORIZATION_FAILED" in told_anew("nothing")
        assert "UNKNOWN_MEMBER_ID" in told_anew("fickle")
        names = (right.restype, right.name, right.resource_pattern_type, right.principal, right.host)
        unbound = AclBindingFilter(*names, right.operation, right.permission_type)
        world.admin.delete_acls([unbound])[unbound].result(PATIENCE_S)
        beat_until(
            world.line(world.broker.bootstrap, "fickle"), group, world.topic, ErrorCode.GROUP_AUTHORIZATION_FAILED
        )
        assert "UNKNOWN_MEMBER_ID" in told_anew("fickle"), "by what the first connection was told"
        assert "GROUP_AUTHORIZATION_FAILED" in told_anew("nothing")
        assert "GROUP_AUTHORIZATION_FAILED" in told_anew("fickle", bridge.bootstrap), "another listener asks for itself"


def test_cluster_without_a_login_is_asked_the_same(world: World) -> None:
    """Its authorizer knows User:ANONYMOUS, whom nothing is granted but one group."""
    line = Line(world.plain_bridge, None)
    world.stack.callback(line.close)
    group = f"embedded-{uuid.uuid4().hex[:8]}"
    refused = answered(line, ApiKey.JOIN_GROUP, GroupId(group), world.topic)[1]
    assert "GROUP_AUTHORIZATION_FAILED" in refused
    world.bind(acl(ResourceType.GROUP, group, "ANONYMOUS", _READ, _ALLOW))
    beat_until(line, group, world.topic, ErrorCode.UNKNOWN_MEMBER_ID)
    assert "MEMBER_ID_REQUIRED" in answered(line, ApiKey.JOIN_GROUP, GroupId(group), world.topic)[1]


def test_pattern_gives_no_topic_that_whoever_had_it_resolved_may_not_see(world: World, tmp_path: Path) -> None:
    """As Kafka; neither at first nor when topics come later: Java's consumer reads nothing at all any more with one."""
    hidden = [f"{world.topic}-hidden", f"{world.topic}-later-hidden"]
    shown = f"{world.topic}-later-shown"
    login = {**login_of("admin"), "sasl.username": "all", "sasl.password": WORD}
    for name in hidden:
        world.bind(acl(ResourceType.TOPIC, name, "bridge", _DESCRIBE, _ALLOW))
    world.admin.create_topics([NewTopic(hidden[0], 1, 1)])[hidden[0]].result(PATIENCE_S)
    group = f"embedded-{uuid.uuid4().hex[:8]}"
    with (
        bridge_process(world.broker.bootstrap, ("embedded-*",), tmp_path, world.settings) as bridge,
        ExitStack() as stack,
    ):
        settings = {"bootstrap.servers": bridge.bootstrap, "group.id": group, "group.protocol": "consumer", **login}
        consumer = Consumer(settings)
        stack.callback(consumer.close)
        consumer.subscribe([f"^{world.topic}.*"])
        await_topics(consumer, {world.topic}, bridge.tail)
        for name in (hidden[1], shown):
            world.admin.create_topics([NewTopic(name, 1, 1)])[name].result(PATIENCE_S)
        await_topics(consumer, {world.topic, shown}, bridge.tail)
        # librdkafka says nothing of a topic that it does not see.
        admin = AdminClient({"bootstrap.servers": bridge.bootstrap, **login_of("admin")})
        (member,) = admin.describe_consumer_groups([group])[group].result(PATIENCE_S).members
        assert {one.topic for one in member.assignment.topic_partitions} == {world.topic, shown}
        assert "EB-GROUP-028" not in bridge.log.read_text(encoding="utf-8")


def await_topics(consumer: Consumer, topics: set[str], tell: Callable[[], str]) -> None:
    """Poll until a consumer has partitions of just these."""
    until = time.monotonic() + PATIENCE_S
    while {one.topic for one in consumer.assignment()} != topics:
        assert time.monotonic() < until, tell()
        consumer.poll(0.2)


def requests_for(group: GroupId, member_id: MemberId, topic: TopicName) -> dict[ApiKey, Request]:
    """All by which somebody speaks for a classic member, with its own id and generation."""
    _, make_join = REQUESTS[ApiKey.JOIN_GROUP]
    _, make_commit = REQUESTS[ApiKey.OFFSET_COMMIT]
    join, commit = make_join(group, topic), make_commit(group, topic)
    assert isinstance(join, JoinGroup)
    assert isinstance(commit, OffsetCommit)
    return {
        ApiKey.HEARTBEAT: Heartbeat(group, 1, member_id, None),
        ApiKey.SYNC_GROUP: SyncGroup(group_id=group, generation=1, member_id=member_id, instance_id=None),
        ApiKey.OFFSET_COMMIT: replace(commit, generation=1, member_id=member_id),
        ApiKey.JOIN_GROUP: replace(join, member_id=member_id),
        ApiKey.LEAVE_GROUP: LeaveGroup(group_id=group, members=(LeavingMember(member_id=member_id, instance_id=None),)),
    }


def move(world: World, group: str, to: str, members: list[Consumer]) -> None:
    """Have a group with members moved, and wait until it is there."""
    give_order(world.admin_of_bridge, group_path(group) + "/move", {"to": to})
    until = time.monotonic() + PATIENCE_S
    while (told := parse(ask_move(world.admin_of_bridge, group), group).get("stage")) != "done":
        assert told not in ("stopped", "refused"), parse(ask_move(world.admin_of_bridge, group), group)
        assert time.monotonic() < until, f"{group} is not moved to {to}"
        for member in members:
            member.poll(0.1)


WAYS: dict[str, tuple[str, ...]] = {
    "embedded": (),
    "upstream": (),
    "adopted": ("embedded",),
    "given-back": ("embedded", "pass"),
}
"""The moves behind which a group of such a name is."""


@pytest.mark.parametrize("road", WAYS)
def test_stranger_who_knows_a_member_speaks_for_it_nowhere(world: World, road: str) -> None:
    """On `upstream` it beat for it, was given its assignment, and had it leave: no broker was asked who that was."""
    group = GroupId(f"{road}-{uuid.uuid4().hex[:8]}")
    with ExitStack() as stack:
        member = consume(world.bridge, group, world.topic, "classic", stack)
        for to in WAYS[road]:
            move(world, group, to, [member])
        member_id, line = MemberId(member.memberid() or ""), world.line(world.bridge, "nothing")
        for api_key, request in requests_for(group, member_id, world.topic).items():
            reply = line.ask(api_key, REQUESTS[api_key][0], request)
            assert ErrorCode.GROUP_AUTHORIZATION_FAILED.name in repr(reply), (api_key, reply)
        # By its next heartbeat it would know.
        until = time.monotonic() + 2 * int(QUICK_SETTINGS["group.consumer.heartbeat.interval.ms"]) / 1_000
        while time.monotonic() < until:
            member.poll(0.1)
        assert (member.memberid(), len(member.assignment())) == (member_id, 1)


def test_groups_on_every_road_and_behind_every_move_are_refused_as_by_their_broker(world: World) -> None:
    """A group that was adopted, one that was given back, whose member's broker knows it by another id, and a classic
    member of a consumer group of the broker's; each beside a group of its kind that has never met a bridge.
    """
    with ExitStack() as stack:
        classic = consume(world.broker.bootstrap, f"pass-{LIVE}-still", world.topic, "classic", stack)
        moved, name = f"moved-{LIVE}-still", f"{LIVE}-still"
        members = [classic, consume(world.bridge, moved, world.topic, "classic", stack)]
        differ: Cells = {}
        for to in WAYS["given-back"]:
            move(world, moved, to, members)
            for cell, what in cells(world, name, members, ("pass", "moved")).items():
                differ[f"{cell[0]} behind a move to {to}", cell[1], cell[2]] = what
        if world.version != "3.9.1":
            members.append(consume(world.broker.bootstrap, "pass-modern-still", world.topic, "consumer", stack))
            members.append(consume(world.bridge, "upstream-modern-still", world.topic, "classic", stack))
            differ.update(cells(world, "modern-still", members, ("pass", "upstream")))
        assert [len(member.assignment()) for member in members] == [1] * len(members)
    assert not differ, "\n".join(f"{cell}:\n  {one}\n  {two}" for cell, (one, two) in differ.items())
