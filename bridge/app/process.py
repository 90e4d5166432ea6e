"""The bridge as a process: logging first, then the event loop, and one error out of however many tasks failed."""

import ctypes
import gc
import logging
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial

import trio

from bridge.admin.contracts import AdminError
from bridge.app.admin_tokens import read_admin_tokens
from bridge.app.composition import AppError, make_owner, serve
from bridge.app.kept_logins import read_kept_logins
from bridge.app.listening import read_balancers, read_host_pattern
from bridge.app.login import read_login
from bridge.app.places import judge_folders, place_judges
from bridge.app.rules import tell_findings
from bridge.app.settings import parse_address, proxy_settings
from bridge.app.tls import CODE_OTHER_HOST, admin_tls, broker_tls, client_tls, find_misnamed
from bridge.app.unread_keys import CODE_UNREAD, find_unread
from bridge.config.configuration import Config
from bridge.config.faults import ConfigError, Fault, FaultCode
from bridge.config.keys import Settings
from bridge.config.sources import read_environment
from bridge.migration.rule_findings import CODE_EVERYTHING
from bridge.net.descriptors import raise_limit
from bridge.net.listener import CannotListen
from bridge.telemetry.logs import LogFormat, configure_logs, end_logs

LOG = logging.getLogger("epochbridge.app")
Judge = Callable[[], object]
"""Raises ConfigError for what a room would refuse."""
ADMIN_OFF = "off"
COLLECTOR_THRESHOLDS = (20_000, 20, 20)
"""Young objects before the first look, and looks at each generation before the next older one."""


_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD = -1, -3
LARGE_BLOCK_BYTES = 1_048_576
"""From this size on a block is a mapping of its own, which goes when it is freed."""
FREE_END_BYTES_MAX = 4_194_304
"""How much of the heap's free end is kept for what comes next."""


@dataclass(frozen=True, slots=True)
class LogChoice:
    """How log lines are written (json, console) and from which level up."""

    log_format: str
    level: str


def run_bridge(
    config: Config, logs: LogChoice, say: Callable[[str], None], load_again: Callable[[], Config] | None = None
) -> None:
    """Serve until SIGTERM or SIGINT; raises ConfigError or AppError, whichever task they came from.

    What can be seen in the configuration alone is refused before anything is opened or asked for. `load_again` is for
    SIGHUP and the admin API; without it nothing can be read again.
    """
    faults = _faults_of(config, _address_judges(config))
    if faults:
        raise ConfigError(faults)
    configure_logs(LogFormat(logs.log_format), logs.level)
    warn_of_rules(config)
    warn_of_unread(config)
    warn_of_other_hosts(config)
    calm_collector()
    raise_limit()
    give_memory_back()
    try:
        read_again = None if load_again is None else partial(load_judged, load_again)
        trio.run(partial(serve, config, say=say, read_again=read_again))
    except BaseExceptionGroup as group:
        raise first_known(group) from None
    finally:
        end_logs()


def warn_of_rules(config: Config) -> None:
    """Tell the log what `check-config` finds of the rules; that one takes every group is what quick starts want."""
    for _, sentence in tell_findings(config):
        if not sentence.startswith(CODE_EVERYTHING):
            LOG.warning("%s", sentence, extra={"code": sentence.partition(":")[0]})


def warn_of_unread(config: Config) -> None:
    """Tell the log of keys that nothing reads."""
    for _, sentence in find_unread(config.settings):
        LOG.warning("%s", sentence, extra={"code": CODE_UNREAD})


def warn_of_other_hosts(config: Config) -> None:
    """Tell the log before the first client does, in its own words."""
    for _, sentence in find_misnamed(config.settings):
        LOG.warning("%s", sentence, extra={"code": CODE_OTHER_HOST})


def calm_collector() -> None:
    """Let the garbage collector look less often, and never at what was imported.

    Thousands of requests under way are thousands of young objects that are not garbage: at Python's own threshold of
    700, looking at them cost a fifth of every heartbeat (docs/reference/benchmarks.md).
    """
    gc.freeze()
    gc.set_threshold(*COLLECTOR_THRESHOLDS)


def give_memory_back() -> None:
    """Let what large requests took go back to the system when they are done.

    GNU's allocator moves its own bounds: after one commit of 16 MiB, the next ones come from a heap whose free end is
    kept. Bounds that were set stay. Other C libraries have no such bounds to set.
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        mallopt(_M_MMAP_THRESHOLD, LARGE_BLOCK_BYTES)
        mallopt(_M_TRIM_THRESHOLD, FREE_END_BYTES_MAX)


def first_known(group: BaseExceptionGroup[BaseException]) -> BaseException:
    """The first error of a group that the operator can act on, or Ctrl-C; the group itself if it holds any other."""
    known, unknown = group.split((AppError, ConfigError, CannotListen, AdminError, KeyboardInterrupt))
    if known is None or unknown is not None:
        return group
    first: BaseException = known
    while isinstance(first, BaseExceptionGroup):
        first = first.exceptions[0]
    # Their texts begin with their codes.
    return AppError(str(first)) if isinstance(first, CannotListen | AdminError) else first


def find_faults(config: Config) -> list[Fault]:
    """What the rooms would refuse of a configuration whose single values are allowed; raises AppError as serve does."""
    judges: list[Judge] = [partial(judge_folders, config), partial(make_owner, config, now_ms=0)]
    return _faults_of(config, [*_address_judges(config), *judges])


def load_judged(load: Callable[[], Config]) -> Config:
    """A configuration that the rooms would take; raises ConfigError with all that they would not."""
    config = load()
    try:
        faults = find_faults(config)
    except AppError as problem:
        raise ConfigError([_unloadable(problem)]) from None
    if faults:
        raise ConfigError(faults)
    return config


def _unloadable(problem: AppError) -> Fault:
    seen, wanted = str(problem), "assignors that can be loaded"
    return Fault(code=FaultCode.WRONG_KIND, source="assignors", key="", seen=seen, allowed=wanted)


def _address_judges(config: Config) -> list[Judge]:
    settings = config.settings
    addresses = [("listen", settings.listen), *(("bootstrap", broker) for broker in settings.bootstrap)]
    addresses += [("events.bootstrap", broker) for broker in settings.events_bootstrap]
    if settings.admin_listen != ADMIN_OFF:
        addresses.append(("admin.listen", settings.admin_listen))
    judges: list[Judge] = [partial(parse_address, key, text) for key, text in addresses]
    return [*judges, *place_judges(config), *_admin_judges(settings), *_file_judges(config)]


def _faults_of(config: Config, judges: Iterable[Judge]) -> list[Fault]:
    """What they find, each fault once, where its key was given: two may judge the same address."""
    faults: dict[Fault, None] = {}
    for judge in judges:
        try:
            judge()
        except ConfigError as problem:
            faults |= dict.fromkeys(map(config.placed, problem.faults))
    return list(faults)


def _file_judges(config: Config) -> list[Judge]:
    """Each by itself before all together: whoever has two files to mend hears of both at once."""
    settings = config.settings
    each: Iterable[Callable[[Settings], object]] = (
        read_host_pattern,
        read_balancers,
        broker_tls,
        client_tls,
        read_kept_logins,
    )
    judges: list[Judge] = [partial(judge, settings) for judge in each]
    return [partial(read_login, config, read_environment()), *judges, partial(proxy_settings, config)]


def _admin_judges(settings: Settings) -> list[Judge]:
    return [partial(read_admin_tokens, settings), partial(admin_tls, settings)]
