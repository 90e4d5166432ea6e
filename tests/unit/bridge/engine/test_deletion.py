"""Tests of DeleteGroups on the engine's groups."""

from bridge.engine.commands import Command, DeleteGroup, Speaks
from bridge.engine.outcome import MemberAnswer
from tests.support.classic_bench import ClassicBench, join_of
from tests.support.engine_bench import GROUP, Bench, beat_request, join_request
from translators.dialects.admin import DeletedGroup
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import LEAVE_EPOCH


def deleted(bench: Bench, *before: Command) -> ErrorCode:
    """What a deletion is answered, with commands before it in the same turn."""
    ref = bench.ref()
    message = dict(bench.tell(*before, DeleteGroup(ref, GROUP)).replies)[ref]
    assert isinstance(message, DeletedGroup)
    return message.error


def test_group_is_deleted_only_when_empty() -> None:
    """K6.7: 69 unknown, 68 with members, else gone."""
    bench = Bench()
    seen = [deleted(bench)]
    bench.join("a")
    seen.append(deleted(bench))
    bench.leave("a")
    seen += [deleted(bench), deleted(bench)]
    missing = ErrorCode.GROUP_ID_NOT_FOUND
    assert seen == [missing, ErrorCode.NON_EMPTY_GROUP, ErrorCode.NONE, missing]


def test_group_with_parked_joiner_that_left_is_not_deleted() -> None:
    """Somebody still waits for an answer there."""
    bench = Bench()
    bench.tell(bench.command(join_request("a"), Speaks.CLASSIC))
    bench.ask(beat_request("a", LEAVE_EPOCH), Speaks.CLASSIC)
    assert deleted(bench) is ErrorCode.NON_EMPTY_GROUP


def test_group_deleted_and_joined_in_one_turn_begins_anew() -> None:
    """A name that is free again carries nothing over: the first epoch with topics is 2."""
    bench = Bench()
    bench.join("a")
    leave, join = bench.command(beat_request("a", LEAVE_EPOCH)), bench.command(join_request("b"))
    outcome = bench.tell(leave, DeleteGroup(bench.ref(), GROUP), join)
    message = dict(outcome.replies)[join.ref]
    assert isinstance(message, MemberAnswer)
    assert (message.reply.error, message.reply.member_epoch) == (ErrorCode.NONE, 2)
    assert len(message.reply.assignment or ()) == 6


def test_classic_group_is_deleted_when_empty_whatever_is_promised() -> None:
    """K6.7: a promised id keeps no group alive, a member does."""
    classic = ClassicBench()
    classic.promise()
    seen = [deleted(classic.bench)]
    classic.join(join_of("", "A"))
    seen.append(deleted(classic.bench))
    assert seen == [ErrorCode.NONE, ErrorCode.NON_EMPTY_GROUP]
