"""Live groups are moved at every step of a story, by the real bridge in front of a broker that coordinates."""

from collections.abc import Iterator
from dataclasses import replace

import pytest

from bridge.migration.route import Road
from tests.support.moves_simulation.campaign import run_seeds
from tests.support.moves_simulation.kafka_group import Release
from tests.support.moves_simulation.schedule import Act, Action, Conditions, Phase, Schedule, draw_schedule
from tests.support.moves_simulation.story import run_story

BATCH = range(40)
TO_THE_BRIDGE = Phase(is_calm=True, acts=(Act(at_ms=0, action=Action.MOVE, name=Road.EMBEDDED.value),))
ONCE_BROKEN = (
    *(2, 35, 39, 64, 65, 137, 172, 435, 883, 1244, 1328, 474_389, 500_423, 470_134, 472_296, 410_646, 411_397),
    *(730_625_944, 911_199, 911_611, 911_939, 1_215_336, 1_215_806, 5_150_073, 326_229_768, 326_230_055),
    *(382_209_426, 382_209_798, 382_209_149, 139_055_805, 25_216_232, 375_657_665),
)
"""Seeds that found a defect of the bridge, or of its simulation, when they were first told.

2: the engine had not seen the topics of a group that it adopted; 35 and 65: what a broker took back before its client
came to use it was never given up; 39: a member that was taken over was mapped again after a restart; 64: the JoinGroup
of a member that was no part of a move waited for its end; 137: a group with consumer members was adopted; 172: a
member that was given back by itself took its group's road again as it joined; 883: the generation of a member that
joined by its mapping was not heard; 435: members that nobody had heard since a restart were held as newcomers, and
their coordinator ended them; 1244: an assignor was invented for such a member of a consumer group; 1328: members that a
release had seated under other ids were taken over with what they had before a rebalance; 474389: a way back that was
cut off was gone on with as a reseat; 500423: what passed to the broker during a move was not heard; 470134: a member
was told to join anew that committed after a restart before its epoch was asked for; 472296: classic members of a
consumer group that passed were called after a restart, as their group's rule said upstream; 411397: a member that
joined while others were taken over was sent the way of its group behind the end; 410646: a canary that had been given
back kept its group from being reseated with all others, and Kafka itself said 22 to who had not followed it; 730625944:
a group that the bridge had dealt was dealt anew by range as a scout left; 911199: a member was asked for as a consumer
member after a restart that the broker had as a classic one already; 911611: a KIP-848 client that joined while the
first member was asked for was given what that one had; 911939: requests of a member whose session nobody had heard
were held for a third of a default, and of one that could not be asked for at all; 1215336: a canary that had been given
back and had joined since was its broker's still when its group was adopted; 1215806: a move stayed unfinished in the
journal behind which another was ordered at once, and refused; 5150073: the simulated broker forgot whose SyncGroup it
held as it let its group go, which Kafka answers; 326229768 and 326230055: behind a restart the bridge had seen no
topic, and took a scout's farewell for one that deals nothing anew, as a pilot without partitions needs none;
382209426: somebody left while a group was given back, which made a classic one of it, and the bridge joined the
rebalance in the place of a member whose client still had all; 382209798: the law had a SyncGroup into a stable group
keep a session alive, which Kafka's does not; 382209149: a member that was about to be asked by the connection of its
commit was a consumer member before its broker read the heartbeat that was on its way by another; 139055805: a static
member that stood still was taken over before its client knew what it had lost in a rebalance, and another got that;
25216232: the simulated broker made a classic group of a consumer group as a static member joined that was a classic one
before, and fenced who lagged behind, where Kafka's waits for one that comes back from the consumer protocol (K3.30);
375657665: the law had a broker that was killed know who had joined a generation that had not synced, of which Kafka's
writes nothing down.
"""


def test_batch_of_moves_breaks_no_law() -> None:
    """No client hears of a move, no partition has two owners, no commit goes back, every move ends, nothing is left."""
    outcomes, failures = run_seeds(BATCH)
    assert "\n\n".join(failure.report() for failure in failures) == ""
    assert sum(outcome.orders for outcome in outcomes) > 80
    assert sum(outcome.moved for outcome in outcomes) > 20
    assert sum(outcome.commits for outcome in outcomes) > 1_000


def test_some_groups_are_to_be_adopted_beside_strangers() -> None:
    """Left to chance the law that nobody has a partition twice would hardly be asked of them."""
    strange = [schedule for seed in BATCH if (schedule := draw_schedule(seed)).phases[1:2] == (TO_THE_BRIDGE,)]
    assert len(strange) >= len(BATCH) // 10
    assert all(schedule.conditions.direct_places for schedule in strange)
    assert run_story(strange[0]).broken is None


def test_moves_that_once_broke_a_law_break_none() -> None:
    """What was found stays fixed."""
    _, failures = run_seeds(ONCE_BROKEN)
    assert "\n\n".join(failure.report() for failure in failures) == ""


def test_no_law_asks_for_more_than_kafka_keeps_without_a_bridge() -> None:
    """Clients that all come by another way: what breaks a law among them is not the bridge's to keep.

    The connection of a client is cut whose JoinGroup waits, and behind it commits that the broker reads later.
    """
    names = ("java-cooperative", "librdkafka-cooperative", "librdkafka-cooperative", "java-cooperative")
    starts = tuple(
        Act(at_ms=100 * place, action=Action.START, place=place, name=name) for place, name in enumerate(names)
    )
    leaves = Act(at_ms=7_445, action=Action.LEAVE, place=2)
    cuts = tuple(Act(at_ms=7_445 + 300 * late, action=Action.CUT, place=late % 4) for late in range(12))
    alone = replace(Conditions(), partitions=8, direct_places=frozenset(range(9)))
    storms = (Phase(is_calm=False, acts=starts), Phase(is_calm=False, acts=(leaves, *cuts)))
    stories = [Schedule(seed, alone, storms) for seed in range(14)]
    for drawn in map(draw_schedule, range(6)):
        acts = (replace(phase, acts=tuple(_without_moves(phase))) for phase in drawn.phases)
        met = replace(drawn.conditions, begins=Road.PASS, direct_places=frozenset(range(9)))
        stories.append(replace(drawn, conditions=met, phases=tuple(phase for phase in acts if phase.acts)))
    broken = {story.seed: outcome.broken for story in stories if (outcome := run_story(story)).broken is not None}
    assert broken == {}


