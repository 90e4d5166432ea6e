"""What the log says of answers that end a client for good, and of connections that the bridge closes."""

import logging

import pytest

from bridge.log_lines import NAMED_MAX, RateLimitedLog
from bridge.migration.route import Road
from bridge.net.endings import Endings, tell_refusal, tell_unplaced
from bridge.net.shared import LOG
from bridge.session.close_reasons import CloseReason
from bridge.session.fatal_answers import Ended
from bridge.session.requests import Rejected
from bridge.wire.apis import ApiKey
from tests.support.front import front_of
from tests.support.scripted_broker import ScriptedBroker, request
from translators.dialects.errors import ErrorCode, Refusal
from translators.dialects.ids import GroupId, MemberId


async def test_ending_is_counted_and_told_with_its_group(caplog: pytest.LogCaptureFixture) -> None:
    """Nothing is said where nothing ended."""
    async with front_of(ScriptedBroker()) as front:
        client = await front.dial()
        await client.send(request(ApiKey.API_VERSIONS, 0, 1))
        await client.answer()
        (connection,) = front.proxy._connections.values()
        endings = Endings(front.proxy._shared, connection.session)
        ended = Ended(Road.EMBEDDED, ApiKey.HEARTBEAT, ErrorCode.FENCED_INSTANCE_ID, GroupId("orders"), MemberId("m-1"))
        with caplog.at_level(logging.WARNING):
            endings.watch(lambda _: None, b"")
            assert "EB-NET-051" not in caplog.text
            endings.watch(lambda _: ended, b"answer")
    assert "EB-NET-051: group 'orders': member 'm-1' of client 'client' was answered Heartbeat" in caplog.text


async def test_names_that_one_client_makes_up_do_not_fill_the_log(caplog: pytest.LogCaptureFixture) -> None:
    """Be it ended, or told to come again, under a group of another name each time."""
    async with front_of(ScriptedBroker()) as front:
        client = await front.dial()
        await client.send(request(ApiKey.API_VERSIONS, 0, 1))
        await client.answer()
        (connection,) = front.proxy._connections.values()
        shared, session = front.proxy._shared, connection.session
        refusal = Refusal(ErrorCode.COORDINATOR_NOT_AVAILABLE, "EB-GROUP-022: nobody says")
        with caplog.at_level(logging.WARNING):
            for number in range(2_000):
                group_id = GroupId(f"group-{number}")
                ended = Ended(Road.EMBEDDED, ApiKey.JOIN_GROUP, ErrorCode.INVALID_SESSION_TIMEOUT, group_id, None)
                Endings(shared, session).report(ended)
                tell_unplaced(shared, session, group_id, refusal)
        told = [record.getMessage().partition(":")[0] for record in caplog.records]
        assert (told.count("EB-NET-051"), told.count("EB-GROUP-022")) == (NAMED_MAX, NAMED_MAX)
        assert {record.__dict__["group_id"] for record in caplog.records} >= {"group-0"}


async def test_refusal_is_told_once_a_minute_for_each_reason_and_host(caplog: pytest.LogCaptureFixture) -> None:
    """With what was seen; ordinary ends are for those who look for them."""
    log = RateLimitedLog(LOG)
    with caplog.at_level(logging.WARNING, LOG.name):
        for host in ("10.0.0.1", "10.0.0.1", "10.0.0.2", "2001:db8::1", "2001:db8::2"):
            tell_refusal(log, Rejected(CloseReason.NO_CERTIFICATE, "nothing"), host)
        tell_refusal(log, Rejected(CloseReason.CLIENT_GONE, ""), "10.0.0.3")
    told = [record.getMessage() for record in caplog.records]
    assert [line.partition(" was closed")[0] for line in told] == [
        "EB-NET-061: a connection of 10.0.0.1",
        "EB-NET-061: a connection of 10.0.0.2",
        "EB-NET-061: a connection of 2001:db8::1",
    ]
    assert told[0].endswith("seen: nothing")
