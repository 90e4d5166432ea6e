"""Every reason why a group can't change its type is told from every other."""

from dataclasses import replace

import pytest

from bridge.engine.commands import GroupType
from bridge.engine.convert.readiness import (
    find_departure_fault,
    find_policy_fault,
    find_seats_fault,
    find_upgrade_fault,
)
from bridge.engine.outcome import ConversionFailed, Unready
from bridge.engine.settings import EngineSettings, MigrationPolicy
from tests.support.classic_bench import offer
from tests.support.converted_group import ConversionBench, consumer_join, says
from tests.support.engine_bench import GROUP, join_request
from translators.dialects.classic import JoinGroup, Protocol
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import GroupId


def formed(request: JoinGroup, settings: EngineSettings | None = None) -> ConversionBench:
    """A group of one member that joined with this."""
    bench = ConversionBench(settings or EngineSettings(group_initial_rebalance_delay_ms=0))
    bench.join(request)
    return bench


@pytest.mark.parametrize(
    ("request_", "reason"),
    [
        (replace(consumer_join(), protocol_type="connect"), Unready.FOREIGN_PROTOCOL_TYPE),
        (replace(consumer_join(), protocols=offer("own")), Unready.CUSTOM_ASSIGNOR),
        (replace(consumer_join(), protocols=(Protocol("range", b"\x00"),)), Unready.MALFORMED_SUBSCRIPTION),
    ],
)
def test_member_that_cannot_be_translated_keeps_its_group_classic(request_: JoinGroup, reason: Unready) -> None:
    """The reason is a value; a KIP-848 joiner hears that there is no such consumer group, as from Kafka (K3.13)."""
    bench = formed(request_)
    fault = find_upgrade_fault(bench.bench.state, GROUP)
    assert fault is not None
    assert fault.reason is reason
    assert bench.native_join("new") is ErrorCode.GROUP_ID_NOT_FOUND
    (notice,) = bench.notices
    assert isinstance(notice, ConversionFailed)
    assert notice.refusal.reason is reason
    assert GROUP in bench.bench.state.classic_groups


def test_chosen_custom_assignor_counts_though_a_known_one_is_offered_too() -> None:
    """What its leader hands out only it can read."""
    bench = formed(replace(consumer_join(), protocols=(*offer("own"), *says("range"))))
    fault = find_upgrade_fault(bench.bench.state, GROUP)
    assert fault is not None
    assert fault.reason is Unready.CUSTOM_ASSIGNOR


def test_unreadable_assignment_names_whose_it_is() -> None:
    """A leader may hand out anything; who looks for it needs the client."""
    bench = ConversionBench()
    (leader,) = bench.join_all(None)
    bench.sync(leader, assigns={leader: b"\x00"})
    refused = bench.refused()
    assert refused.reason is Unready.MALFORMED_ASSIGNMENT
    assert refused.text.startswith(f"the assignment of member {leader} (client id 'client', /127.0.0.1)")


def test_group_that_would_be_too_large_stays() -> None:
    """The joiner counts; one that takes a static seat does not."""
    bench = formed(
        consumer_join("", "seat"), EngineSettings(group_initial_rebalance_delay_ms=0, group_consumer_max_size=1)
    )
    assert find_upgrade_fault(bench.bench.state, GROUP) is None
    fault = find_upgrade_fault(bench.bench.state, GROUP, 1)
    assert fault is not None
    assert fault.reason is Unready.TOO_LARGE


def test_joiner_that_would_be_refused_converts_nothing() -> None:
    """K12.1: validate first."""
    bench = formed(consumer_join())
    assert find_upgrade_fault(bench.bench.state, GROUP) is None
    full = formed(consumer_join(), EngineSettings(group_initial_rebalance_delay_ms=0, group_consumer_max_size=1))
    assert full.native_join("new") is ErrorCode.GROUP_MAX_SIZE_REACHED
    assert GROUP in full.bench.state.classic_groups


@pytest.mark.parametrize(
    ("policy", "refused"),
    [
        (MigrationPolicy.BIDIRECTIONAL, []),
        (MigrationPolicy.UPGRADE, [GroupType.CLASSIC]),
        (MigrationPolicy.DOWNGRADE, [GroupType.CONSUMER]),
        (MigrationPolicy.DISABLED, [GroupType.CLASSIC, GroupType.CONSUMER]),
    ],
)
def test_policy_names_the_ways_that_are_open(policy: MigrationPolicy, refused: list[GroupType]) -> None:
    """group.consumer.migration.policy, as in Kafka."""
    state = formed(consumer_join(), EngineSettings(group_consumer_migration_policy=policy)).bench.state
    faults = [find_policy_fault(state, GROUP, to) for to in (GroupType.CLASSIC, GroupType.CONSUMER)]
    assert [fault.to for fault in faults if fault is not None] == refused


def test_policy_binds_joiners_and_not_operators() -> None:
    """An operator knows what the policy does not."""
    settings = EngineSettings(
        group_initial_rebalance_delay_ms=0, group_consumer_migration_policy=MigrationPolicy.DISABLED
    )
    bench = formed(consumer_join(), settings)
    assert bench.native_join("new") is ErrorCode.GROUP_ID_NOT_FOUND
    assert bench.converted().member_count == 1


def test_unknown_group_and_group_of_that_type_are_told_apart() -> None:
    """Both ways."""
    bench = formed(consumer_join())
    state = bench.bench.state
    unknown = [find_upgrade_fault(state, GroupId("none")), find_departure_fault(state, GroupId("none"))]
    assert [fault and fault.reason for fault in unknown] == [Unready.UNKNOWN_GROUP] * 2
    same = find_departure_fault(state, GROUP)
    assert same is not None
    assert same.reason is Unready.SAME_TYPE
    bench.converted()
    assert bench.refused().reason is Unready.SAME_TYPE


def test_members_without_a_common_protocol_stay_a_consumer_group() -> None:
    """Decision 21: a consumer group mixes range and cooperative clients, a classic group can't (K4.4)."""
    bench = formed(consumer_join())
    bench.converted()
    (seat,) = bench.seats(dict.fromkeys(bench.consumers.members, 1))
    assert find_seats_fault(bench.consumers, (seat,)) is None
    other = replace(seat, protocols=says("cooperative-sticky"))
    fault = find_seats_fault(bench.consumers, (seat, other))
    assert fault is not None
    assert fault.reason is Unready.NO_COMMON_PROTOCOL


def test_group_whose_first_rebalance_runs_has_chosen_no_assignor_yet() -> None:
    """Which is no reason against it: what counts is what its members offer."""
    bench = ConversionBench()
    bench.join(consumer_join())
    assert bench.group.roster.protocol_name is None
    assert find_upgrade_fault(bench.bench.state, GROUP) is None


def test_joiner_whose_request_is_refused_learns_why_and_leaves_the_group_classic() -> None:
    """K12.1: an assignor that nobody has is told before anything is converted."""
    bench = formed(consumer_join())
    wanting = replace(join_request("new"), server_assignor="nobody's")
    assert bench.native_join("new", wanting) is ErrorCode.UNSUPPORTED_ASSIGNOR
    assert GROUP in bench.bench.state.classic_groups
    assert bench.notices == ()


def test_empty_group_of_another_type_has_nothing_against_it() -> None:
    """Its members are gone: the type they were of is nobody's."""
    bench = formed(replace(consumer_join(), protocol_type="connect"))
    (member_id,) = bench.group.members
    bench.leave((member_id, None))
    assert bench.group.members == {}
    assert find_upgrade_fault(bench.bench.state, GROUP) is None
