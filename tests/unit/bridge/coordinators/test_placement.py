"""Groups are looked up at their broker before their first request is answered, and live ones stay where they are."""

import logging
from dataclasses import dataclass, field, replace

import pytest
import trio
import trio.lowlevel
import trio.testing
from trio.testing import MockClock

from bridge.coordinators.placement import JOIN_ECHO_MS, LOOKS_AT_ONCE_MAX, GroupPlaces
from bridge.migration.placement import StayReason
from bridge.migration.route import Road, Router, Rule
from bridge.net.clock import TrioClock
from bridge.ports import GroupRefused
from tests.support.embedded_world import FakeBroker, foreign_member
from tests.support.owned_group import GROUP
from tests.support.reseated_world import described
from translators.dialects.admin import DescribedGroup
from translators.dialects.consumer import DescribedConsumerGroup
from translators.dialects.errors import ErrorCode, Refusal
from translators.dialects.ids import GroupId, MemberId

HOST, FLOOD_HOST = "10.0.0.1", "10.0.0.9"
NOBODY = DescribedGroup(error=ErrorCode.NONE, group_id=GROUP, group_state="Empty")
SOMEBODY = replace(NOBODY, group_state="Stable", protocol_type="consumer", members=(foreign_member(),))
STREAMS = replace(NOBODY, protocol_type="streams")


@dataclass
class Site:
    """A router with its places before a broker that answers as it is told; `lives` is where the bridge has members."""

    rule: Road = Road.EMBEDDED
    lives: Road | None = None
    holds: bool = False
    broker: FakeBroker = field(default_factory=lambda: FakeBroker(described=NOBODY))

    def __post_init__(self) -> None:
        """Put it together."""
        self.router = Router((Rule("*", self.rule),))
        self.places = GroupPlaces(
            self.router, self.broker, lambda _: self.lives, lambda _: self.holds, TrioClock().now_ms
        )

    async def place(self) -> Road:
        """Where the group goes after a look that succeeds."""
        assert await self.places.place(GROUP, HOST) is None
        return self.router.road(GROUP)


async def test_empty_group_goes_by_its_rule_and_is_looked_up_once(autojump_clock: MockClock) -> None:
    """Many requests at once wait for one look."""
    site = Site()
    assert not site.places.is_known(GROUP)
    async with trio.open_nursery() as nursery:
        for _ in range(5):
            nursery.start_soon(site.place)
    assert await site.place() is Road.EMBEDDED
    assert site.places.is_known(GROUP)
    assert site.broker.asked == [f"describe {GROUP}"]
    assert not site.places.stays


async def test_group_with_members_passes_until_it_is_empty(
    autojump_clock: MockClock, caplog: pytest.LogCaptureFixture
) -> None:
    """Also if a join that has just passed does not show in the description yet; said once, with the remedy."""
    caplog.set_level(logging.INFO)
    site = Site(broker=FakeBroker(described=SOMEBODY))
    assert await site.place() is Road.PASS
    assert site.places.stays[GROUP].reason is StayReason.MEMBERS
    await trio.sleep(JOIN_ECHO_MS / 1000)
    assert await site.place() is Road.PASS
    assert [record.message for record in caplog.records if "EB-GROUP-020" in record.message] != []
    assert len([record for record in caplog.records if "epochbridge move" in record.message]) == 1
    site.broker.described = NOBODY
    await trio.sleep(1)
    assert await site.place() is Road.PASS, "somebody joined a second ago"
    await trio.sleep(JOIN_ECHO_MS / 1000)
    assert await site.place() is Road.EMBEDDED
    assert not site.places.stays
    assert "goes by its rule now" in caplog.text


async def test_group_of_another_kind_passes_after_a_restart_too(autojump_clock: MockClock) -> None:
    """Nobody has heard a heartbeat of it: the broker is asked."""
    site = Site(broker=FakeBroker(described=STREAMS))
    assert await site.place() is Road.PASS
    assert (site.places.stays[GROUP].reason, site.places.stays[GROUP].kind) == (StayReason.KIND, "streams")


