"""The configuration decides whether there is an event log; where there is, the bridge's life is in it."""

from pathlib import Path

import pytest
import trio
from trio.testing import MockClock

from bridge.admin.contracts import Conversion, ConversionResult, Removal, RemovalResult
from bridge.app.composition import make_owner
from bridge.app.events import (
    FOLLOWED_ROADS,
    EventWatch,
    Watch,
    events_folder,
    file_limits,
    watched,
)
from bridge.config.configuration import Config
from bridge.config.keys import Settings
from bridge.coordinators.embedded.owner import EmbeddedOwner
from bridge.migration.orders import MoveOrder
from bridge.migration.route import ROADS_OF_RULES
from bridge.migration.route import Road as MigrationRoad
from bridge.ports import BrokerUnreachable
from bridge.telemetry.event_log.codec import encode_event
from bridge.telemetry.event_log.sinks import SinkUnusable
from bridge.telemetry.observing import ObservedGroups
from bridge.telemetry.passing import PassingLog
from bridge.telemetry.schema.facts import (
    BridgeStarted,
    BridgeStopped,
    Event,
    Fact,
    MemberRevived,
    MoveEnded,
    OperatorActed,
    RebalanceBegan,
    RebalanceEnded,
    Stamp,
    TopicsSeen,
)
from bridge.telemetry.schema.terms import OperatorAction, Outcome, Road
from tests.support.embedded_world import embedded_world
from tests.support.logged_events import read_events
from tests.support.owned_group import CLIENT, TOPIC
from tests.support.proxy import NoGroups
from translators.dialects.classic import Heartbeat, HeartbeatReply
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import GroupId, MemberId, RequestRef


class Commands:
    async def remove_members(self, removal: Removal) -> RemovalResult | None:
        return None

    async def convert(self, conversion: Conversion) -> ConversionResult | None:
        return None


def _config(folder: Path) -> Config:
    return Config(settings=Settings(events_path=str(folder)))


def _owner(config: Config) -> EmbeddedOwner:
    return make_owner(config, 0)


def _facts(folder: Path) -> list[Fact]:
    return [event.fact for event in read_events(folder)]


def test_without_a_place_nothing_is_overheard() -> None:
    """The bridge is as it was."""
    config = Config(settings=Settings(metrics_rebalances=False))
    with watched(config, _owner(config)) as watch:
        groups, commands = NoGroups(), Commands()
        assert type(watch) is Watch
        assert (watch.over_requests(groups), watch.over_commands(commands)) == (groups, commands)
        assert type(watch.passing()) is PassingLog
        watch.begin()


def test_life_of_the_bridge_is_in_the_log(tmp_path: Path) -> None:
    """It began, and it stopped; what it was asked to do is between."""
    config = _config(tmp_path)
    with watched(config, _owner(config)) as watch:
        watch.begin()
    started, stopped = _facts(tmp_path)
    assert isinstance(started, BridgeStarted)
    assert (started.is_revived, stopped) == (False, BridgeStopped(reason="asked to"))


def test_end_by_an_error_is_told_with_its_name(tmp_path: Path) -> None:
    """A crash that still had time to speak."""
    config = _config(tmp_path)
    with pytest.raises(ZeroDivisionError), watched(config, _owner(config)):
        raise ZeroDivisionError
    assert _facts(tmp_path) == [BridgeStopped(reason="ZeroDivisionError")]


def test_rebalance_of_the_run_before_is_interrupted(tmp_path: Path) -> None:
    """A crash in the middle of it."""
    began = RebalanceBegan(group_id="g", road=Road.EMBEDDED, rebalance_id="old")
    (tmp_path / "events-00-000001.jsonl").write_bytes(encode_event(Event(Stamp("00", 1, 1, 1), began)))
    config = _config(tmp_path)
    with watched(config, _owner(config)) as watch:
        watch.begin()
    (ended,) = [fact for fact in _facts(tmp_path) if isinstance(fact, RebalanceEnded)]
    assert (ended.rebalance_id, ended.outcome) == ("old", Outcome.INTERRUPTED)


async def test_operators_orders_are_told_unless_only_tried(tmp_path: Path) -> None:
    """A dry run changes nothing."""
    config = _config(tmp_path)
    with watched(config, _owner(config)) as watch:
        commands = watch.over_commands(Commands())
        await commands.remove_members(Removal(group="g", member_ids=("a",), instance_ids=("b",)))
        await commands.convert(Conversion(group="g", to="classic", is_dry_run=True))
        await commands.convert(Conversion(group="g", to="classic", is_dry_run=False))
    told = [fact for fact in _facts(tmp_path) if isinstance(fact, OperatorActed)]
    assert [(one.action, one.members) for one in told] == [
        (OperatorAction.REMOVE_MEMBERS, ("a", "b")),
        (OperatorAction.CONVERT, ()),
    ]


def test_moves_are_told(tmp_path: Path) -> None:
    """When they begin, and where they ended: a group that rests shows it by nothing else."""
    config = _config(tmp_path)
    with watched(config, _owner(config)) as watch:
        watch.move_began(MoveOrder(GroupId("g"), MigrationRoad.UPSTREAM, (MemberId("m"),)))
        watch.move_settled(GroupId("g"), MigrationRoad.UPSTREAM, {MemberId("m"): 3})
    told = [fact for fact in _facts(tmp_path) if isinstance(fact, OperatorActed)]
    assert [(one.group_id, one.action, one.members) for one in told] == [("g", OperatorAction.MOVE, ("m",))]
    ended = [fact for fact in _facts(tmp_path) if isinstance(fact, MoveEnded)]
    assert [(one.group_id, one.road) for one in ended] == [("g", Road.UPSTREAM)]


