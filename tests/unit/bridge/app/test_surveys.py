"""The census as a running bridge takes it: what is asked of a cluster in memory, and what was heard."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import pytest

from bridge.admin.contracts import GroupSummary, GroupView, Snapshots
from bridge.app.examination import login_of
from bridge.app.moves import Seats
from bridge.app.survey_door import Ears, SurveyParts
from bridge.app.surveys import AppSurveys
from bridge.config.configuration import Config
from bridge.coordinators.embedded.bridge_meeting import PROTOCOL_TYPE
from bridge.migration.abilities import Login, TakeOverWay
from bridge.migration.missing_rights import Resource, Right
from bridge.migration.observed import GroupKind, Rebalancing, UserData
from bridge.migration.route import Road
from bridge.net.bridge_questions import BridgeQuestions
from bridge.net.cluster import UpstreamCluster
from bridge.net.cluster_memory import Entrance
from bridge.session.broker_addresses import Address
from bridge.session.old_commits import OldCommits
from bridge.telemetry.following.joins import Inputs
from bridge.telemetry.following.tracks import GroupTrack, MemberTrack
from bridge.telemetry.schema.terms import Protocol
from bridge.telemetry.schema.terms import Road as FollowedRoad
from bridge.wire.apis import ApiKey
from tests.support.admin_views import ORDERS, StillSnapshots
from tests.support.memory_cluster import Answers, MemoryCluster, replies
from translators.classic_member.profile import Profile
from translators.dialects.admin import (
    DescribedGroup,
    DescribedMember,
    DescribeGroupsReply,
    ListedGroup,
    ListGroupsReply,
)
from translators.dialects.classic import Protocol as ClassicProtocol
from translators.dialects.consumer_protocol import Subscription, encode_assignment, encode_subscription
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import ClientIdentity, GroupId, MemberId, MemberRef, TopicName
from translators.dialects.offsets import FetchedGroup, FetchedPartition, FetchedTopic, OffsetFetchReply

GROUP, MEMBER = GroupId("g"), MemberId("m-1")
INPUTS = Inputs(
    client_id="m",
    client_host="10.0.0.1",
    library="librdkafka",
    library_version="2.16",
    topics=("t",),
    assignors=("range",),
    session_timeout_ms=45_000,
)
LISTED = ListedGroup(group_id=GROUP, protocol_type="consumer", group_state="Empty", group_type="Classic")
VERSIONS_ASKED = (ApiKey.LIST_GROUPS, ApiKey.DESCRIBE_GROUPS, ApiKey.OFFSET_FETCH)
REFUSED = ErrorCode.GROUP_AUTHORIZATION_FAILED


def tracks() -> dict[GroupId, GroupTrack]:
    """One group that passes, with a member that was heard."""
    member = MemberTrack(member_id=MEMBER, protocol=Protocol.CLASSIC, inputs=INPUTS)
    track = GroupTrack(group_id=GROUP, road=FollowedRoad.PASSING, members={MEMBER: member}, assignor="range")
    return {GROUP: track}


def cluster(answers: Answers, entrance: Entrance = Entrance.OPEN) -> UpstreamCluster:
    """A cluster that speaks of groups and of nothing else."""
    versions = {int(api_key): MemoryCluster({}).versions[api_key] for api_key in VERSIONS_ASKED}
    found = MemoryCluster(answers, versions).upstream()
    found.entrance = entrance
    return found


def told(error: ErrorCode = ErrorCode.NONE) -> Answers:
    """A cluster with one empty group, described and with offsets unless it refuses to."""
    described = DescribedGroup(error=error, group_id=GROUP, group_state="Empty", protocol_type="consumer")
    fetched = FetchedGroup(group_id=GROUP, topics=(), error=error)
    return {
        ApiKey.LIST_GROUPS: replies(ApiKey.LIST_GROUPS, ListGroupsReply(error=ErrorCode.NONE, groups=(LISTED,))),
        ApiKey.DESCRIBE_GROUPS: replies(ApiKey.DESCRIBE_GROUPS, DescribeGroupsReply(groups=(described,))),
        ApiKey.OFFSET_FETCH: replies(ApiKey.OFFSET_FETCH, OffsetFetchReply(groups=(fetched,))),
    }


@dataclass(slots=True)
class StillConfigured:
    """The defaults."""

    config: Config = Config()


@dataclass(frozen=True, slots=True)
class NoGroups:
    """A bridge that coordinates none."""

    def groups(self) -> Sequence[GroupSummary]:
        """None."""
        return ()

    def group(self, name: str) -> GroupView | None:
        """None."""
        return None

    def readiness(self) -> Sequence[str]:
        """Ready."""
        return ()

    def troubles(self) -> Sequence[str]:
        """None."""
        return ()


@dataclass(frozen=True, slots=True)
class Known:
    """What owners of groups know of their members: the seats of mapped ones, and what classic clients say of
    themselves.
    """

    seats: Seats = field(default_factory=dict)
    profiles: Mapping[MemberRef, Profile] = field(default_factory=dict)
    old_commits: OldCommits = field(default_factory=OldCommits)


NOTHING_KNOWN = Known()


def surveys(
    upstream: UpstreamCluster,
    followed: Mapping[GroupId, GroupTrack] | None,
    snapshots: Snapshots | None = None,
    road: Road = Road.PASS,
    known: Known = NOTHING_KNOWN,
) -> AppSurveys:
    """Over a cluster, and what was heard for a minute."""
    questions = BridgeQuestions()
    questions.attach(upstream)
    ears = Ears(
        tracks=lambda: followed,
        road=lambda _: road,
        seats=lambda: known.seats,
        profile=known.profiles.get,
        listening_s=lambda: 60.0,
        addresses=lambda: (Address("127.0.0.1", 1),),
        old_commits=known.old_commits,
    )
    parts = SurveyParts(
        configured=StillConfigured(),
        cluster=upstream,
        broker=questions,
        fresh_member_id=lambda: MemberId("fresh"),
        snapshots=snapshots or NoGroups(),
        ears=ears,
    )
    return AppSurveys(parts)


async def test_open_cluster_is_asked_and_joined_with_what_was_heard() -> None:
    """What the coordinator says counts: the member that was heard is gone."""
    census = await surveys(cluster(told()), tracks()).census()
    (one,) = census.groups
    assert (one.group.kind, one.group.state, one.group.members, one.committed, one.lag) == (
        *(GroupKind.CLASSIC, "Empty", ()),
        *(0, 0),
    )
    assert (census.unseen, census.abilities.takeover, census.abilities.login) == (
        (),
        TakeOverWay.IMPOSSIBLE,
        Login.OPEN,
    )


async def test_groups_by_which_bridges_meet_are_nobodys_to_move() -> None:
    """Of whatever name: they were listed among the groups of clients."""
    bridges = ListedGroup(
        group_id=GroupId("__epochbridge-bridges"),
        protocol_type=PROTOCOL_TYPE,
        group_state="Stable",
        group_type="Classic",
    )
    listed = replies(ApiKey.LIST_GROUPS, ListGroupsReply(error=ErrorCode.NONE, groups=(LISTED, bridges)))
    census = await surveys(cluster({**told(), ApiKey.LIST_GROUPS: listed}), {}).census()
    assert [one.group.group_id for one in census.groups] == [GROUP]


async def test_member_whose_broker_knows_it_by_another_id_is_here() -> None:
    """It was moved, and has not joined since: who took the bridge away from it for being elsewhere would stop it. It is
    named as its client says, so that it can be moved by that.
    """
    seat = DescribedMember(
        member_id=MemberId("seat"),
        client_id="c",
        client_host="/h",
        metadata=b"",
        assignment=encode_assignment(frozenset()),
        instance_id=None,
    )
    described = DescribedGroup(
        error=ErrorCode.NONE, group_id=GROUP, group_state="Stable", protocol_type="consumer", members=(seat,)
    )
    answers = told() | {
        ApiKey.DESCRIBE_GROUPS: replies(ApiKey.DESCRIBE_GROUPS, DescribeGroupsReply(groups=(described,)))
    }
    seated: Seats = {GROUP: {MemberId("client"): MemberId("seat")}}
    for known in (seated, {}):
        (one,) = (await surveys(cluster(answers), tracks(), known=Known(seats=known)).census()).groups
        (member,) = one.group.members
        assert (member.member_id, member.is_behind_bridge) == (("client", True) if known else ("seat", False))


async def test_cluster_that_wants_a_login_is_not_asked() -> None:
    """What was heard is shown, and the page says what is missing and why."""
    census = await surveys(cluster(told(), Entrance.LOGIN), tracks()).census()
    (one,) = census.groups
    (member,) = one.group.members
    assert (member.library, member.assignors, member.session_timeout_ms) == ("librdkafka", ("range",), 45_000)
    assert (one.committed, one.lag, one.group.is_complete) == (None, None, False)
    assert [sentence.partition(":")[0] for sentence in census.unseen] == ["EB-CENSUS-001"]


async def test_what_is_not_heard_and_not_known_is_said() -> None:
    """Nobody follows groups, and no broker has answered yet."""
    census = await surveys(cluster({}, Entrance.UNKNOWN), None).census()
    assert census.groups == ()
    assert [sentence.partition(":")[0] for sentence in census.unseen] == ["EB-CENSUS-003", "EB-CENSUS-002"]


async def test_groups_that_a_broker_does_not_describe_are_said_once() -> None:
    """By error, with one of them by name."""
    census = await surveys(cluster(told(REFUSED)), {}).census()
    right = Right("Describe", Resource.GROUP, "g").missing()
    assert census.unseen == tuple(
        f"EB-CENSUS-006: 1 group was not {what} (GROUP_AUTHORIZATION_FAILED), 'g' among them; {right}"
        for what in ("described", "given with their offsets")
    )
    assert [one.group.state for one in census.groups] == ["Empty"]


async def test_ends_that_nobody_tells_are_said() -> None:
    """The lag of a group was a dash, and nobody said why: the bridge's user may not describe its topic."""
    topic = FetchedTopic(name=TopicName("t"), partitions=(FetchedPartition(partition=0, offset=5),))
    fetched = FetchedGroup(group_id=GROUP, topics=(topic,))
    answers = told() | {ApiKey.OFFSET_FETCH: replies(ApiKey.OFFSET_FETCH, OffsetFetchReply(groups=(fetched,)))}
    census = await surveys(cluster(answers), {}).census()
    assert [(one.committed, one.lag) for one in census.groups] == [(1, None)]
    (sentence,) = census.unseen
    assert sentence.startswith("EB-CENSUS-007: the end of 1 topic was not told, 't' among them")
    assert sentence.endswith(Right("Describe", Resource.TOPIC, "t").missing())