def _without_moves(phase: Phase) -> Iterator[Act]:
    return (act for act in phase.acts if act.action is not Action.MOVE)


def _moves(*acts: Act) -> Phase:
    return Phase(is_calm=True, acts=acts)


@pytest.mark.parametrize("places", [(0,), ()], ids=["the canary", "the group"])
def test_way_back_of_a_canary_may_be_cut_off_at_any_time(places: tuple[int, ...]) -> None:
    """The group's own place is `pass` all the time, and the next life of the bridge has to know what was on its way."""
    starts = tuple(Act(at_ms=0, action=Action.START, place=place, name="aiokafka") for place in range(3))
    there = Act(at_ms=0, action=Action.MOVE, name=Road.UPSTREAM.value, places=(0,))
    back = Act(at_ms=0, action=Action.MOVE, name=Road.PASS.value, places=places)
    for dies_ms in range(1, 60, 3):
        dies = Act(at_ms=dies_ms, action=Action.KILL_BRIDGE, amount=200)
        story = Schedule(dies_ms, Conditions(), (Phase(is_calm=False, acts=starts), _moves(there), _moves(back, dies)))
        outcome = run_story(story)
        assert outcome.broken is None, (dies_ms, outcome.broken)


@pytest.mark.parametrize("to", [Road.EMBEDDED, Road.UPSTREAM, Road.PASS])
def test_group_is_moved_on_with_a_canary_that_was_given_back_and_has_joined_since(to: Road) -> None:
    """Its broker knows it by its own words again, and no mapping tells that it is where its group is not."""
    starts = tuple(Act(at_ms=0, action=Action.START, place=place, name="librdkafka") for place in range(3))
    there = Act(at_ms=0, action=Action.MOVE, name=Road.UPSTREAM.value)
    back = Act(at_ms=0, action=Action.MOVE, name=Road.PASS.value, places=(0,))
    leaves = Act(at_ms=0, action=Action.LEAVE, place=1)
    on = Act(at_ms=0, action=Action.MOVE, name=to.value)
    rebalance = Phase(is_calm=False, acts=(leaves,))
    phases = (Phase(is_calm=False, acts=starts), _moves(there), _moves(back), rebalance, _moves(on))
    for release in (Release.V4_1, Release.V4_3):
        outcome = run_story(Schedule(1, Conditions(release=release, partitions=6), phases))
        assert outcome.broken is None, (release, outcome.broken)


@pytest.mark.parametrize("is_way_back", [False, True], ids=["there", "back"])
@pytest.mark.parametrize("name", ["librdkafka", "java"])
def test_no_move_waits_for_who_was_told_to_join_anew(name: str, is_way_back: bool) -> None:
    """The broker hangs for longer than a session while members are asked for: the move waited for them for two, and
    the new JoinGroups of their clients for the move.
    """
    starts = Phase(is_calm=False, acts=tuple(Act(at_ms=0, action=Action.START, place=one, name=name) for one in (0, 1)))
    there = Act(at_ms=0, action=Action.MOVE, name=Road.UPSTREAM.value)
    back = Act(at_ms=0, action=Action.MOVE, name=Road.PASS.value)
    for release in (Release.V4_1, Release.V4_3):
        for for_ms in (15_000, 25_000, 60_000):
            hangs = Act(at_ms=9, action=Action.HANG_BROKER, amount=for_ms)
            storm = Phase(is_calm=False, acts=(back if is_way_back else there, hangs))
            phases = (starts, _moves(there), storm) if is_way_back else (starts, storm)
            outcome = run_story(Schedule(1, Conditions(release=release), phases))
            assert outcome.broken is None, (release, for_ms, outcome.broken)


@pytest.mark.parametrize(
    "roads",
    [(Road.EMBEDDED,), (Road.EMBEDDED, Road.PASS), (Road.UPSTREAM, Road.PASS), (Road.UPSTREAM, Road.EMBEDDED)],
    ids="-".join,
)
def test_move_of_a_whole_group_ends_while_its_broker_answers_nothing(roads: tuple[Road, ...]) -> None:
    """Wherever it is then, for longer than it says its last word; what the broker made of that shows later."""
    starts = Phase(
        is_calm=False, acts=tuple(Act(at_ms=0, action=Action.START, place=one, name="java") for one in (0, 1))
    )
    *before, last = (Act(at_ms=0, action=Action.MOVE, name=road.value) for road in roads)
    for at_ms in (5, 15, 30, 60):
        for for_ms in (15_000, 80_000):
            hangs = Act(at_ms=at_ms, action=Action.HANG_BROKER, amount=for_ms)
            # Nobody is there: the story goes on until the broker does.
            until = Act(at_ms=for_ms + 1_000, action=Action.CUT, place=5)
            phases = (starts, *map(_moves, before), Phase(is_calm=False, acts=(last, hangs, until)))
            outcome = run_story(Schedule(1, Conditions(), phases))
            assert outcome.broken is None, (at_ms, for_ms, outcome.broken)
