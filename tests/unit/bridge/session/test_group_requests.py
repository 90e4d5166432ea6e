"""How far a group request is read."""

from dataclasses import replace

from bridge.migration.route import Road, Router, Rule
from bridge.session.group_requests import (
    DividedRequest,
    GroupRequests,
    KnownGroups,
    Misread,
    Passes,
    Taken,
    Unplaced,
    Untranslated,
)
from bridge.wire.apis import ApiKey
from bridge.wire.codec.registry import Request, decode_reply, encode_request
from bridge.wire.frames import RequestHeader, read_request_header
from tests.support.embedded_world import join_request, native_join
from translators.dialects.admin import DeletedGroup, DeleteGroups, DeleteGroupsReply, DescribeGroups, ListGroups
from translators.dialects.classic import Heartbeat, JoinGroup, LeaveGroup, LeavingMember, Protocol
from translators.dialects.configs import (
    GROUP,
    AskedResource,
    DescribeConfigs,
    IncrementalAlterConfigs,
    ListConfigResources,
    Resource,
    ResourceAlterations,
)
from translators.dialects.consumer import ConsumerGroupDescribe, ConsumerGroupHeartbeat
from translators.dialects.consumer_protocol import Subscription, encode_subscription
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import GroupId, InstanceId, MemberId, TopicName, TopicPartition
from translators.dialects.offsets import (
    GroupOffsets,
    OffsetCommit,
    OffsetCommitReply,
    OffsetFetch,
    PartitionCommit,
    TopicCommit,
)

OURS, THEIRS = GroupId("embedded-x"), GroupId("other")
ROUTER = Router([Rule("embedded-*", Road.EMBEDDED)])


def framed(api_key: int, version: int, message: Request) -> tuple[RequestHeader, bytes]:
    """A request with its header."""
    frame = encode_request(api_key, version, 5, "client", message)
    header = read_request_header(frame)
    assert header is not None
    return header, frame


def beat(group_id: GroupId) -> Heartbeat:
    """A heartbeat of a group."""
    return Heartbeat(group_id, 1, MemberId("m"), None)


def test_pass_group_is_named_and_nothing_more() -> None:
    """Road pass: observed by name, not decoded."""
    assert GroupRequests(ROUTER).read(*framed(ApiKey.HEARTBEAT, 4, beat(THEIRS))) == Passes((THEIRS,))


def test_embedded_group_is_decoded() -> None:
    """Road embedded: the message, for Heartbeat by the fast path; membership never asks the broker."""
    leave = LeaveGroup(group_id=OURS, members=(LeavingMember(member_id=MemberId("m")),))
    assert GroupRequests(ROUTER).read(*framed(ApiKey.HEARTBEAT, 4, beat(OURS))) == Taken(
        Road.EMBEDDED, beat(OURS), may_ask=False
    )
    assert GroupRequests(ROUTER).read(*framed(ApiKey.LEAVE_GROUP, 4, leave)) == Taken(
        Road.EMBEDDED, leave, may_ask=False
    )


def test_batches_are_cut_by_road() -> None:
    """A batch of two roads keeps what the merge needs; ListGroups is the bridge's as soon as a rule takes groups."""
    reader = GroupRequests(ROUTER)
    assert reader.read(*framed(ApiKey.DELETE_GROUPS, 2, DeleteGroups((THEIRS,)))) == Passes((THEIRS,))
    found = reader.read(*framed(ApiKey.DELETE_GROUPS, 2, DeleteGroups((THEIRS, OURS))))
    assert isinstance(found, DividedRequest)
    assert found.merge.parts == {Road.PASS: DeleteGroups((THEIRS,)), Road.EMBEDDED: DeleteGroups((OURS,))}
    listed = reader.read(*framed(ApiKey.LIST_GROUPS, 4, ListGroups()))
    assert listed == Taken(Road.EMBEDDED, ListGroups(), may_ask=True)
    assert GroupRequests(Router(())).read(*framed(ApiKey.LIST_GROUPS, 4, ListGroups())) == Passes(())


