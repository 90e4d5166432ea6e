"""What is noticed of passing groups."""

import pytest

from bridge.telemetry import passing
from bridge.telemetry.passing import OTHERS, PassingLog
from bridge.wire.apis import ApiKey
from bridge.wire.frames import RequestHeader
from translators.dialects.ids import ClientIdentity, GroupId
from translators.dialects.kept_names import NAME_CHARS_MAX

CLIENT = ClientIdentity(client_id="c", client_host="/127.0.0.1")


def header(api_key: int) -> RequestHeader:
    """A request of an api."""
    return RequestHeader(0, api_key, 0, 0, "c", 0)


def test_requests_are_counted_by_group_and_api() -> None:
    """One count each."""
    log = PassingLog()
    for api_key in (ApiKey.JOIN_GROUP, ApiKey.HEARTBEAT, ApiKey.HEARTBEAT):
        log.passed(header(api_key), GroupId("g"), CLIENT)
    assert log.requests == {GroupId("g"): {ApiKey.JOIN_GROUP: 1, ApiKey.HEARTBEAT: 2}}


def test_groups_beyond_the_limit_are_counted_together(monkeypatch: pytest.MonkeyPatch) -> None:
    """Clients can't fill the memory with group names; known groups stay counted on their own."""
    monkeypatch.setattr(passing, "GROUPS_MAX", 1)
    log = PassingLog()
    for name in ("a", "b", "c", "a"):
        log.passed(header(ApiKey.HEARTBEAT), GroupId(name), CLIENT)
    assert log.requests == {GroupId("a"): {ApiKey.HEARTBEAT: 2}, OTHERS: {ApiKey.HEARTBEAT: 2}}


def test_long_names_are_counted_together() -> None:
    """No library makes them; whoever has not logged in yet may."""
    log = PassingLog()
    for length in (NAME_CHARS_MAX, NAME_CHARS_MAX + 1):
        log.passed(header(ApiKey.HEARTBEAT), GroupId("x" * length), CLIENT)
    assert log.requests == {GroupId("x" * NAME_CHARS_MAX): {ApiKey.HEARTBEAT: 1}, OTHERS: {ApiKey.HEARTBEAT: 1}}


def test_settings_that_are_not_looked_at_are_told_once_for_each_client(caplog: pytest.LogCaptureFixture) -> None:
    """Its client is told by the broker that all is done."""
    log = PassingLog()
    for _ in range(2):
        log.passed_unread(header(ApiKey.INCREMENTAL_ALTER_CONFIGS), CLIENT)
    (told,) = (line for line in caplog.messages if "EB-GROUP-026" in line)
    assert "IncrementalAlterConfigs" in told
    assert CLIENT.client_id in told


def test_who_can_not_be_translated_is_said_once_and_counted(caplog: pytest.LogCaptureFixture) -> None:
    """Workers of Connect come back at every rebalance of theirs."""
    log = PassingLog()
    for reason in ("type connect", "type connect", "assignor mine"):
        log.untranslated(GroupId("g"), CLIENT, reason)
    told = [line for line in caplog.messages if "EB-GROUP-009" in line]
    assert [reason in line for reason, line in zip(("connect", "mine"), told, strict=True)] == [True, True]
    assert log.untranslated_joins == {GroupId("g"): 3}
