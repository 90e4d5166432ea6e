"""An admin's word on the settings of a group: refused, or in force at once, with or without a group."""

from dataclasses import replace

import pytest

from bridge.engine.apply import apply
from bridge.engine.commands import AlterGroupConfigs
from bridge.engine.consumer.heartbeats import take_calm_heartbeat
from bridge.engine.model import DeadlineKey, DeadlineKind
from bridge.engine.outcome import MemberAnswer
from bridge.engine.records import GroupConfigured
from bridge.engine.recovery import condense
from bridge.engine.settings import ASSIGNORS, HEARTBEAT_INTERVAL, PREFIX, SESSION_TIMEOUT, read_configs
from bridge.engine.state import settings_of
from tests.support.engine_bench import GROUP, IDENTITY, SETTINGS, Bench, beat_request, calm_reply
from tests.support.snapshots import durable, snapshot
from translators.dialects.configs import GROUP as OF_GROUP
from translators.dialects.configs import Alteration, AlteredResource, Operation, Resource
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import GroupId, MemberId
from translators.dialects.kept_names import NAME_CHARS_MAX

SESSION = DeadlineKey(DeadlineKind.SESSION, GROUP, MemberId("a"))


def altering(bench: Bench, *alterations: Alteration, group_id: GroupId = GROUP) -> AlterGroupConfigs:
    """An alteration."""
    return AlterGroupConfigs(ref=bench.ref(), group_id=group_id, alterations=alterations)


def said(bench: Bench, command: AlterGroupConfigs) -> tuple[ErrorCode, str | None]:
    """What it is answered."""
    message = dict(bench.tell(command).replies)[command.ref]
    assert isinstance(message, AlteredResource)
    assert message.resource == Resource(OF_GROUP, command.group_id)
    return message.error, message.error_message


def set_to(name: str, value: str | None) -> Alteration:
    """One setting to be set."""
    return Alteration(name, value)


def test_settings_need_no_group_and_outlive_one() -> None:
    """As in Kafka, which keeps them beside its groups; and a restart, by whichever way."""
    bench = Bench()
    assert said(bench, altering(bench, set_to(SESSION_TIMEOUT, "50000"))) == (ErrorCode.NONE, None)
    kept = {GROUP: read_configs([(SESSION_TIMEOUT, "50000")])}
    assert bench.state.configs == kept
    assert settings_of(bench.state, GROUP) == replace(SETTINGS, group_consumer_session_timeout_ms=50_000)
    assert settings_of(bench.state, GroupId("other")) == SETTINGS
    assert durable(bench.replayed(durable_only=True)) == durable(bench.state)
    assert GroupConfigured(GROUP, ((SESSION_TIMEOUT, "50000"),)) in list(condense(bench.state))
    delete = altering(bench, Alteration(SESSION_TIMEOUT, None, Operation.DELETE))
    assert said(bench, delete) == (ErrorCode.NONE, None)
    assert bench.state.configs == {}
    assert durable(bench.replayed(durable_only=True)) == durable(bench.state)


def test_sessions_that_run_are_as_long_as_the_setting_says() -> None:
    """Longer or shorter, from the last heartbeat on; a member of the classic protocol has its session elsewhere."""
    bench = Bench()
    bench.join("a")
    bench.now_ms += 1_000
    for text, due_ms in (("50000", 50_000), ("46000", 46_000)):
        assert said(bench, altering(bench, set_to(SESSION_TIMEOUT, text))) == (ErrorCode.NONE, None)
        assert bench.state.deadlines.due[SESSION] == due_ms
    assert snapshot(bench.replayed()) == snapshot(bench.state)


def test_next_heartbeat_hears_another_interval() -> None:
    """It is not calm then, and calm again after it."""
    bench = Bench()
    bench.join("a")
    request = beat_request("a", bench.member("a").current.epoch)
    assert take_calm_heartbeat(bench.state, request, IDENTITY, bench.now_ms)
    assert said(bench, altering(bench, set_to(HEARTBEAT_INTERVAL, "6000"))) == (ErrorCode.NONE, None)
    assert not take_calm_heartbeat(bench.state, request, IDENTITY, bench.now_ms)
    command = bench.command(request)
    answer = dict(bench.tell(command).replies)[command.ref]
    assert isinstance(answer, MemberAnswer)
    assert answer.reply == replace(calm_reply(request), heartbeat_interval_ms=6_000)
    assert take_calm_heartbeat(bench.state, request, IDENTITY, bench.now_ms)


