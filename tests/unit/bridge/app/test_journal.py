"""The journal of the configuration: opened, replayed, written to, or refused with one sentence."""

from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from bridge.app.composition import AppError, make_owner, serve
from bridge.app.journal import file_settings, keep_journal, own_path
from bridge.config.configuration import Config, GroupRule
from bridge.config.keys import Settings
from bridge.coordinators.embedded.groups import EmbeddedGroups, EmbeddedSettings
from bridge.coordinators.ledger import Clients
from bridge.journal.refusals import JournalForeign, JournalInUse, JournalRefused
from bridge.journal.sqlite_file import FileSettings, open_file
from bridge.migration.route import Road
from bridge.net.bridge_questions import BridgeQuestions
from bridge.net.clock import TrioClock
from bridge.session.contracts import NoAccess
from translators.dialects.ids import RequestRef
from translators.dialects.messages import GroupReply

RULES = (GroupRule("orders-*", Road.EMBEDDED),)


def config_in(folder: Path, journal: str = "sqlite") -> Config:
    """A bridge with a journal in this folder."""
    settings = Settings(
        bootstrap=("127.0.0.1:1",), journal=journal, journal_path=str(folder / "journal.db"), journal_sync="normal"
    )
    return Config(settings, RULES)


def groups_of(config: Config) -> EmbeddedGroups:
    """Embedded groups without clients."""

    def deliver(ref: RequestRef, reply: GroupReply) -> None:
        raise AssertionError(f"nobody asked {ref}, answered {reply}")

    return EmbeddedGroups(
        make_owner(config, 0),
        BridgeQuestions(),
        TrioClock(),
        Clients(deliver, lambda _: NoAccess()),
        EmbeddedSettings(),
    )


def test_memory_has_no_file(tmp_path: Path) -> None:
    """Nothing is written where nothing is asked to survive."""
    config = config_in(tmp_path, "memory")
    assert file_settings(config, {}) is None
    with keep_journal(config, groups_of(config), {}):
        assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("rules", [(), (GroupRule("*", Road.PASS),)])
@pytest.mark.parametrize("road", [Road.EMBEDDED, Road.UPSTREAM])
async def test_road_that_only_orders_lead_to_has_a_journal(
    tmp_path: Path, rules: tuple[GroupRule, ...], road: Road
) -> None:
    """A bridge that was killed has to know whom an order had moved: its clients would join again."""
    config = replace(config_in(tmp_path), rules=rules)
    with keep_journal(config, groups_of(config), {}, road):
        name = "journal.db" if road is Road.EMBEDDED else "journal-upstream.db"
        assert (tmp_path / name).exists()


def test_road_that_only_orders_lead_to_can_do_without_a_journal(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """A bridge that passes everything on starts in a read-only container, and says what that costs."""
    (tmp_path / "epochbridge").write_text("in the way")
    config = Config(Settings(bootstrap=("h:1",)))
    for road in (Road.EMBEDDED, Road.UPSTREAM):
        with keep_journal(config, groups_of(config), {"XDG_STATE_HOME": str(tmp_path)}, road) as journal:
            assert journal is None
        assert f"an order moves to road {road} would be called to join again after a restart" in caplog.text


async def test_journal_is_read_again_though_no_rule_sends_a_group_there_any_more(tmp_path: Path) -> None:
    """A rule that has changed switches no live group: who lives in the journal stays (decision 175)."""
    config = config_in(tmp_path)
    settings = file_settings(config, {})
    assert settings is not None
    open_file(settings).close()
    assert file_settings(replace(config, rules=()), {}) == settings


async def test_journal_that_nobody_names_is_the_bridge_s_own(tmp_path: Path) -> None:
    """Told apart by listener and cluster, in a folder that is made, for its owner alone."""
    environment = {"XDG_STATE_HOME": str(tmp_path)}
    config = Config(Settings(bootstrap=("kafka-1:9092", "kafka-2:9092"), listen="[::1]:9192"), RULES)
    path = tmp_path / "epochbridge" / "_1_9192-kafka-1_9092.db"
    path.parent.mkdir(mode=0o777)
    assert own_path(config, environment) == path
    with keep_journal(config, groups_of(config), environment):
        assert path.exists()
        assert path.parent.stat().st_mode & 0o777 == 0o700
        with pytest.raises(JournalInUse, match=r"kafka-1_9092\.db is open in another process.*journal\.path"):
            keep_journal(config, groups_of(config), environment)
    other = Config(replace(config.settings, bootstrap=("other:9092",)), RULES)
    assert own_path(other, environment) != path


def test_folder_that_can_t_be_made_is_refused_with_both_ways_out(tmp_path: Path) -> None:
    """A read-only container: name a file, or do without."""
    (tmp_path / "epochbridge").write_text("in the way")
    config = Config(Settings(bootstrap=("h:1",)), RULES)
    with pytest.raises(JournalRefused, match=r"journal\.path, or set journal: memory"):
        keep_journal(config, groups_of(config), {"XDG_STATE_HOME": str(tmp_path)})


async def test_journal_is_open_until_the_end(tmp_path: Path) -> None:
    """Path, sync and size come from the configuration; afterwards the file is free again."""
    config = config_in(tmp_path)
    settings = file_settings(config, {})
    assert settings == FileSettings(path=tmp_path / "journal.db", sync="normal", bytes_max=1_073_741_824)
    with keep_journal(config, groups_of(config), {}):
        assert settings.path.exists()
    with closing(open_file(settings)) as file:
        assert list(file.replay()) == []


async def test_record_of_a_newer_release_refuses_to_start(tmp_path: Path) -> None:
    """A downgrade guesses nothing, and leaves the file alone."""
    config = config_in(tmp_path)
    settings = file_settings(config, {})
    assert settings is not None
    with closing(open_file(settings)) as file:
        file.append([b'E["of-tomorrow",1,[]]'])
    with pytest.raises(JournalForeign, match=r"journal\.db holds what can't be read.*a newer release wrote it"):
        keep_journal(config, groups_of(config), {})
    with closing(open_file(settings)) as file:
        assert list(file.replay()) == [b'E["of-tomorrow",1,[]]']


async def test_bridge_without_its_journal_does_not_start(tmp_path: Path) -> None:
    """The operator gets one sentence with a code, before any client is served."""
    config = config_in(tmp_path / "missing")
    with pytest.raises(AppError, match=r"EB-JOURNAL-001: .*missing/journal\.db can't be opened"):
        await serve(config, say=lambda _: None)