async def test_kind_that_a_broker_let_in_is_remembered_unless_the_group_lives_here(autojump_clock: MockClock) -> None:
    """One name is one group; and where the rule is `pass` there is nothing to remember."""
    site = Site()
    site.places.report_kind(GROUP, "streams")
    assert site.router.road(GROUP) is Road.PASS
    assert await site.place() is Road.PASS, "the broker may not show yet whom it just let in"
    assert site.broker.asked == []
    lived = Site(lives=Road.EMBEDDED)
    lived.places.report_kind(GROUP, "streams")
    assert lived.router.road(GROUP) is Road.EMBEDDED
    passing = Site(rule=Road.PASS)
    passing.places.report_kind(GROUP, "streams")
    assert not passing.places.stays


@pytest.mark.parametrize(("road", "rule"), [(Road.EMBEDDED, Road.PASS), (Road.UPSTREAM, Road.EMBEDDED)])
async def test_group_of_the_journal_stays_where_it_is_until_it_is_empty(
    road: Road, rule: Road, autojump_clock: MockClock
) -> None:
    """Whatever a rule says that changed with the restart."""
    site = Site(rule=rule, lives=road)
    site.places.keep_living((GROUP,))
    assert site.router.road(GROUP) is road
    assert site.places.stays[GROUP].reason is StayReason.JOURNAL
    assert await site.place() is road
    assert site.broker.asked == []
    site.lives = None
    assert await site.place() is rule
    assert not site.places.stays


async def test_group_of_the_journal_whose_rule_is_the_same_is_not_looked_up(autojump_clock: MockClock) -> None:
    """Its members go on without a broker."""
    site = Site(lives=Road.EMBEDDED)
    site.places.keep_living((GROUP,))
    assert site.places.is_known(GROUP)
    assert not site.places.stays


async def test_group_that_can_not_be_looked_up_is_refused_until_it_can(autojump_clock: MockClock) -> None:
    """With a code behind which every client comes again; one that stays somewhere goes on there."""
    site = Site()
    site.broker.is_down = True
    refusal = await site.places.place(GROUP, HOST)
    assert refusal is not None
    assert refusal.code is ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert "EB-GROUP-022" in refusal.reason
    site.broker.is_down = False
    site.broker.described = replace(NOBODY, error=ErrorCode.NOT_COORDINATOR)
    assert await site.places.place(GROUP, HOST) is not None
    site.broker.described = SOMEBODY
    assert await site.place() is Road.PASS
    site.broker.is_down = True
    await trio.sleep(JOIN_ECHO_MS / 1000)
    assert await site.place() is Road.PASS
    site.broker.is_down, site.broker.delay_s = False, 60
    slow = Site(broker=site.broker)
    assert await slow.places.place(GROUP, HOST) is not None


async def test_look_that_ends_with_its_client_is_gone_on_with_by_who_waited(autojump_clock: MockClock) -> None:
    """One look for all of them: nobody takes the end of another's connection for a word of the broker, nor is told to
    come again for it.
    """
    site = Site(broker=FakeBroker(described=SOMEBODY, delay_s=1.0))
    told = list[Refusal | None]()

    async def wait_too() -> None:
        told.append(await site.places.place(GROUP, HOST))

    async with trio.open_nursery() as nursery:
        with trio.CancelScope() as first:
            for _ in range(3):
                nursery.start_soon(wait_too)
            nursery.start_soon(_hang_up_after, 0.5, first)
            await site.places.place(GROUP, HOST)
    assert told == [None] * 3
    assert site.router.road(GROUP) is Road.PASS
    assert site.broker.asked == [f"describe {GROUP}"] * 2


async def test_look_that_nobody_waits_for_any_more_leaves_the_group_unknown(autojump_clock: MockClock) -> None:
    """The next request has it looked up."""
    site = Site(broker=FakeBroker(described=SOMEBODY, delay_s=1.0))
    with trio.move_on_after(0.5):
        await site.places.place(GROUP, HOST)
    assert not site.places.is_known(GROUP)
    assert await site.place() is Road.PASS


