"""The configuration read again while the bridge runs: what may change does, all or nothing."""

import logging
from collections.abc import Awaitable, Callable, Iterable, Iterator
from dataclasses import fields, replace

import trio

from bridge.admin.contracts import Reload
from bridge.app.rules import route_rules, tell_findings, tell_rules
from bridge.app.service_notices import ServiceNotices
from bridge.app.settings import RuledSettings
from bridge.config.configuration import Config
from bridge.config.faults import ConfigError, Fault, FaultCode, fault_of
from bridge.config.keys import KEYS
from bridge.config.log_choices import LEVELS
from bridge.config.secrets import shown
from bridge.coordinators.placement import GroupPlaces
from bridge.migration.route import Road
from translators.dialects.ids import GroupId

LOG = logging.getLogger("epochbridge.app")
RELOADABLE = frozenset({"migration.groups.max"})
"""The keys that count anew as soon as they are read; rules and what rules set for their groups do, too."""
RULES = "groups"
FAILED = "the configuration could not be read again, nothing has changed: see the log"
"""What the service manager is told where reading it failed, which is a bug."""

ReadAgain = Callable[[], Config]
"""Reads file, environment and command line as at the start, and judges them; raises ConfigError."""

Renew = Callable[[], Awaitable[tuple[str, ...]]]
"""Gives a sentence for whatever was read."""


async def _nothing() -> tuple[str, ...]:
    return ()


def _nowhere(_roads: Iterable[Road]) -> None:
    """Nothing has to begin."""


class Configured:
    """The configuration that the bridge runs with (`admin.contracts.Reloading`)."""

    def __init__(
        self,
        config: Config,
        read_again: ReadAgain,
        places: GroupPlaces,
        living: Callable[[], Iterable[GroupId]],
        ruled: RuledSettings | None = None,
    ) -> None:
        """`living` are the groups with members here: rules never move them. `ruled` has what rules set for groups."""
        self.config = config
        self._read_again = read_again
        self._places = places
        self._living = living
        self._ruled = ruled
        self.renew: Renew = _nothing
        """Has files of TLS read again that have changed; what they are called stays what it was at the start."""
        self.begin_roads: Callable[[Iterable[Road]], None] = _nowhere
        """Has what surrounds these roads begin, before a group is sent there; it may have."""
        self.unwritten: frozenset[Road] = frozenset()
        """Roads whose journal could not be opened at the start, when no rule sent anybody there."""
        self._wanted = trio.Event()

    def ask_again(self) -> None:
        """Have the configuration read again soon; asked many times before it is read, it is read once (SIGHUP)."""
        self._wanted.set()

    async def run(self, notices: ServiceNotices) -> None:
        """Read it whenever that was asked for, and have the service manager know, which waits for the end of it."""
        while True:
            await self._wanted.wait()
            self._wanted = trio.Event()
            notices.reloading()
            try:
                line = reload_line(await self.reload())
            except Exception:
                notices.reloaded(FAILED)
                raise
            notices.reloaded(line)

    async def reload(self, *, is_dry_run: bool = False, log_level: str = "") -> Reload:
        """See `admin.contracts.Reloading`; what was wrong or has changed is in the log, too."""
        if log_level and log_level not in LEVELS:
            return _refused([f"log level {log_level!r} is none of {', '.join(LEVELS)}"], is_dry_run=is_dry_run)
        try:
            # A file may be on a disk that sleeps, and the assignors are looked for.
            # That disk may also never answer, and who stops the bridge does not wait for it.
            config = await trio.to_thread.run_sync(self._read_again, abandon_on_cancel=True)
        except ConfigError as problem:
            return _refused(map(str, problem.faults), is_dry_run=is_dry_run)
        faults = [*self._find_fixed(config)]
        if faults:
            return _refused(map(str, faults), is_dry_run=is_dry_run)
        changes = tuple(self._tell_changes(config, log_level))
        findings = tuple(f"line {line}: {sentence}" for line, sentence in tell_findings(config))
        if not is_dry_run:
            self._take(config, log_level)
            changes = (*changes, *await self.renew())
            for sentence in (*changes, *findings):
                LOG.info("EB-APP-006: the configuration was read again: %s", sentence)
            if not changes:
                LOG.info("EB-APP-006: the configuration was read again, and is what it was")
        return Reload(changes=changes, findings=findings, is_dry_run=is_dry_run)

    def _take(self, config: Config, log_level: str) -> None:
        if config.rules != self.config.rules:
            self.begin_roads({rule.road for rule in config.rules})
            self._places.change_rules(route_rules(config), self._living())
            if self._ruled is not None:
                self._ruled.change(config)
        if log_level:
            logging.getLogger().setLevel(log_level.upper())
        self.config = config

    def _find_fixed(self, config: Config) -> Iterator[Fault]:
        """What differs and can't while the bridge runs."""
        for key in self._changed(config):
            if key not in RELOADABLE:
                value = shown(KEYS[key], getattr(config.settings, KEYS[key].field_name))
                seen, wanted = f"{value} is not what the bridge runs with", "the value of the start, or a restart"
                yield config.placed(_fixed(key, seen, wanted))
        for rule in config.rules:
            if rule.road in self.unwritten:
                seen = f"the journal of road {rule.road} could not be opened at the start, which is in the log"
                wanted = "roads whose groups are written down, or a restart"
                yield config.placed(_fixed(RULES, seen, wanted, rule.line))

    def _tell_changes(self, config: Config, log_level: str) -> Iterator[str]:
        for key in self._changed(config):
            yield f"{key}: {shown(KEYS[key], getattr(config.settings, KEYS[key].field_name))}"
        if config.rules != self.config.rules:
            rules = "; ".join(tell_rules(config)) or "none, every new group passes"
            yield f"rules for new groups: {rules}"
        if log_level and logging.getLogger().level != logging.getLevelNamesMapping()[log_level.upper()]:
            yield f"log level: {log_level}"

    def _changed(self, config: Config) -> Iterator[str]:
        for field in fields(config.settings):
            if getattr(config.settings, field.name) != getattr(self.config.settings, field.name):
                yield str(field.metadata["name"])


def reload_line(reload: Reload) -> str:
    """What came of reading the configuration again, in one line."""
    if reload.error:
        return f"the configuration can't be used, nothing has changed: {reload.error}"
    return f"the configuration was read again: {'; '.join(reload.changes) or 'it is what it was'}"


def _fixed(key: str, seen: str, allowed: str, line: int = 0) -> Fault:
    return replace(fault_of(key, seen, allowed, FaultCode.NEEDS_RESTART), line=line)


def _refused(reasons: Iterable[str], *, is_dry_run: bool) -> Reload:
    """Nothing has changed; the reasons are in the log, unless somebody only asked."""
    error = "; ".join(reasons)
    if not is_dry_run:
        LOG.error("EB-APP-007: the configuration was read again and can't be used, nothing has changed: %s", error)
    return Reload(error=error, is_dry_run=is_dry_run)