async def test_group_with_a_hidden_topic_is_said_with_what_helps() -> None:
    """A broker describes no consumer group of which the bridge's user may not see a topic; nobody said what to do."""
    census = await surveys(cluster(told(ErrorCode.TOPIC_AUTHORIZATION_FAILED)), {}).census()
    remedy = Right("Describe", Resource.TOPIC, "TOPIC").missing()
    assert census.unseen[0].endswith(f"'g' among them; for TOPIC, which a member subscribes to, {remedy}")


async def test_groups_that_are_coordinated_here_are_in_it() -> None:
    """By what the bridge itself knows of them, whoever follows."""
    upstream = cluster({**told(), ApiKey.LIST_GROUPS: replies(ApiKey.LIST_GROUPS, EMPTY)})
    census = await surveys(upstream, {}, StillSnapshots()).census()
    (one,) = census.groups
    assert (one.group.group_id, one.group.road, one.group.is_complete) == (
        ORDERS.summary.group_id,
        Road.EMBEDDED,
        True,
    )
    assert [member.partition_count for member in one.group.members] == [4, 0]


async def test_member_that_was_heard_to_commit_in_an_old_version_is_told_of() -> None:
    """Where its brokers do not take it: the way to pass is said to end its commits."""
    heard, (first, second) = OldCommits(), ORDERS.members
    heard.note(ApiKey.OFFSET_COMMIT, 1, ClientIdentity(client_id=first.client_id, client_host=first.client_host))
    upstream = cluster({**told(), ApiKey.LIST_GROUPS: replies(ApiKey.LIST_GROUPS, EMPTY)})
    census = await surveys(upstream, {}, StillSnapshots(), known=Known(old_commits=heard)).census()
    (one,) = census.groups
    found = {member.member_id: member.has_old_commits for member in one.group.members}
    assert found == {first.member_id: True, second.member_id: False}