async def test_who_makes_up_names_lets_others_groups_be_looked_up(autojump_clock: MockClock) -> None:
    """Places were given in the order asked: behind 5,000 names of one address every new group of others was refused."""
    site = Site(broker=FakeBroker(described=SOMEBODY, delay_s=1.0))
    async with trio.open_nursery() as nursery:
        for number in range(5_000):
            nursery.start_soon(site.places.place, GroupId(f"made-up-{number}"), FLOOD_HOST)
        # Also a group that its client names: it waits in that one's line, and not in others'.
        nursery.start_soon(site.places.place, GROUP, FLOOD_HOST)
        await trio.testing.wait_all_tasks_blocked()
        begun_s = trio.current_time()
        for group_id in (GROUP, GroupId("of-others")):
            assert await site.places.place(group_id, HOST) is None
        assert trio.current_time() - begun_s == pytest.approx(2.0)
        nursery.cancel_scope.cancel()


async def test_who_waited_in_vain_for_a_turn_is_told_whose_groups_fill_the_line(autojump_clock: MockClock) -> None:
    """Its broker was not asked, and is not to blame; a group that another looked up meanwhile goes there."""
    site = Site(broker=FakeBroker(described=SOMEBODY, delay_s=4.0))
    told = dict[GroupId, Refusal | None]()

    async def ask(group_id: GroupId) -> None:
        told[group_id] = await site.places.place(group_id, FLOOD_HOST)

    async with trio.open_nursery() as nursery:
        for number in range(2 * LOOKS_AT_ONCE_MAX):
            nursery.start_soon(ask, GroupId(f"made-up-{number}"))
        nursery.start_soon(ask, GROUP)
        await trio.testing.wait_all_tasks_blocked()
        assert await site.places.place(GROUP, HOST) is None
    refused = [refusal for refusal in told.values() if refusal is not None]
    assert refused
    assert told[GROUP] is None
    assert all(FLOOD_HOST in refusal.reason or "no answer" in refusal.reason for refusal in refused)
    assert any("as many" in refusal.reason for refusal in refused)


async def _hang_up_after(seconds: float, scope: trio.CancelScope) -> None:
    await trio.sleep(seconds)
    scope.cancel()


@pytest.mark.parametrize(("rule", "road"), [(Road.EMBEDDED, Road.PASS), (Road.UPSTREAM, Road.UPSTREAM)])
async def test_group_of_whose_members_a_topic_is_hidden_lives_all_the_same(
    rule: Road, road: Road, autojump_clock: MockClock
) -> None:
    """Kafka 4.1 and later tells nothing else of it: its clients were told to come again, for ever."""
    hidden = DescribedConsumerGroup(error=ErrorCode.TOPIC_AUTHORIZATION_FAILED, group_id=GROUP, group_state="Stable")
    site = Site(rule=rule, broker=FakeBroker(described=hidden))
    assert await site.place() is road
    if road is Road.PASS:
        assert "DESCRIBE" in site.places.stays[GROUP].sentence
        assert site.places.stays[GROUP].reason is StayReason.MEMBERS


async def test_group_that_the_bridge_may_not_see_goes_by_its_rule(autojump_clock: MockClock) -> None:
    """The coordinator of that road says what it lacks; without a login nobody is asked at all."""
    site = Site()
    site.broker.raises = GroupRefused("no rights")
    assert await site.place() is Road.EMBEDDED
    stranger = Site()
    stranger.places.may_ask = lambda: False
    assert stranger.places.is_known(GROUP)
    assert await stranger.place() is Road.EMBEDDED
    assert stranger.broker.asked == []


async def test_somebody_who_joined_here_meanwhile_is_not_sent_away(autojump_clock: MockClock) -> None:
    """One name is one group."""
    site = Site(broker=FakeBroker(described=STREAMS))
    async with trio.open_nursery() as nursery:
        nursery.start_soon(site.places.place, GROUP, HOST)
        await trio.lowlevel.checkpoint()
        site.holds = True
    assert site.router.road(GROUP) is Road.EMBEDDED


