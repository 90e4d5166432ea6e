"""The configuration read again: rules change for new groups, and a wrong file changes nothing."""

import logging
import threading
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import pytest
import trio
from trio.testing import wait_all_tasks_blocked

from bridge.admin.contracts import Reload
from bridge.app.reloading import FAILED, Configured, reload_line
from bridge.app.rules import route_rules
from bridge.app.service_notices import ServiceNotices
from bridge.app.settings import RuledSettings
from bridge.config.configuration import Config, GroupRule
from bridge.config.faults import ConfigError, Fault, FaultCode
from bridge.config.keys import Settings
from bridge.coordinators.placement import GroupPlaces
from bridge.migration.route import Road, Router
from bridge.net.clock import TrioClock
from tests.support.embedded_world import FakeBroker
from translators.dialects.ids import GroupId

LIVING, OTHER = GroupId("orders-live"), GroupId("orders-new")
SETTINGS = Settings(bootstrap=("127.0.0.1:9092",))
BEFORE = Config(SETTINGS, (GroupRule("orders-*", Road.EMBEDDED), GroupRule("u", Road.UPSTREAM)))
PASSING = Config(SETTINGS, (GroupRule("orders-*", Road.PASS), GroupRule("*-new", Road.UPSTREAM)))


@dataclass
class Running:
    """A bridge whose embedded group `orders-live` has members, and the configuration that is read next."""

    next: Config | Sequence[Fault] = BEFORE
    router: Router = field(init=False)
    configured: Configured = field(init=False)
    ruled: RuledSettings = field(default_factory=lambda: RuledSettings(BEFORE))

    def __post_init__(self) -> None:

        self.router = Router(route_rules(BEFORE))
        places = GroupPlaces(
            self.router,
            FakeBroker(),
            lambda group_id: Road.EMBEDDED if group_id == LIVING else None,
            lambda group_id: group_id == LIVING,
            TrioClock().now_ms,
        )
        self.configured = Configured(BEFORE, self.read, places, lambda: (LIVING,), self.ruled)

    def read(self) -> Config:
        """Read it."""
        if isinstance(self.next, Config):
            return self.next
        raise ConfigError(self.next)

    def roads(self) -> list[Road]:
        """Where the living group is, and where a new one begins."""
        return [self.router.road(LIVING), self.router.road(OTHER)]


async def test_changed_rules_count_for_new_groups_only(caplog: pytest.LogCaptureFixture) -> None:
    """Whoever lives stays where it lives."""
    caplog.set_level(logging.INFO)
    running = Running(next=PASSING)
    assert running.roads() == [Road.EMBEDDED, Road.EMBEDDED]
    reload = await running.configured.reload()
    assert reload.error == ""
    assert running.roads() == [Road.EMBEDDED, Road.PASS]
    assert reload.error == ""
    assert reload.changes == ("rules for new groups: groups orders-*: road pass; groups *-new: road upstream",)
    assert [finding.split(":")[1].strip() for finding in reload.findings] == ["EB-RULE-003"]
    assert "EB-APP-006" in caplog.text
    assert "EB-GROUP-020" in caplog.text
    again = await running.configured.reload()
    assert again.changes == ()


@dataclass
class RememberingNotices(ServiceNotices):
    """What the service manager would hear."""

    heard: list[str] = field(default_factory=list)

    def reloaded(self, status: str) -> None:
        """Over."""
        self.heard.append(status)

    def reloading(self) -> None:
        """Begun."""
        self.heard.append("reloading")


async def test_asked_many_times_it_is_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """A storm of signals; whoever asks while it is read has it read again."""
    configured, notices = Running().configured, RememberingNotices()

    async def reload() -> Reload:
        await trio.lowlevel.checkpoint()
        if len(notices.heard) == 1:
            configured.ask_again()
        return Reload()

    monkeypatch.setattr(configured, "reload", reload)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(configured.run, notices)
        for _ in range(100):
            configured.ask_again()
        await wait_all_tasks_blocked()
        nursery.cancel_scope.cancel()
    assert notices.heard == ["reloading", reload_line(Reload())] * 2


