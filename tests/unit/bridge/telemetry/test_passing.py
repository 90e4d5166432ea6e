"""Counting what passes."""

from bridge.telemetry.passing import GROUPS_MAX, OTHERS, PassingLog
from bridge.wire.frames import RequestHeader
from translators.dialects.ids import ClientIdentity, GroupId

CLIENT = ClientIdentity(client_id="c", client_host="h")


def _header(api_key: int) -> RequestHeader:
    return RequestHeader(0, api_key, 0, 0, "c", 0)


def test_requests_are_counted_by_group_and_api() -> None:
    """What an operator can see of a group that goes through."""
    log = PassingLog()
    for api_key in (11, 12, 12):
        log.passed(_header(api_key), GroupId("g"), CLIENT)
    assert log.requests == {GroupId("g"): {11: 1, 12: 2}}


def test_groups_beyond_the_limit_are_counted_together() -> None:
    """A client that makes up group ids can't fill the memory."""
    log = PassingLog()
    for number in range(GROUPS_MAX + 5):
        log.passed(_header(12), GroupId(f"g{number}"), CLIENT)
    assert len(log.requests) == GROUPS_MAX + 1
    assert log.requests[OTHERS] == {12: 5}