def test_settings_of_groups_are_cut_by_road_and_all_others_are_the_brokers() -> None:
    """A request for nothing of an embedded group goes as it came, whatever it names, also if it is too much, and one
    that is older than settings of groups; what is too much and names such a group is refused, for the broker would take
    it and nothing would change.
    """
    reader = GroupRequests(ROUTER, elements_max=9)
    topic, theirs, ours = Resource(2, OURS), Resource(GROUP, THEIRS), Resource(GROUP, OURS)
    passing = DescribeConfigs(resources=(AskedResource(topic), AskedResource(theirs)))
    assert reader.read(*framed(ApiKey.DESCRIBE_CONFIGS, 4, passing)) == Passes(())
    both = DescribeConfigs(resources=(AskedResource(ours), AskedResource(topic)))
    found = reader.read(*framed(ApiKey.DESCRIBE_CONFIGS, 4, both))
    assert isinstance(found, DividedRequest)
    assert found.merge.parts == {
        Road.EMBEDDED: DescribeConfigs(resources=(AskedResource(ours),)),
        Road.PASS: DescribeConfigs(resources=(AskedResource(topic),)),
    }
    many = DescribeConfigs(resources=(AskedResource(ours),) * 10)
    found = reader.read(*framed(ApiKey.DESCRIBE_CONFIGS, 4, many))
    assert isinstance(found, Misread)
    assert found.is_too_much
    others = DescribeConfigs(resources=(AskedResource(topic), AskedResource(theirs)) * 5)
    assert reader.read(*framed(ApiKey.DESCRIBE_CONFIGS, 4, others)) == Passes(())
    kinds = framed(ApiKey.LIST_CONFIG_RESOURCES, 1, ListConfigResources(types=(2,) * 10))
    assert reader.read(*kinds) == Passes(())
    header, frame = framed(ApiKey.DESCRIBE_CONFIGS, 1, both)
    assert reader.read(header._replace(api_version=0), frame) == Passes(())
    altering = IncrementalAlterConfigs(resources=(ResourceAlterations(ours, ()),))
    assert reader.read(*framed(ApiKey.INCREMENTAL_ALTER_CONFIGS, 1, altering)) == Taken(
        Road.EMBEDDED, altering, may_ask=True
    )


def test_list_of_resources_is_the_bridges_where_groups_may_be_in_it() -> None:
    """Others are the broker's, as all are where nothing is embedded."""
    for types, found in (
        ((), Taken(Road.EMBEDDED, ListConfigResources(), may_ask=True)),
        ((GROUP,), Taken(Road.EMBEDDED, ListConfigResources(types=(GROUP,)), may_ask=True)),
        ((16,), Passes(())),
    ):
        asked = framed(ApiKey.LIST_CONFIG_RESOURCES, 1, ListConfigResources(types=types))
        assert GroupRequests(ROUTER).read(*asked) == found
        assert GroupRequests(Router(())).read(*asked) == Passes(())


def test_member_that_was_moved_by_itself_takes_its_own_road() -> None:
    """Its group passes; a LeaveGroup of two members goes both ways, and one that names nobody moved passes as ever."""
    router = Router(())
    assert router.move_member(THEIRS, MemberId("m"), Road.UPSTREAM)
    reader = GroupRequests(router)
    assert reader.read(*framed(ApiKey.HEARTBEAT, 4, beat(THEIRS))) == Taken(Road.UPSTREAM, beat(THEIRS), may_ask=False)
    stays, moved = LeavingMember(member_id=MemberId("n")), LeavingMember(member_id=MemberId("m"))
    leave = LeaveGroup(group_id=THEIRS, members=(stays, moved))
    found = reader.read(*framed(ApiKey.LEAVE_GROUP, 4, leave))
    assert isinstance(found, DividedRequest)
    assert found.merge.parts == {
        Road.PASS: LeaveGroup(group_id=THEIRS, members=(stays,)),
        Road.UPSTREAM: LeaveGroup(group_id=THEIRS, members=(moved,)),
    }
    router.return_member(THEIRS, MemberId("m"))
    assert reader.read(*framed(ApiKey.HEARTBEAT, 4, beat(THEIRS))) == Passes((THEIRS,))


def test_malformed_request_of_an_embedded_group_is_misread_with_its_place() -> None:
    """Frame-exact: a byte too many names api, version and field; of a pass group the broker judges."""
    header, frame = framed(ApiKey.HEARTBEAT, 3, beat(OURS))
    longer = header._replace(frame_bytes=header.frame_bytes + 1)
    found = GroupRequests(ROUTER).read(longer, frame + b"\x00")
    assert isinstance(found, Misread)
    assert "HEARTBEAT v3" in found.detail
    header, frame = framed(ApiKey.HEARTBEAT, 3, beat(THEIRS))
    assert GroupRequests(ROUTER).read(header, frame + b"\x00") == Passes((THEIRS,))