EMPTY = ListGroupsReply(error=ErrorCode.NONE, groups=())


@pytest.mark.parametrize(
    ("entrance", "login"),
    [(Entrance.OPEN, Login.OPEN), (Entrance.LOGIN, Login.NONE), (Entrance.UNKNOWN, Login.UNKNOWN)],
)
def test_login_is_what_the_cluster_asks_for(entrance: Entrance, login: Login) -> None:
    """Without credentials of the bridge's own."""
    assert login_of(cluster({}, entrance)) is login


async def test_abilities_are_those_that_brokers_tell() -> None:
    """And unknown where nobody may be asked."""
    known = await surveys(cluster({}), {}).abilities()
    unknown = await surveys(cluster({}, Entrance.LOGIN), {}).abilities()
    assert (known.takeover, unknown.takeover) == (TakeOverWay.IMPOSSIBLE, TakeOverWay.UNKNOWN)


async def test_bridge_is_examined_with_its_cluster() -> None:
    """What clients are told is tried from here."""
    examined = await surveys(cluster(told()), {}).examine()
    assert (examined.abilities.takeover, examined.abilities.login, examined.probe_fault) == (
        TakeOverWay.IMPOSSIBLE,
        Login.OPEN,
        "",
    )
    assert [one.node_id for one in examined.brokers] == [1]
    assert examined.bridge.is_running
    assert [address.partition(": ")[0] for address in examined.bridge.unreachable] == ["127.0.0.1:1"]


