"""What the log and the figures say of groups."""

import logging
from dataclasses import replace

import pytest

from bridge.coordinators.embedded.group_log import REPEAT_MS, GroupLog
from bridge.engine.commands import GroupType
from bridge.engine.outcome import (
    AssignorFailed,
    ConversionCause,
    ConversionFailed,
    GroupDowngraded,
    GroupEmptied,
    GroupUpgraded,
    MemberRemoved,
    NotConverted,
    RemovalCause,
    Unready,
)
from bridge.engine.settings import EngineSettings
from bridge.engine.state import Shard
from tests.support.kept_text import kept_chars
from translators.dialects.ids import GroupId, MemberId

GROUP = GroupId("g")
REFUSAL = NotConverted(GROUP, GroupType.CONSUMER, Unready.CUSTOM_ASSIGNOR, "assignor 'acme' is nobody's")


@pytest.fixture
def lines(caplog: pytest.LogCaptureFixture) -> pytest.LogCaptureFixture:
    """Everything that is logged."""
    caplog.set_level(logging.INFO, "epochbridge.coordinators")
    return caplog


def test_conversions_are_told_and_counted(lines: pytest.LogCaptureFixture) -> None:
    """Both ways, with what made them."""
    log = GroupLog(Shard(settings=EngineSettings(), assignors={}))
    log.hear(GroupUpgraded(group_id=GROUP, cause=ConversionCause.MEMBER_JOINED, seats=()), 0)
    log.hear(GroupDowngraded(GROUP, ConversionCause.OPERATOR), 0)
    assert lines.messages == [
        "group 'g' is a consumer group now with 0 classic members: member-joined",
        "group 'g' is a classic group now: operator",
    ]
    assert log.conversions == {("consumer", "done"): 1, ("classic", "done"): 1}


def test_reason_is_told_once_a_minute_and_counted_always(lines: pytest.LogCaptureFixture) -> None:
    """Refused clients come back every few moments."""
    log = GroupLog(Shard(settings=EngineSettings(), assignors={}))
    for now_ms in (0, 1, REPEAT_MS - 1, REPEAT_MS):
        log.hear(ConversionFailed(REFUSAL), now_ms)
    assert (
        lines.messages == ["EB-GROUP-006: group 'g' does not become a consumer group: assignor 'acme' is nobody's"] * 2
    )
    assert log.conversions == {("consumer", "custom-assignor"): 4}


def test_what_else_happens_to_groups_is_told(lines: pytest.LogCaptureFixture) -> None:
    """Members that go, groups that empty, assignors that fail."""
    log = GroupLog(Shard(settings=EngineSettings(), assignors={}))
    member = MemberId("m")
    log.hear(
        MemberRemoved(group_id=GROUP, member_id=member, instance_id=None, cause=RemovalCause.LEFT, client_id="c"), 0
    )
    log.hear(GroupEmptied(GROUP), 0)
    log.hear(AssignorFailed(GROUP, "uniform", "nonsense"), 0)
    assert lines.messages == [
        "group 'g' lost member 'm': left",
        "group 'g' is empty",
        "EB-GROUP-003: assignor 'uniform' failed for group 'g': nonsense",
    ]


def test_long_names_are_not_kept_whole(lines: pytest.LogCaptureFixture) -> None:
    """10,000 groups that were not converted had 320 MB of names kept; each is still told of once."""
    log = GroupLog(Shard(settings=EngineSettings(), assignors={}))
    for end in "1122":
        refusal = replace(REFUSAL, group_id=GroupId("x" * 32_000 + end))
        log.note_refusal(refusal, 0)
        del refusal
    assert len(lines.messages) == 2
    assert kept_chars(log) < 32_000
