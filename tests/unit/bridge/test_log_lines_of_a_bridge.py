"""A small bridge runs, and every line that it writes about a group or member says in fields whom it is about."""

import io
import json
import logging
from collections.abc import Iterator

import pytest
import trio
from trio.testing import MockClock

from bridge.log_lines import LogFields, of_embedded
from bridge.telemetry.logs import IDENTITY, LogFormat, configure_logs
from tests.support.embedded_world import embedded_world, join_request, leave_request, native_join
from tests.support.owned_group import CLIENT, GROUP
from translators.dialects.classic import JoinGroupReply, LeaveGroupReply
from translators.dialects.consumer import ConsumerGroupHeartbeatReply
from translators.dialects.errors import ErrorCode, Refusal


@pytest.fixture(name="stream")
def _stream() -> Iterator[io.StringIO]:
    """Where JSON lines go; the loggers of the process are put back."""
    root = logging.getLogger()
    handlers, level = list(root.handlers), root.level
    stream = io.StringIO()
    configure_logs(LogFormat.JSON, "info", stream)
    yield stream
    root.handlers, root.level = handlers, level


class _Bug(Exception):
    """What a turn raises."""


def _fail(*_: object) -> None:
    raise _Bug


async def _live(autojump_clock: MockClock) -> None:
    """A classic and a native member come, one leaves, one expires, one is refused, and a turn fails."""
    async with embedded_world() as world:
        await world.form("a")
        await world.ask(native_join("n"), ConsumerGroupHeartbeatReply)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("bridge.coordinators.embedded.coordinator.advance", _fail)
            await world.ask(native_join("o"), ConsumerGroupHeartbeatReply)
        world.groups.guard(lambda: Refusal(ErrorCode.GROUP_AUTHORIZATION_FAILED, "closed"))
        await world.ask(join_request("b"), JoinGroupReply)
        world.groups.guard(lambda: None)
        await world.ask(leave_request("a"), LeaveGroupReply)
        await trio.sleep(120)


async def test_every_line_about_a_group_or_member_says_so_in_fields(
    autojump_clock: MockClock, stream: io.StringIO
) -> None:
    """All the keys, null where nobody knows; what is known is there."""
    await _live(autojump_clock)
    lines = [json.loads(line) for line in stream.getvalue().splitlines()]
    about = [line for line in lines if GROUP in str(line["event"]).replace("group", "") and "group" in line["event"]]
    assert {line.get("code", line["event"].partition(":")[0]) for line in about} >= {
        "EB-GROUP-001",
        "EB-GROUP-002",
        f"group '{GROUP}' lost member 'a'",
        f"group '{GROUP}' lost member 'n'",
        f"group '{GROUP}' is empty",
    }
    assert [line for line in about if not {*IDENTITY} <= line.keys() or line["group_id"] != GROUP] == []
    assert {line["road"] for line in about} == {"embedded"}
    by_words = {line["event"]: line for line in about}
    lost = by_words[f"group '{GROUP}' lost member 'n': session-expired"]
    assert (lost["member_id"], lost["client_id"]) == ("n", CLIENT.client_id)
    assert lost["member_epoch"] > 0
    assert lost["group_epoch"] >= lost["member_epoch"]
    refused = next(line for line in about if line.get("code") == "EB-GROUP-001")
    assert (refused["client_id"], refused["generation"]) == (CLIENT.client_id, None)
    failed = next(line for line in about if line.get("code") == "EB-GROUP-002")
    assert (failed["member_id"], failed["client_id"], failed["member_epoch"]) == ("o", CLIENT.client_id, 0)
    assert "_Bug" in failed["exception"]


def test_group_that_is_known_by_name_only() -> None:
    """Its road is known as well."""
    assert of_embedded(GROUP) == LogFields(group_id=GROUP, road="embedded")
