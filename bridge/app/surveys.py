"""The census of a running bridge: what the cluster tells, what was heard here, put together by the migration room."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import replace

import trio

from bridge.admin.contracts import MemberView
from bridge.app.examination import ClusterAccess, bridge_facts, broker_facts, examine_cluster, login_of
from bridge.app.survey_door import SurveyParts
from bridge.coordinators.embedded.bridge_meeting import PROTOCOL_TYPE as OF_BRIDGES
from bridge.migration.abilities import BrokerAbilities, Login
from bridge.migration.broker_facts import read_abilities
from bridge.migration.census import Census, Told, committed_partitions, take_census
from bridge.migration.diagnosis import Examined
from bridge.migration.missing_rights import Resource, Right
from bridge.migration.observed import MemberProtocol, ObservedMember, UserData
from bridge.migration.observing import HeardGroup, subscription_data_of
from bridge.migration.route import Road
from bridge.net.broker_connection import connect
from bridge.net.cluster_survey import BrokerFound, ClusterSurvey, GroupsFound
from bridge.ports import BrokerUnreachable
from bridge.session.old_commits import OldCommits
from bridge.telemetry.following.tracks import GroupTrack, MemberTrack
from bridge.telemetry.schema.terms import Protocol as SpokenProtocol
from translators.dialects.admin import DescribedGroup, ListedGroup
from translators.dialects.consumer import DescribedConsumerGroup
from translators.dialects.consumer_protocol import CONSUMER
from translators.dialects.counts import counted
from translators.dialects.errors import ErrorCode, quote
from translators.dialects.ids import GroupId, InstanceId, MemberId, MemberRef, TopicName
from translators.dialects.offsets import FetchedGroup

CONNECT_TIMEOUT_S = 3.0
ABILITIES_S = 3.0
"""How long each broker may take to say what it can do, where a move waits for it: one that is dead leaves the others'
word.
"""
LISTENING_MIN_S = 20.0
"""After so long each member of a group on road pass has sent a heartbeat over its connection here, if it has one."""
TRACKS_BETWEEN_BREATHS = 200
"""How many groups are looked at before others are served."""
_NOT_ASKED = (
    "EB-CENSUS-001: the bridge did not ask the cluster, which authenticates its clients, and the bridge has no login:"
    " what is shown is what was heard of groups that pass, without states, commits and lag; set"
    " upstream.sasl.mechanism, upstream.sasl.username and upstream.sasl.password.path"
)
_NOT_KNOWN = (
    "EB-CENSUS-002: no broker has answered yet: what is shown is what was heard here; check bootstrap and that the"
    " cluster runs"
)
_UNANSWERED = "EB-CENSUS-005"
"""A broker did not answer one question of the census; the sentence says which broker, and why."""
_NOT_FOLLOWED = (
    "EB-CENSUS-003: groups are not followed: libraries, timeouts and who comes through this bridge are not known; set"
    " metrics.rebalances: true"
)


class AppSurveys:
    """Looks at the cluster and at the groups heard here (`admin.contracts.Surveys`)."""

    def __init__(self, parts: SurveyParts) -> None:
        self._configured = parts.configured
        self._cluster = parts.cluster
        self._survey = ClusterSurvey(parts.cluster)
        self._access = ClusterAccess(self._cluster, self._survey, parts.broker, parts.fresh_member_id)
        self._snapshots = parts.snapshots
        self._ears = parts.ears

    async def census(self) -> Census:
        """All groups, of the cluster and heard here."""
        unseen: list[str] = []
        tracks = self._ears.tracks()
        if tracks is None:
            unseen.append(_NOT_FOLLOWED)
        told, abilities = await self._ask(unseen)
        heard = await self._hear(tracks or {}, told.listed)
        # What was asked and heard are values by now: a thread puts thousands of groups together.
        return await trio.to_thread.run_sync(lambda: take_census(told, heard, abilities, unseen))

    async def examine(self) -> Examined:
        """The cluster, also by a probe, and this bridge."""
        examined = await examine_cluster(self._access)
        bridge = replace(
            bridge_facts(self._configured.config), is_running=True, unreachable=await self._find_unreachable()
        )
        return replace(examined, bridge=bridge)

    async def _find_unreachable(self) -> tuple[str, ...]:
        """Addresses that clients are told and nobody can connect to from here."""
        unreachable: list[str] = []
        for address in dict.fromkeys(self._ears.addresses()):
            try:
                transport = await connect(address, CONNECT_TIMEOUT_S)
            except BrokerUnreachable as problem:
                unreachable.append(str(problem))
            else:
                transport.close()
        return tuple(unreachable)

    async def abilities(self) -> BrokerAbilities:
        """What the cluster can do by what its brokers tell."""
        login = login_of(self._cluster)
        if login not in (Login.OPEN, Login.OWN):
            return read_abilities((), login)
        found = await self._survey.describe_brokers(await self._survey.find_brokers(), ABILITIES_S)
        return self._abilities(found)

    def _abilities(self, found: Iterable[BrokerFound]) -> BrokerAbilities:
        facts = [broker_facts(one) for one in found if not one.fault]
        return read_abilities(facts, login_of(self._cluster))

    async def _ask(self, unseen: list[str]) -> tuple[Told, BrokerAbilities]:
        login = login_of(self._cluster)
        if login not in (Login.OPEN, Login.OWN):
            unseen.append(_NOT_ASKED if login is Login.NONE else _NOT_KNOWN)
            return Told(), read_abilities((), login)
        nodes = await self._survey.find_brokers()
        if not nodes:
            unseen.append(_NOT_KNOWN)
        brokers = await self._survey.describe_brokers(nodes)
        groups = [_without_bridges(found) for found in await self._survey.find_groups(nodes)]
        unseen += [f"{_UNANSWERED}: {fault}" for fault in _faults(groups)]
        offsets = {name: one for found in groups for name, one in found.offsets.items()}
        committed = committed_partitions(offsets.values())
        ends = await self._survey.find_end_offsets(committed)
        listed, classic, consumer = _put_together(groups)
        unseen += _refusals(classic.values(), consumer.values(), offsets.values())
        unseen += _untold_ends({one.topic for one in committed - ends.keys()})
        told = Told(listed=listed, classic=classic, consumer=consumer, offsets=offsets, ends=ends)
        return told, self._abilities(brokers)

    async def _hear(
        self, tracks: Mapping[GroupId, GroupTrack], listed: Iterable[ListedGroup]
    ) -> dict[GroupId, HeardGroup]:
        is_long_enough = bool(tracks) and self._ears.listening_s() >= LISTENING_MIN_S
        seats = self._ears.seats()
        heard = {one.group_id: self._unheard(one.group_id, is_long_enough=is_long_enough) for one in listed}
        for number, (group_id, track) in enumerate(tuple(tracks.items())):
            clients = {seat_id: client_id for client_id, seat_id in seats.get(group_id, {}).items()}
            heard_here = (_member(one, clients.get(one.member_id, one.member_id)) for one in track.members.values())
            members = {one.member_id: one for one in heard_here}
            known = self._unheard(group_id, is_long_enough=is_long_enough)
            heard[group_id] = replace(
                known, protocol_type=_protocol_type(track), members=members, assignor=track.assignor
            )
            if number % TRACKS_BETWEEN_BREATHS == 0:
                await trio.lowlevel.checkpoint()
        heard |= dict(self._coordinated(heard))
        for group_id, names in seats.items():
            known = heard.get(group_id) or self._unheard(group_id, is_long_enough=is_long_enough)
            heard[group_id] = replace(known, members=_as_brokers_know(known.members, names))
        return heard

    def _unheard(self, group_id: GroupId, *, is_long_enough: bool) -> HeardGroup:
        """A group of which nobody spoke here; one that its rule sends to embedded is its broker's until it comes.

        Members that are translated speak to the bridge alone: of those nobody can say by listening who is here.
        """
        is_upstream = self._ears.road(group_id) is Road.UPSTREAM
        road = Road.UPSTREAM if is_upstream else Road.PASS
        return HeardGroup(road=road, is_long_enough=is_long_enough and not is_upstream)

    def _coordinated(self, heard: Mapping[GroupId, HeardGroup]) -> Iterator[tuple[GroupId, HeardGroup]]:
        """The groups of which the bridge has the members: it knows who is in, heard or not."""
        for summary in self._snapshots.groups():
            if summary.road not in (Road.EMBEDDED.value, Road.UPSTREAM.value):
                continue
            group_id = GroupId(summary.group_id)
            view = self._snapshots.group(summary.group_id)
            known = heard[group_id].members if group_id in heard else {}
            members = () if view is None else view.members
            said = {one.member_id: self._said(group_id, MemberId(one.member_id), known) for one in members}
            yield (
                group_id,
                HeardGroup(
                    road=Road(summary.road),
                    members={
                        MemberId(one.member_id): _viewed(one, said[one.member_id], self._ears.old_commits)
                        for one in members
                    },
                    state=summary.state,
                    assignor=summary.assignor,
                ),
            )

    def _said(
        self, group_id: GroupId, member_id: MemberId, known: Mapping[MemberId, ObservedMember]
    ) -> ObservedMember | None:
        """What a member said of itself: a translated one to the bridge, which says to a broker what a broker asks for,
        and was heard to say that.
        """
        profile = self._ears.profile(MemberRef(group_id, member_id))
        if profile is None:
            return known.get(member_id)
        return ObservedMember(
            member_id=member_id,
            assignors=tuple(one.name for one in profile.protocols),
            topics=tuple(sorted(profile.topics)),
            session_timeout_ms=profile.session_timeout_ms,
            rebalance_timeout_ms=profile.rebalance_timeout_ms,
            subscription_data=subscription_data_of(profile.protocols, profile.protocol_name),
        )


def _put_together(
    groups: Iterable[GroupsFound],
) -> tuple[tuple[ListedGroup, ...], dict[GroupId, DescribedGroup], dict[GroupId, DescribedConsumerGroup]]:
    listed = {one.group_id: one for found in groups for one in found.listed}
    classic = {name: one for found in groups for name, one in found.classic.items()}
    consumer = {name: one for found in groups for name, one in found.consumer.items()}
    return tuple(listed.values()), classic, consumer


def _without_bridges(found: GroupsFound) -> GroupsFound:
    """The same without the groups by which bridges notice each other: they are nobody's to move."""
    return replace(found, listed=tuple(one for one in found.listed if one.protocol_type != OF_BRIDGES))