def test_other_default_assignor_computes_the_target_anew() -> None:
    """At once, and only where it is another one."""
    bench = Bench()
    bench.join("a")
    epoch = bench.state.groups[GROUP].epoch
    assert said(bench, altering(bench, set_to(f"{PREFIX}{ASSIGNORS}", "uniform"))) == (ErrorCode.NONE, None)
    assert bench.state.groups[GROUP].epoch == epoch
    assert said(bench, altering(bench, set_to(f"{PREFIX}{ASSIGNORS}", "range"))) == (ErrorCode.NONE, None)
    group = bench.state.groups[GROUP]
    assert (group.epoch, group.assignment_epoch, group.assignor) == (epoch + 1, epoch + 1, "range")


def test_assignor_that_is_installed_no_more_is_passed_over() -> None:
    """The journal may name a plugin's that was taken away: the group goes on by what else it names, or the default."""
    bench = Bench()
    bench.join("a")
    for names, chosen in (("gone,range", "range"), ("gone", "uniform")):
        apply(bench.state, GroupConfigured(GROUP, ((f"{PREFIX}{ASSIGNORS}", names),)))
        bench.join(names)
        assert bench.state.groups[GROUP].assignor == chosen


@pytest.mark.parametrize(
    ("alterations", "answer"),
    [
        ((set_to("a", None), set_to("b", None)), "Null value not supported for : a,b"),
        ((set_to("a", "1"), Alteration("a", None, Operation.DELETE)), "Error due to duplicate config keys"),
    ],
)
def test_what_is_malformed_is_refused_before_anything_else(alterations: tuple[Alteration, ...], answer: str) -> None:
    """In Kafka's words; nothing is written."""
    bench = Bench()
    assert said(bench, altering(bench, *alterations)) == (ErrorCode.INVALID_REQUEST, answer)
    assert bench.outcome.records == ()


def test_group_without_a_name_has_no_settings() -> None:
    """Kafka has no defaults for groups."""
    bench = Bench()
    command = altering(bench, set_to(SESSION_TIMEOUT, "50000"), group_id=GroupId(""))
    assert said(bench, command) == (ErrorCode.INVALID_REQUEST, "Default group resources are not allowed.")


def test_only_checked_and_equal_settings_are_not_written() -> None:
    """So that a tool that repeats itself does not fill the journal."""
    bench = Bench()
    command = altering(bench, set_to(SESSION_TIMEOUT, "50000"))
    assert said(bench, replace(command, validate_only=True)) == (ErrorCode.NONE, None)
    assert bench.outcome.records == ()
    assert said(bench, command) == said(bench, replace(command, ref=bench.ref())) == (ErrorCode.NONE, None)
    assert bench.outcome.records == ()


def test_all_settings_said_anew_replace_those_there_are() -> None:
    """AlterConfigs, the older of Kafka's two; what is said of share groups is not the bridge's."""
    bench = Bench()
    said(bench, altering(bench, set_to(SESSION_TIMEOUT, "50000")))
    anew = altering(bench, set_to(HEARTBEAT_INTERVAL, "6000"), set_to("share.auto.offset.reset", "x"))
    assert said(bench, replace(anew, replaces_all=True)) == (ErrorCode.NONE, None)
    assert bench.state.configs == {GROUP: read_configs([(HEARTBEAT_INTERVAL, "6000")])}


def test_group_whose_name_is_as_nobody_gives_has_no_settings_of_its_own() -> None:
    """32 kB, as Kafka lets it be: 10,000 were a third of a journal, of which no share counted them."""
    bench = Bench()
    long = GroupId("g" * (NAME_CHARS_MAX + 1))
    code, message = said(bench, altering(bench, set_to(SESSION_TIMEOUT, "50000"), group_id=long))
    assert (code, "256" in (message or "")) == (ErrorCode.POLICY_VIOLATION, True)
    assert bench.state.configs == {}
    delete = altering(bench, Alteration(SESSION_TIMEOUT, None, Operation.DELETE), group_id=long)
    assert said(bench, delete) == (ErrorCode.NONE, None)
    assert said(bench, altering(bench, set_to(SESSION_TIMEOUT, "50000"), group_id=GroupId(long[1:])))[0] == 0


def test_so_many_groups_have_settings_of_their_own() -> None:
    """One more is refused; those that have some may have others."""
    bench = Bench(settings=replace(SETTINGS, group_configs_max=1))
    assert said(bench, altering(bench, set_to(SESSION_TIMEOUT, "50000"))) == (ErrorCode.NONE, None)
    code, message = said(bench, altering(bench, set_to(SESSION_TIMEOUT, "50000"), group_id=GroupId("other")))
    assert (code, "group.configs.max" in (message or "")) == (ErrorCode.POLICY_VIOLATION, True)
    assert said(bench, altering(bench, set_to(SESSION_TIMEOUT, "51000"))) == (ErrorCode.NONE, None)
