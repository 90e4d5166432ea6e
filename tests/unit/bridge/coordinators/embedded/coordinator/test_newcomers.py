"""Whom a consumer group of the engine's takes in that joins by the classic protocol."""

from dataclasses import replace

import pytest

from bridge.coordinators.embedded.coordinator import judge_newcomer
from bridge.engine.settings import EngineSettings
from tests.support.embedded_world import join_request
from tests.support.engine_bench import GROUP, Bench, static_join_request
from translators.dialects.classic import JoinGroup
from translators.dialects.configs import MigrationPolicy
from translators.dialects.errors import ErrorCode, Refusal
from translators.dialects.ids import InstanceId, MemberId


def newcomer(settings: EngineSettings, request: JoinGroup) -> ErrorCode:
    """How a KIP-848 member's group meets a classic join."""
    bench = Bench(settings=settings)
    bench.ask(static_join_request("n", "seat"))
    refused = judge_newcomer(bench.state, request)
    return refused.code if isinstance(refused, Refusal) else ErrorCode.NONE


def test_full_group_takes_nobody_in_but_who_has_a_seat() -> None:
    """That a group is full (K4.3) comes before everything else that could be said of the newcomer."""
    full = EngineSettings(group_consumer_max_size=1)
    request = replace(join_request(""), group_id=GROUP)
    own, seat = replace(request, member_id=MemberId("n")), replace(request, instance_id=InstanceId("seat"))
    stranger, wrong = replace(request, member_id=MemberId("x")), replace(seat, member_id=MemberId("x"))
    answers = [newcomer(full, one) for one in (request, stranger, wrong, own, seat)]
    assert answers == [ErrorCode.GROUP_MAX_SIZE_REACHED] * 3 + [ErrorCode.NONE] * 2


@pytest.mark.parametrize(
    ("begins_classic", "policy", "code"),
    [
        (True, MigrationPolicy.DISABLED, ErrorCode.INCONSISTENT_GROUP_PROTOCOL),
        (True, MigrationPolicy.UPGRADE, ErrorCode.NONE),
        (False, MigrationPolicy.DISABLED, ErrorCode.NONE),
    ],
)
def test_policy_disabled_keeps_classic_members_out_as_in_a_broker(
    begins_classic: bool, policy: MigrationPolicy, code: ErrorCode
) -> None:
    """Nothing converts then (K3.3 with 11.4); groups that begin as consumer groups are what classic members are for."""
    settings = EngineSettings(group_begins_classic=begins_classic, group_consumer_migration_policy=policy)
    assert newcomer(settings, replace(join_request(""), group_id=GROUP)) is code