def test_request_with_more_elements_than_are_read_is_told_apart() -> None:
    """It may be genuine: the operator can raise the limit."""
    leave = LeaveGroup(group_id=OURS, members=(LeavingMember(member_id=MemberId("m")),) * 3)
    header, frame = framed(ApiKey.LEAVE_GROUP, 4, leave)
    assert GroupRequests(ROUTER, elements_max=3).read(header, frame) == Taken(Road.EMBEDDED, leave, may_ask=False)
    found = GroupRequests(ROUTER, elements_max=2).read(header, frame)
    assert isinstance(found, Misread)
    assert found.is_too_much


def test_subscription_is_bounded_as_every_other_list_is_and_read_where_nobody_waits() -> None:
    """A megabyte names 260,000 partitions, which were read in one piece in the thread that serves everybody. Whoever
    owns that many could not commit them in one request either; bytes of a group of another type are no subscription.
    """
    owned = frozenset(TopicPartition(TopicName("t"), number) for number in range(19))
    wanted = encode_subscription(Subscription(version=1, topics=(TopicName("t"),), owned=owned))
    joining = replace(join_request("m"), group_id=OURS, protocols=(Protocol("range", wanted),))
    header, frame = framed(ApiKey.JOIN_GROUP, 5, joining)
    found = GroupRequests(ROUTER, elements_max=20).read(header, frame)
    assert isinstance(found, Taken)
    assert isinstance(found.request, JoinGroup)
    assert found.request.has_read(joining.protocols[0])
    refused = GroupRequests(ROUTER, elements_max=19).read(header, frame)
    assert isinstance(refused, Misread)
    assert refused.is_too_much
    assert "it names 20, at most 19 are read" in refused.detail
    other = framed(ApiKey.JOIN_GROUP, 5, replace(joining, protocol_type="connect"))
    assert isinstance(GroupRequests(ROUTER, elements_max=19).read(*other), Passes)
    taken = KnownGroups(holds=lambda _: True)
    assert isinstance(GroupRequests(ROUTER, elements_max=19, known_groups=taken).read(*other), Taken)
    ordinary = GroupRequests(ROUTER).read(header, frame)
    assert isinstance(ordinary, Taken)
    assert isinstance(ordinary.request, JoinGroup)
    assert not ordinary.request.has_read(joining.protocols[0])


def test_request_that_the_broker_lacks_gets_unsupported_version() -> None:
    """Offered because of embedded groups, but this group passes to a broker without the api (decision 18)."""
    header, frame = framed(ApiKey.DELETE_GROUPS, 2, DeleteGroups((THEIRS,)))
    refusal = GroupRequests(ROUTER).unsupported(header, frame)
    assert refusal is not None
    assert decode_reply(ApiKey.DELETE_GROUPS, 2, refusal[4:]) == (
        5,
        DeleteGroupsReply(groups=(DeletedGroup(THEIRS, ErrorCode.UNSUPPORTED_VERSION),)),
    )
    assert GroupRequests(ROUTER).unsupported(header._replace(api_version=99), frame) is None


def test_offsets_of_old_clients_go_by_their_group_but_those_in_zookeeper() -> None:
    """sarama commits by version 1, which each road takes; version 0 knows no members and is the broker's affair."""
    commit = OffsetCommit(group_id=OURS, generation=1, member_id=MemberId("m"), instance_id=None, topics=())
    header, frame = framed(ApiKey.OFFSET_COMMIT, 2, replace(commit, knows_member_epoch=False))
    retention = b"\xff" * 8
    assert frame.count(retention) == 1
    old = header._replace(api_version=1), frame.replace(retention, b"")
    assert GroupRequests(ROUTER).read(*old) == Taken(
        Road.EMBEDDED, replace(commit, knows_member_epoch=False), may_ask=True
    )
    refusal = GroupRequests(ROUTER).unsupported(*old)
    assert refusal is not None
    assert decode_reply(ApiKey.OFFSET_COMMIT, 1, refusal[4:]) == (5, OffsetCommitReply(topics=()))
    fetch = framed(ApiKey.OFFSET_FETCH, 1, OffsetFetch(groups=(GroupOffsets(group_id=OURS, topics=()),)))
    for oldest, data in (old, fetch):
        assert GroupRequests(ROUTER).read(oldest._replace(api_version=0), data) == Passes(())
        assert GroupRequests(ROUTER).unsupported(oldest._replace(api_version=0), data) is None