def test_members_whose_broker_knows_them_otherwise_are_followed_as_it_does(tmp_path: Path) -> None:
    """They were in no event behind a release until they joined: a plan that brought groups back had no figures."""
    config, ref, group_id = _config(tmp_path), RequestRef(0, 1, 0), GroupId("g")
    beat = Heartbeat(group_id, 7, MemberId("seat"), None)
    with watched(config, _owner(config)) as watch:
        watch.move_settled(group_id, MigrationRoad.PASS, {})
        watch.mapped_asked(ref, CLIENT, beat)
        watch.mapped_answered(ref, HeartbeatReply(ErrorCode.NONE))
        tracks = watch.tracks()
        assert tracks is not None
        assert list(tracks[group_id].members) == ["seat"]
    (met,) = [fact for fact in _facts(tmp_path) if isinstance(fact, MemberRevived)]
    assert (met.road, met.client_id, met.client_host) == (Road.PASSING, CLIENT.client_id, CLIENT.client_host)


def test_every_place_has_its_word_in_the_log() -> None:
    """Where the rules can send a group a move can."""
    assert set(FOLLOWED_ROADS) == set(ROADS_OF_RULES)


def test_place_that_is_none_is_refused(tmp_path: Path) -> None:
    """One sentence, at the start."""
    (tmp_path / "file").write_bytes(b"")
    config = _config(tmp_path / "file")
    with pytest.raises(SinkUnusable, match=r"^EB-EVENTS-001"), watched(config, _owner(config)):
        pass


def test_topic_keeps_a_spool_where_it_is_told_to(tmp_path: Path) -> None:
    """And needs no broker to start."""
    (tmp_path / "file").write_bytes(b"")
    settings = Settings(
        events_topic="events", events_bootstrap=("127.0.0.1:1",), events_spool_path=str(tmp_path / "file")
    )
    config = Config(settings=settings)
    with pytest.raises(SinkUnusable, match=r"^EB-EVENTS-008"), watched(config, _owner(config)):
        pass


def test_limits_are_those_of_the_configuration() -> None:
    """Milliseconds there, seconds here."""
    limits = file_limits(Config(settings=Settings(events_file_age_ms=5_000, events_total_bytes_max=7)))
    assert (limits.file_age_max_s, limits.total_bytes_max) == (5, 7)


def test_rebalances_are_measured_without_a_place_for_events(tmp_path: Path) -> None:
    """The metrics want to know, though nobody keeps events."""
    config = Config()
    with watched(config, _owner(config)) as watch:
        assert type(watch) is EventWatch
        assert type(watch.over_requests(NoGroups())) is ObservedGroups
        assert watch.event_counts().keys() == {"written", "dropped", "lost"}
    assert list(tmp_path.iterdir()) == []


def test_connection_that_is_gone_is_forgotten_where_groups_pass_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its last heartbeat is kept there, which nobody else would let go."""
    config, gone = Config(), list[int]()
    with watched(config, _owner(config)) as watch:
        monkeypatch.setattr(watch.passing(), "disconnected", gone.append)
        watch.over_requests(NoGroups()).disconnected(3)
    assert gone == [3]


def test_folder_of_events_is_told_in_full(tmp_path: Path) -> None:
    """Others on the machine stand elsewhere."""
    assert events_folder(_config(tmp_path)) == str(tmp_path)
    assert Path(events_folder(_config(Path("events")))).is_absolute()
    assert events_folder(Config()) == ""


async def test_topics_are_told_once_the_engine_can_deal_them_out(tmp_path: Path, autojump_clock: MockClock) -> None:
    """A look for groups that pass is one for the embedded ones too: neither hears of a topic before the other."""
    config = _config(tmp_path)
    async with embedded_world() as world:
        with watched(config, world.groups.owner) as watch:
            watch.begin()
            await world.groups.look_at_topics()
            topics = world.groups.owner.shard.topics.values()
    told = [fact for fact in _facts(tmp_path) if isinstance(fact, TopicsSeen)]
    assert [(one.topics, one.partition_counts) for one in told] == [((TOPIC,), (6,))]
    assert [topic.name for topic in topics] == [TOPIC]


async def test_cluster_that_is_away_is_a_line_a_minute_of_the_event_log_too(
    tmp_path: Path, autojump_clock: MockClock, caplog: pytest.LogCaptureFixture
) -> None:
    """Groups that pass have topics looked at every five seconds, and each time it was a line."""
    looks = 0

    async def look() -> None:
        nonlocal looks
        looks += 1
        assert isinstance(watch, EventWatch)
        watch._want_look()
        await trio.sleep(5)
        raise BrokerUnreachable(f"nobody takes connections, attempt {looks}")

    config = _config(tmp_path)
    with caplog.at_level("INFO"), watched(config, _owner(config)) as watch, trio.move_on_after(52):
        assert isinstance(watch, EventWatch)
        watch._want_look()
        await watch.run(look)
    assert looks > 5
    assert [message for message in caplog.messages if "event log" in message] == [
        "the topics could not be looked at for the event log: nobody takes connections, attempt 1"
    ]