def _faults(groups: Iterable[GroupsFound]) -> Iterator[str]:
    return (fault for found in groups for fault in found.faults)


def _refusals(
    classic: Iterable[DescribedGroup], consumer: Iterable[DescribedConsumerGroup], offsets: Iterable[FetchedGroup]
) -> Iterator[str]:
    """One sentence for all groups that a broker did not describe, by error, and one for those without offsets."""
    described = [*((one.group_id, one.error) for one in classic), *((one.group_id, one.error) for one in consumer)]
    for what, found in (
        ("described", described),
        ("given with their offsets", [(one.group_id, one.error) for one in offsets]),
    ):
        for error in sorted({error for _, error in found} - {ErrorCode.NONE}):
            names = sorted(name for name, told in found if told is error)
            step, first = "", names[0]
            if error is ErrorCode.GROUP_AUTHORIZATION_FAILED:
                step = f"; {Right('Describe', Resource.GROUP, first).missing()}"
            elif error is ErrorCode.TOPIC_AUTHORIZATION_FAILED:
                # Of a consumer group: the broker says of no group which topic of which member that is.
                step = (
                    f"; for TOPIC, which a member subscribes to, {Right('Describe', Resource.TOPIC, 'TOPIC').missing()}"
                )
            yield (
                f"EB-CENSUS-006: {counted(len(names), 'group was', 'groups were')} not {what} ({error.name}),"
                f" {first!r:.100} among them{step}"
            )