def test_lists_of_names_have_a_limit_of_their_own() -> None:
    """90,000 leavers were answered in 2.7 s, in which nobody else was served; a commit may name as many partitions."""
    leavers = tuple(LeavingMember(member_id=MemberId(f"m-{n}"), instance_id=InstanceId("i")) for n in range(300))
    ours = tuple(GroupId(f"embedded-{n}") for n in range(300))
    requests: tuple[tuple[int, int, Request], ...] = (
        (ApiKey.LEAVE_GROUP, 4, LeaveGroup(group_id=OURS, members=leavers)),
        (ApiKey.DESCRIBE_GROUPS, 5, DescribeGroups(group_ids=ours)),
        (ApiKey.DELETE_GROUPS, 2, DeleteGroups(group_ids=ours)),
        (ApiKey.CONSUMER_GROUP_DESCRIBE, 0, ConsumerGroupDescribe(group_ids=ours)),
    )
    for api_key, version, message in requests:
        assert isinstance(GroupRequests(ROUTER, names_max=300).read(*framed(api_key, version, message)), Taken)
        refused = GroupRequests(ROUTER, names_max=299).read(*framed(api_key, version, message))
        assert isinstance(refused, Misread), api_key
        assert refused.is_too_much
    parts = tuple(PartitionCommit(partition=number, offset=1) for number in range(300))
    topics = (TopicCommit(name=TopicName("t"), partitions=parts),)
    commit = OffsetCommit(group_id=OURS, generation=1, member_id=MemberId("m"), instance_id=None, topics=topics)
    assert isinstance(GroupRequests(ROUTER, names_max=1).read(*framed(ApiKey.OFFSET_COMMIT, 8, commit)), Taken)


def test_member_that_nobody_can_translate_joins_at_the_broker() -> None:
    """The members beside it are translated, and so is what a machine is there for."""
    router = Router((Rule("other", Road.UPSTREAM),))
    worker = replace(join_request("w"), group_id=THEIRS, protocols=(Protocol("acme", b""),))
    consumer = replace(join_request("c"), group_id=THEIRS)
    reader = GroupRequests(router)
    found = reader.read(*framed(ApiKey.JOIN_GROUP, 5, worker))
    assert isinstance(found, Passes)
    assert found.untranslated == Untranslated(
        MemberId("w"), "of the protocols offered ('acme') none has a server-side equivalent"
    )
    router.let_pass(THEIRS, MemberId("w"))
    leave = LeaveGroup(group_id=THEIRS, members=(LeavingMember(member_id=MemberId("w")),))
    assert reader.read(*framed(ApiKey.LEAVE_GROUP, 4, leave)) == Passes((THEIRS,))
    assert reader.read(*framed(ApiKey.JOIN_GROUP, 5, worker)) == Passes((THEIRS,))
    assert isinstance(reader.read(*framed(ApiKey.JOIN_GROUP, 5, consumer)), Taken)
    again = replace(worker, member_id=MemberId("v"))
    assert isinstance(reader.read(*framed(ApiKey.JOIN_GROUP, 5, again)), Passes)
    known = GroupRequests(router, known_groups=KnownGroups(translates=lambda _, member_id: member_id == "v"))
    assert isinstance(known.read(*framed(ApiKey.JOIN_GROUP, 5, again)), Taken)


def test_worker_of_another_protocol_type_goes_to_the_broker_unless_its_group_is_here() -> None:
    """Connect's workers under any rule, but where consumers had the name before and left (K1.15)."""
    worker = replace(join_request("w"), group_id=OURS, protocol_type="connect")
    framed_worker = framed(ApiKey.JOIN_GROUP, 5, worker)
    for road in (Road.EMBEDDED, Road.UPSTREAM):
        router = Router((Rule("*", road),))
        assert GroupRequests(router).read(*framed_worker) == Passes((OURS,), kind="connect")
        lived = KnownGroups(has_members=lambda _: True, translates=lambda _group_id, _member_id: True)
        assert isinstance(GroupRequests(router, known_groups=lived).read(*framed_worker), Taken)
    emptied = KnownGroups(holds=lambda _: True)
    found = {
        road: GroupRequests(Router((Rule("*", road),)), known_groups=emptied).read(*framed_worker)
        for road in (Road.EMBEDDED, Road.UPSTREAM)
    }
    assert isinstance(found[Road.EMBEDDED], Taken), "its generations are counted here"
    assert isinstance(found[Road.UPSTREAM], Passes), "there its broker counts them"