async def test_service_manager_hears_the_end_of_a_reload_that_failed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever guards the task tells the bug; the manager would wait, and call the unit failed."""
    configured, notices = Running().configured, RememberingNotices()

    async def fail() -> Reload:
        raise KeyError("reload")

    monkeypatch.setattr(configured, "reload", fail)
    configured.ask_again()
    with pytest.raises(KeyError):
        await configured.run(notices)
    assert notices.heard == ["reloading", FAILED]


async def test_stop_does_not_wait_for_a_disk_that_does_not_answer() -> None:
    """The file is read in a thread, which is left behind."""
    answers, asked = threading.Event(), threading.Event()
    running = Running()

    def hang() -> Config:
        asked.set()
        answers.wait()
        return BEFORE

    running.configured._read_again = hang
    try:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(running.configured.run, RememberingNotices())
            running.configured.ask_again()
            await trio.to_thread.run_sync(asked.wait)
            nursery.cancel_scope.cancel()
    finally:
        answers.set()


async def test_certificates_are_read_again_unless_somebody_only_asks() -> None:
    """What became of them is told with the rest; a configuration that is refused has none of them read."""
    running, reads = Running(), 0

    async def renew() -> tuple[str, ...]:
        nonlocal reads
        reads += 1
        return ("listen.tls: read",)

    running.configured.renew = renew
    assert (await running.configured.reload(is_dry_run=True)).changes == ()
    assert (await running.configured.reload()).changes == ("listen.tls: read",)
    running.next = (Fault(code=FaultCode.WRONG_KIND, source="file", key="listen.tls.key.path", seen="a", allowed="b"),)
    assert (await running.configured.reload()).error
    assert reads == 1


async def test_rules_that_come_back_end_the_stay() -> None:
    """The group is where its rule says again."""
    running = Running(next=PASSING)
    await running.configured.reload()
    running.next = BEFORE
    await running.configured.reload()
    assert (running.roads(), running.router.staying) == ([Road.EMBEDDED, Road.EMBEDDED], {})


async def test_settings_of_rules_change_with_them() -> None:
    """For the groups that they name."""
    overrides = (("replacement_grace_ms", 7),)
    running = Running(next=Config(SETTINGS, (GroupRule("orders-*", Road.EMBEDDED, overrides), *BEFORE.rules)))
    with pytest.raises(KeyError):
        running.ruled[LIVING]
    await running.configured.reload()
    assert running.ruled[LIVING].replacement_grace_ms == 7


@pytest.mark.parametrize("is_dry_run", [True, False])
async def test_wrong_file_changes_nothing_and_says_why(caplog: pytest.LogCaptureFixture, *, is_dry_run: bool) -> None:
    """Every fault, in the answer, and in the log unless somebody only asked."""
    faults = [
        Fault(code=FaultCode.UNKNOWN_KEY, source="f.yaml", key=key, seen="no such key", allowed="x", line=3)
        for key in ("one", "two")
    ]
    running = Running(next=faults)
    reload = await running.configured.reload(is_dry_run=is_dry_run)
    assert reload.error == "; ".join(map(str, faults))
    assert (running.configured.config, running.roads()) == (BEFORE, [Road.EMBEDDED, Road.EMBEDDED])
    assert ("EB-APP-007" in caplog.text) is not is_dry_run


async def test_what_needs_a_restart_is_refused_by_name() -> None:
    """And nothing of the rest is taken."""
    changed = replace(SETTINGS, limits_idle_ms=5, upstream_sasl_username="me")
    running = Running(next=Config(changed, PASSING.rules, "b.yaml", {"limits.idle.ms": ("b.yaml", 7)}))
    reload = await running.configured.reload()
    assert reload.error.count("EB-CONFIG-009") == 2
    assert "b.yaml:7: limits.idle.ms: 5 is not what the bridge runs with" in reload.error
    assert running.roads() == [Road.EMBEDDED, Road.EMBEDDED]


async def test_first_rule_for_a_road_has_what_surrounds_it_begin() -> None:
    """Other bridges are met before a group is sent there."""
    running, begun = Running(next=PASSING), list[tuple[set[Road], Road]]()
    running.configured.begin_roads = lambda roads: begun.append((set(roads), running.roads()[1]))
    assert not (await running.configured.reload(is_dry_run=True)).error
    assert begun == []
    assert not (await running.configured.reload()).error
    assert begun == [({Road.PASS, Road.UPSTREAM}, Road.EMBEDDED)]


async def test_road_without_a_journal_needs_a_restart() -> None:
    """It could not be opened when nobody needed it, and a restart would say why and not begin."""
    running = Running()
    running.configured.unwritten = frozenset({Road.UPSTREAM})
    running.next = PASSING
    reload = await running.configured.reload()
    assert "EB-CONFIG-009" in reload.error
    assert "the journal of road upstream could not be opened at the start" in reload.error
    assert running.roads() == [Road.EMBEDDED, Road.EMBEDDED]


async def test_dry_run_tells_and_changes_nothing() -> None:
    """Not even the log level."""
    running, root = Running(next=PASSING), logging.getLogger()
    level = root.level
    wanted = "error" if level != logging.ERROR else "debug"
    reload = await running.configured.reload(is_dry_run=True, log_level=wanted)
    assert reload.error == ""
    assert [change.split(":")[0] for change in reload.changes] == ["rules for new groups", "log level"]
    assert (running.roads(), root.level) == ([Road.EMBEDDED, Road.EMBEDDED], level)


async def test_log_level_changes_until_the_next_start() -> None:
    """A level that is none is refused."""
    root = logging.getLogger()
    level = root.level
    try:
        await Running().configured.reload(log_level="error")
        assert root.level == logging.ERROR
        assert "is none of debug" in (await Running().configured.reload(log_level="loud")).error
    finally:
        root.setLevel(level)


def test_outcome_is_one_line() -> None:
    """What `systemctl status` shows after a reload."""
    assert reload_line(Reload()) == "the configuration was read again: it is what it was"
    assert reload_line(Reload(changes=("a", "b"))) == "the configuration was read again: a; b"
    assert reload_line(Reload(error="no")) == "the configuration can't be used, nothing has changed: no"
