"""Groups as the admin room shows them."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import cast

from bridge.admin.contracts import GroupSummary, TopicPartitions
from bridge.app.views import AppSnapshots
from bridge.coordinators.embedded.groups import EmbeddedGroups
from bridge.coordinators.embedded.owner import EmbeddedOwner
from bridge.coordinators.placement import GroupPlaces
from bridge.engine.settings import EngineSettings
from bridge.migration.placement import stay_in_journal
from bridge.migration.route import Road, Router, Rule
from bridge.net.proxy import Proxy
from bridge.telemetry.metrics import GroupCount
from tests.support.embedded_world import FakeBroker
from tests.support.led_group import LedClient, form
from tests.support.owned_group import ClassicClient, ConsumerClient, OwnedGroup
from tests.support.work_done import work_of
from translators.dialects.classic import JoinGroup, JoinGroupReply, Protocol
from translators.dialects.errors import ErrorCode, Refusal
from translators.dialects.ids import GroupId, MemberId


@dataclass
class _JoinChecks:
    bypassed: Mapping[GroupId, str] = field(default_factory=dict)


@dataclass
class _Offsets:
    told: dict[GroupId, str] = field(default_factory=dict)


@dataclass
class _Ledger:
    closed: Refusal | None = None


@dataclass
class _Groups:
    owner: EmbeddedOwner
    join_checks: _JoinChecks
    offsets: _Offsets = field(default_factory=_Offsets)
    bridges: None = None
    ledger: _Ledger = field(default_factory=_Ledger)


@dataclass
class _Cluster:
    told: tuple[str, ...] = ()

    def unreached(self) -> tuple[str, ...]:
        """Nothing that could not be reached, unless a test says so."""
        return self.told


@dataclass
class _Proxy:
    why_not_ready: str = ""
    cluster: _Cluster = field(default_factory=_Cluster)


def _snapshots(
    group: OwnedGroup, bypassed: Mapping[GroupId, str] | None = None, why_not_ready: str = ""
) -> AppSnapshots:
    groups = cast(EmbeddedGroups, _Groups(group.owner, _JoinChecks(bypassed or {})))
    return AppSnapshots(groups, cast(Proxy, _Proxy(why_not_ready)), _places())


def _places() -> GroupPlaces:
    """Nothing is looked up."""
    router = Router((Rule("*", Road.EMBEDDED),))
    return GroupPlaces(router, FakeBroker(), lambda _: None, lambda _: False, lambda: 0)


def test_mixed_group_shows_generation_of_classic_members_only() -> None:
    """A consumer member has an epoch and no generation."""
    group = OwnedGroup(partitions=2)
    classic, native = ClassicClient(group), ConsumerClient(group, "native")
    classic.join()
    native.beat()
    classic.beat()
    classic.join()
    native.beat()
    view = _snapshots(group).group("g")
    assert view is not None
    shown = {member.member_id: member for member in view.members}
    old, new = shown[classic.member_id], shown["native"]
    assert (old.protocol, old.state, old.generation) == ("classic", "Stable", classic.generation)
    assert (new.protocol, new.state, new.generation, new.member_epoch) == ("consumer", "Stable", None, native.epoch)
    assert old.assigned == (TopicPartitions("t", (next(iter(classic.owned)).partition,)),)
    assert old.target == old.assigned
    assert view.summary.member_count == 2
    assert view.summary.not_convertible is not None
    assert view.summary.not_convertible.startswith("group g has members that speak the consumer protocol (1, ")
    assert list(_snapshots(group).counts()) == [
        GroupCount(group_id="g", state=view.summary.state, classic_members=1, consumer_members=1)
    ]


def _group_of(members: int) -> OwnedGroup:
    """A group of so many KIP-848 members that have a partition each."""
    group = OwnedGroup(partitions=members)
    clients = [ConsumerClient(group, f"m{number}") for number in range(members)]
    for _ in range(2):
        for client in clients:
            client.beat()
    return group


def test_counting_groups_takes_no_look_at_members() -> None:
    """Anybody may ask for the metrics as often as it likes: each time all members, topics and partitions were copied,
    while everybody else waited.
    """
    small, large = (_snapshots(_group_of(members)) for members in (5, 50))
    assert [count.consumer_members for one in (small, large) for count in one.counts()] == [5, 50]
    assert work_of(lambda: list(large.counts())).lines == work_of(lambda: list(small.counts())).lines
    assert [group.member_count for group in large.groups()] == [50]


def test_classic_group_is_listed_and_counted_beside_the_others() -> None:
    """Run by its own leader, and yet coordinated by the bridge."""
    group = OwnedGroup(partitions=2)
    (ref,) = group.send(
        JoinGroup(
            group_id=GroupId("workers"),
            member_id=MemberId(""),
            instance_id=None,
            protocol_type="connect",
            protocols=(Protocol("sessioned", b""),),
            session_timeout_ms=10_000,
            rebalance_timeout_ms=60_000,
            needs_member_id=False,
        )
    )
    group.wait(0)
    assert group.answer(ref, JoinGroupReply).error is ErrorCode.NONE
    snapshots = _snapshots(group)
    (summary,) = snapshots.groups()
    assert summary == GroupSummary(
        group_id="workers",
        road="embedded",
        type="classic",
        state="CompletingRebalance",
        group_epoch=1,
        assignment_epoch=0,
        assignor="sessioned",
        member_count=1,
        not_convertible="protocol type 'connect' of group workers is not 'consumer': its own leader computes",
    )
    view = snapshots.group("workers")
    assert view is not None
    assert [member.client_id for member in view.members] == ["client"]
    assert view.summary == summary
    assert list(snapshots.counts()) == [
        GroupCount(
            group_id="workers", state="CompletingRebalance", group_type="classic", classic_members=1, consumer_members=0
        )
    ]


def test_reason_why_a_group_stays_classic_goes_with_who_is_in_it() -> None:
    """The list is asked for every second: members' bytes are read again when the group has moved, and then they are."""
    group = OwnedGroup(settings=EngineSettings(group_initial_rebalance_delay_ms=10, group_begins_classic=True))
    snapshots = _snapshots(group)
    range_members = [LedClient(group), LedClient(group)]
    form(group, range_members)
    assert [one.not_convertible for one in snapshots.groups()] == [None]
    for client in range_members:
        client.leave()
    own = LedClient(group, "own")
    form(group, [own])
    (summary,) = snapshots.groups()
    assert summary.not_convertible == "assignor 'own' of group g has no server-side equivalent: its own leader computes"