def test_group_that_nobody_has_heard_of_is_looked_up_before_its_members_are_answered() -> None:
    """But not for an admin, whose questions are answered by whoever has the group, nor for one whose rule is `pass`."""
    reader = GroupRequests(ROUTER, known_groups=KnownGroups(is_known=lambda _: False))
    requests: tuple[tuple[ApiKey, int, Request], ...] = (
        (ApiKey.JOIN_GROUP, 5, replace(join_request("a"), group_id=OURS)),
        (ApiKey.HEARTBEAT, 3, beat(OURS)),
        (ApiKey.CONSUMER_GROUP_HEARTBEAT, 1, replace(native_join("n"), group_id=OURS)),
    )
    for api_key, version, message in requests:
        assert reader.read(*framed(api_key, version, message)) == Unplaced((OURS,))
        assert isinstance(reader.read(*framed(api_key, version, message), is_placed=True), Taken)
    fetch = OffsetFetch(groups=tuple(GroupOffsets(group_id=one, topics=None) for one in (OURS, THEIRS)))
    assert reader.read(*framed(ApiKey.OFFSET_FETCH, 8, fetch)) == Unplaced((OURS,))
    assert isinstance(reader.read(*framed(ApiKey.OFFSET_FETCH, 8, fetch), is_placed=True), DividedRequest)
    describe = DescribeGroups(group_ids=(OURS,))
    assert isinstance(reader.read(*framed(ApiKey.DESCRIBE_GROUPS, 5, describe)), Taken)
    assert reader.read(*framed(ApiKey.HEARTBEAT, 3, beat(THEIRS))) == Passes((THEIRS,))


def test_group_that_stays_elsewhere_is_looked_up_when_somebody_joins() -> None:
    """It may be empty by then; whoever is in it goes on where it is."""
    router = Router((Rule("embedded-*", Road.EMBEDDED),))
    router.let_stay(OURS, Road.PASS)
    reader = GroupRequests(router)
    joins: tuple[tuple[ApiKey, int, Request], ...] = (
        (ApiKey.JOIN_GROUP, 5, replace(join_request("a"), group_id=OURS)),
        (ApiKey.CONSUMER_GROUP_HEARTBEAT, 1, replace(native_join("n"), group_id=OURS)),
    )
    for api_key, version, message in joins:
        assert reader.read(*framed(api_key, version, message)) == Unplaced((OURS,))
        assert reader.read(*framed(api_key, version, message), is_placed=True) == Passes((OURS,))
    steady: tuple[tuple[ApiKey, int, Request], ...] = (
        (ApiKey.HEARTBEAT, 3, beat(OURS)),
        (ApiKey.CONSUMER_GROUP_HEARTBEAT, 1, replace(native_join("n"), group_id=OURS, member_epoch=7)),
    )
    worker = replace(join_request("w"), group_id=OURS, protocol_type="connect")
    steady = (*steady, (ApiKey.JOIN_GROUP, 5, worker))
    for api_key, version, message in steady:
        assert reader.read(*framed(api_key, version, message)) == Passes((OURS,))


def test_first_client_of_a_group_claims_its_road() -> None:
    """By joining, and only where nobody of it is here and nobody moved it; what can't be read claims nothing."""
    router = Router((Rule("*", Road.EMBEDDED, client_id="cli*"),))
    joins: tuple[tuple[ApiKey, int, JoinGroup | ConsumerGroupHeartbeat], ...] = (
        (ApiKey.JOIN_GROUP, 5, replace(join_request("a"), group_id=GroupId("a"))),
        (ApiKey.CONSUMER_GROUP_HEARTBEAT, 1, replace(native_join("n"), group_id=GroupId("b"))),
    )
    reader = GroupRequests(router, known_groups=KnownGroups(is_known=lambda _: False))
    for api_key, version, message in joins:
        header, frame = framed(api_key, version, message)
        assert reader.unclaimed(header, frame) == message.group_id
        assert isinstance(reader.read(header, frame), Passes)
        reader.claim(header, frame, "")
        assert isinstance(reader.read(header, frame), Unplaced)
        assert isinstance(reader.read(header, frame, is_placed=True), Taken)
        assert reader.unclaimed(header, frame) is None
    assert reader.unclaimed(*framed(ApiKey.HEARTBEAT, 3, beat(THEIRS))) is None
    header, frame = framed(ApiKey.JOIN_GROUP, 5, join_request("a"))
    assert reader.unclaimed(header, frame[: header.body_offset]) is None
    nameless = replace(join_request("a"), group_id=GroupId(""))
    assert reader.unclaimed(*framed(ApiKey.JOIN_GROUP, 5, nameless)) is None
    living = GroupRequests(router, known_groups=KnownGroups(has_members=lambda _: True))
    assert living.unclaimed(header, frame) is None
    router.place_group(join_request("a").group_id, Road.PASS)
    assert reader.unclaimed(header, frame) is None