async def test_group_stays_where_it_lives_however_many_do(
    autojump_clock: MockClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever made groups up had others go by their rules, away from the members that they had at their brokers."""
    monkeypatch.setattr("bridge.migration.route.STAYING_GROUPS_MAX", 3)
    site = Site(broker=FakeBroker(described=SOMEBODY))
    assert await site.place() is Road.PASS
    for number in range(5):
        site.places.report_kind(GroupId(f"made-up-{number}"), "connect")
    assert not site.places.is_known(GROUP)
    looks = len(site.broker.asked)
    assert await site.place() is Road.PASS
    assert (site.places.stays[GROUP].reason, len(site.broker.asked) - looks) == (StayReason.MEMBERS, 1)
    assert site.places.is_known(GROUP)
    assert sorted(site.router.staying) == sorted(site.places.stays) == [GROUP, "made-up-3", "made-up-4"]


async def test_nothing_is_kept_of_groups_that_can_not_be_remembered(
    autojump_clock: MockClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever makes groups of other kinds can't fill the memory with their names."""
    monkeypatch.setattr("bridge.migration.route.STAYING_GROUPS_MAX", 1)
    site = Site(broker=FakeBroker(described=SOMEBODY))
    for number in range(5):
        site.places.report_kind(GroupId(f"made-up-{number}"), "connect")
        assert await site.places.place(GroupId(f"looked-up-{number}"), HOST) is None
    kept = [value for value in vars(site.places).values() if isinstance(value, dict)]
    assert kept
    assert all(len(one) <= 1 for one in kept)


async def test_classic_members_of_a_consumer_group_are_let_pass(autojump_clock: MockClock) -> None:
    """The broker has them by their own words; consumer members, and who was moved by itself, take the road."""
    site = Site(rule=Road.UPSTREAM)
    members = tuple(described(MemberId(f"m-{kind}"), (), kind) for kind in (0, 1))
    moved = described(MemberId("mapped"), (), 0)
    site.broker.described = DescribedConsumerGroup(
        error=ErrorCode.NONE, group_id=GROUP, group_state="Stable", members=(*members, moved)
    )
    site.router.move_member(GROUP, moved.member_id, Road.MAPPED)
    assert await site.place() is Road.UPSTREAM
    roads = [site.router.road(GROUP, one.member_id) for one in (*members, moved)]
    assert roads == [Road.PASS, Road.UPSTREAM, Road.MAPPED]


async def test_group_on_road_upstream_passes_where_brokers_lack_the_protocol(autojump_clock: MockClock) -> None:
    """UNSUPPORTED_VERSION would end its clients; on road embedded it makes no difference."""
    able = {Road.UPSTREAM: Road.PASS, Road.EMBEDDED: Road.EMBEDDED}
    for rule, road in able.items():
        site = Site(rule=rule)
        site.places.speaks_consumer_protocol = lambda: False
        assert await site.place() is road
    assert [await Site(rule=rule).place() for rule in able] == list(able)
    site = Site(rule=Road.UPSTREAM)
    site.places.speaks_consumer_protocol = lambda: False
    assert await site.place() is Road.PASS
    stay = site.places.stays[GROUP]
    assert (stay.reason, "group.version" in stay.remedy) == (StayReason.ABILITY, True)
    await trio.sleep(JOIN_ECHO_MS / 1000)
    assert await site.place() is Road.PASS
    site.places.speaks_consumer_protocol = lambda: True
    await trio.sleep(JOIN_ECHO_MS / 1000)
    assert await site.place() is Road.UPSTREAM


async def test_group_in_which_a_broker_would_not_have_a_member_is_looked_up_again(autojump_clock: MockClock) -> None:
    """Its policy is `disabled`, say, and a member that nobody translates made it a classic group."""
    site = Site(rule=Road.UPSTREAM)
    assert await site.place() is Road.UPSTREAM
    site.places.note_refusal(GROUP, ErrorCode.UNKNOWN_MEMBER_ID)
    assert site.places.is_known(GROUP)
    site.broker.described = SOMEBODY
    site.places.note_refusal(GROUP, ErrorCode.GROUP_ID_NOT_FOUND)
    assert not site.places.is_known(GROUP)
    assert await site.place() is Road.PASS