def test_bypassed_group_is_shown_with_its_reason() -> None:
    """An operator sees why clients are refused (decision 5)."""
    group = OwnedGroup()
    snapshots = _snapshots(group, {GroupId("b"): "somebody else"})
    assert snapshots.groups() == [
        GroupSummary(
            group_id="b",
            road="embedded",
            type="consumer",
            state="Bypassed",
            group_epoch=0,
            assignment_epoch=0,
            assignor="",
            member_count=0,
            reason="somebody else",
        )
    ]
    assert snapshots.group("b") is not None
    assert snapshots.group("unknown") is None


def test_readiness_names_the_cause() -> None:
    """In the proxy's own words."""
    group = OwnedGroup()
    assert _snapshots(group).readiness() == ()
    assert _snapshots(group, why_not_ready="the bridge is draining").readiness() == ("the bridge is draining",)


def test_journal_that_can_not_be_written_troubles_its_road_and_turns_nobody_away() -> None:
    """Its members are told to come again while everybody else is served: neither was to be seen at /readyz."""
    group = OwnedGroup()
    groups = _Groups(group.owner, _JoinChecks({}))
    snapshots = AppSnapshots(cast(EmbeddedGroups, groups), cast(Proxy, _Proxy()), _places())
    assert snapshots.troubles() == ()
    groups.ledger.closed = Refusal(ErrorCode.COORDINATOR_NOT_AVAILABLE, "EB-JOURNAL-011: the disk is full")
    (told,) = snapshots.troubles()
    assert told.startswith("groups on road embedded stand still")
    assert told.endswith("EB-JOURNAL-011: the disk is full")
    assert snapshots.readiness() == ()


def test_brokers_that_nobody_reaches_trouble_who_asks_for_them() -> None:
    """While the cluster itself answers."""
    groups, proxy = (
        _Groups(OwnedGroup().owner, _JoinChecks({})),
        _Proxy(cluster=_Cluster(("broker 1 can't be reached",))),
    )
    snapshots = AppSnapshots(cast(EmbeddedGroups, groups), cast(Proxy, proxy), _places())
    assert (snapshots.troubles(), snapshots.readiness()) == (("broker 1 can't be reached",), ())


def test_offsets_that_were_changed_elsewhere_are_a_reason_to_look() -> None:
    """Unless the group is refused, which says more."""
    group = OwnedGroup(partitions=2)
    ConsumerClient(group, "native").beat()
    join_checks, offsets = _JoinChecks({}), _Offsets({GroupId("g"): "somebody reset them"})
    snapshots = AppSnapshots(
        cast(EmbeddedGroups, _Groups(group.owner, join_checks, offsets)),
        cast(Proxy, _Proxy()),
        _places(),
    )
    assert [summary.reason for summary in snapshots.groups()] == ["somebody reset them"]
    join_checks.bypassed = {GroupId("g"): "foreign members"}
    assert [summary.reason for summary in snapshots.groups()] == ["foreign members"]


def test_group_that_passes_whatever_its_rule_says_is_shown_with_its_kind() -> None:
    """In the list and by itself; one of ours that stays where no rule sends it says so beside its members."""
    group = OwnedGroup(partitions=2)
    ConsumerClient(group, "native").beat()
    places = _places()
    places.report_kind(GroupId("wordcount"), "streams")
    groups = cast(EmbeddedGroups, _Groups(group.owner, _JoinChecks({}), _Offsets({})))
    snapshots = AppSnapshots(groups, cast(Proxy, _Proxy()), places)
    ours, theirs = snapshots.groups()
    assert (ours.group_id, ours.reason) == ("g", None)
    assert (theirs.group_id, theirs.road, theirs.type, theirs.state) == ("wordcount", "pass", "streams", "Passing")
    assert theirs.reason is not None
    assert "the bridge coordinates consumer groups only" in theirs.reason
    shown = snapshots.group("wordcount")
    assert shown is not None
    assert (shown.summary, shown.members) == (theirs, ())
    places.stays[GroupId("g")] = stay_in_journal(GroupId("g"), Road.EMBEDDED, Road.PASS)
    assert "a rule switches no live group" in str(snapshots.groups()[0].reason)