async def test_members_of_a_group_that_passes_by_a_rule_are_those_that_were_heard() -> None:
    """The bridge lists such a group, and does not coordinate it."""
    passing = replace(ORDERS.summary, group_id=GROUP, road="pass", type="consumer")
    views = [replace(ORDERS, summary=passing, members=())]
    census = await surveys(cluster({}, Entrance.LOGIN), tracks(), StillSnapshots(views=views)).census()
    (one,) = census.groups
    assert [member.member_id for member in one.group.members] == [MEMBER]


@pytest.mark.parametrize(
    ("rule", "road"), [(Road.PASS, Road.PASS), (Road.EMBEDDED, Road.PASS), (Road.UPSTREAM, Road.UPSTREAM)]
)
async def test_listed_group_is_the_brokers_until_it_comes(rule: Road, road: Road) -> None:
    """A rule says where a group begins, and this one has not come; on upstream the broker has it anyway."""
    (one,) = (await surveys(cluster(told()), {}, road=rule).census()).groups
    assert one.group.road is road


SAID = Profile(
    protocols=tuple(
        ClassicProtocol(name, encode_subscription(Subscription(version=1, topics=(TopicName("t"),))))
        for name in ("cooperative-sticky",)
    ),
    protocol_name="cooperative-sticky",
    topics=frozenset({TopicName("t")}),
    rack_id=None,
    owned=None,
    is_eager=False,
    session_timeout_ms=30_000,
    rebalance_timeout_ms=300_000,
)


@pytest.mark.parametrize("followed", [{}, None])
async def test_translated_member_is_shown_as_it_joined(followed: Mapping[GroupId, GroupTrack] | None) -> None:
    """On road upstream what is heard of it is what the bridge says to its broker: without a session, and with the one
    assignor that the broker is to use, if any. What may stand in the way of giving it back could not be seen.
    """
    here = replace(ORDERS.members[0], member_id=MEMBER, protocol="classic")
    views = [replace(ORDERS, summary=replace(ORDERS.summary, group_id=GROUP, road="upstream"), members=(here,))]
    known = {MemberRef(GROUP, MEMBER): SAID}
    taken = surveys(
        cluster({}, Entrance.LOGIN), followed, StillSnapshots(views=views), Road.UPSTREAM, Known(profiles=known)
    )
    (one,) = (await taken.census()).groups
    (member,) = one.group.members
    assert (member.assignors, member.topics, member.rebalancing) == (
        ("cooperative-sticky",),
        ("t",),
        Rebalancing.COOPERATIVE,
    )
    assert (member.session_timeout_ms, member.rebalance_timeout_ms, member.subscription_data) == (
        30_000,
        300_000,
        UserData.NONE,
    )
    assert member.library == here.library