def _untold_ends(topics: Collection[TopicName]) -> Iterator[str]:
    """One sentence for all topics whose ends nobody told, so that there is no lag of who has committed there."""
    if topics:
        first = min(topics)
        yield (
            f"EB-CENSUS-007: the end of {counted(len(topics), 'topic was', 'topics were')} not told,"
            f" {quote(first)!r:.100} among them, so that the lag of groups that have committed there is not known: it"
            f" is gone, without a leader, or {Right('Describe', Resource.TOPIC, first).missing()}"
        )


def _protocol_type(track: GroupTrack) -> str:
    """What its members share out, as one that was heard to join says."""
    said = (one.inputs.protocol_type for one in track.members.values() if one.inputs.assignors)
    return next(said, CONSUMER)


def _as_brokers_know(
    members: Mapping[MemberId, ObservedMember], names: Mapping[MemberId, MemberId]
) -> Mapping[MemberId, ObservedMember]:
    """The members that were heard, by the ids of their seats; those with a seat are here, if nobody followed them."""
    seated = {seat_id: members.get(one) or ObservedMember(member_id=one) for one, seat_id in names.items()}
    return {one: member for one, member in members.items() if one not in names} | seated


def _member(track: MemberTrack, member_id: MemberId) -> ObservedMember:
    inputs = track.inputs
    return ObservedMember(
        member_id=member_id,
        client_id=inputs.client_id,
        client_host=inputs.client_host,
        library=inputs.library,
        library_version=inputs.library_version,
        instance_id=track.instance_id,
        protocol=MemberProtocol.CLASSIC if track.protocol is SpokenProtocol.CLASSIC else MemberProtocol.CONSUMER,
        assignors=inputs.assignors,
        topics=inputs.topics,
        pattern=inputs.pattern,
        session_timeout_ms=inputs.session_timeout_ms if inputs.session_timeout_ms > 0 else None,
        rebalance_timeout_ms=inputs.rebalance_timeout_ms if inputs.rebalance_timeout_ms > 0 else None,
        subscription_data=UserData(inputs.user_data.value),
        is_behind_bridge=True,
        partition_count=len(track.assigned),
    )


def _viewed(view: MemberView, heard: ObservedMember | None, old_commits: OldCommits) -> ObservedMember:
    """A member of a group that is coordinated here, with what was heard of it."""
    return ObservedMember(
        member_id=MemberId(view.member_id),
        client_id=view.client_id,
        client_host=view.client_host,
        library=view.library,
        library_version=view.library_version,
        instance_id=None if view.instance_id is None else InstanceId(view.instance_id),
        protocol=MemberProtocol(view.protocol),
        assignors=() if heard is None else heard.assignors,
        topics=() if heard is None else heard.topics,
        pattern=None if heard is None else heard.pattern,
        session_timeout_ms=None if heard is None else heard.session_timeout_ms,
        rebalance_timeout_ms=None if heard is None else heard.rebalance_timeout_ms,
        subscription_data=UserData.UNKNOWN if heard is None else heard.subscription_data,
        assignment_data=UserData.NONE,
        is_behind_bridge=True,
        partition_count=sum(len(topic.partitions) for topic in view.assigned),
        has_old_commits=old_commits.are_of(view.client_id, view.client_host),
    )
