"""The order of the story, for every size of fleet. It must not run one."""

import pytest

from bridge.demo.events import Protocol
from bridge.demo.fleet_specs import CONFLUENT, KAFKA_PYTHON, MemberSpec
from bridge.demo.story import (
    MOVED_KINDS,
    Change,
    DemoOptions,
    Depart,
    Kill,
    Move,
    Start,
    Stop,
    classic_spec,
    consumer_spec,
    plan,
    plan_move,
    plan_story,
)

SIZES = [2, 3, 4, 7]


def changes_of(members: int) -> list[Change]:
    """Every change of the story in order."""
    return [change for chapter in plan_story(members) for change in chapter.changes]


@pytest.mark.parametrize("members", SIZES)
def test_every_seat_goes_to_the_new_protocol_and_back(members: int) -> None:
    """Each seat's processes: classic, consumer, and the classic one it began with; never two at once."""
    seats: dict[str, list[MemberSpec]] = {}
    sitting: set[str] = set()
    for change in changes_of(members):
        match change.action:
            case Start(specs=specs):
                for spec in specs:
                    seats.setdefault(spec.seat, []).append(spec)
                assert sitting.isdisjoint(spec.seat for spec in specs)
                sitting.update(spec.seat for spec in specs)
            case Stop(seat=seat) | Kill(seat=seat):
                sitting.remove(seat)
            case Move() | Depart():
                pytest.fail("no group changes its road in this story")
    fleet = [classic_spec(index) for index in range(members)]
    assert seats == {spec.seat: [spec, consumer_spec(spec), spec] for spec in fleet}


@pytest.mark.parametrize("members", SIZES)
def test_one_member_is_killed_while_both_protocols_are_in_the_group(members: int) -> None:
    """The kill comes after at least one upgrade, and its seat is filled next."""
    story = changes_of(members)
    (at,) = (index for index, change in enumerate(story) if isinstance(change.action, Kill))
    last = classic_spec(members - 1)
    assert at >= 3
    assert story[at].action == Kill(last.seat)
    assert story[at + 1].action == Start((consumer_spec(last),))


def test_three_seats_hold_two_libraries_and_both_kinds_of_assignor() -> None:
    """kafka-python range, confluent-kafka range, confluent-kafka cooperative-sticky."""
    fleet = [classic_spec(index) for index in range(3)]
    assert [(spec.program, spec.assignor) for spec in fleet] == [
        (KAFKA_PYTHON, "range"),
        (CONFLUENT, "range"),
        (CONFLUENT, "cooperative-sticky"),
    ]
    assert {spec.protocol for spec in fleet} == {Protocol.CLASSIC}


def test_changes_are_named_apart_and_chapters_tell_in_a_sentence() -> None:
    """The judge reports by the name; the sentence is for people. A roll is one chapter of two changes."""
    names = [change.name for change in changes_of(4)]
    story = plan_story(4)
    assert names[0] == "form"
    assert len(set(names)) == len(names) == 17
    assert len(story) == 10
    assert all(chapter.sentence.endswith(".") for chapter in story)


@pytest.mark.parametrize("members", SIZES)
def test_moved_group_is_rolled_to_the_broker_itself_before_the_bridge_leaves(members: int) -> None:
    """Form, take over, each seat anew as a KIP-848 member with the broker's address, leave."""
    fleet = tuple(classic_spec(index, MOVED_KINDS) for index in range(members))
    rolled = [action for spec in fleet for action in (Stop(spec.seat), Start((consumer_spec(spec),), is_direct=True))]
    changes = [change for chapter in plan_move(members) for change in chapter.changes]
    assert [change.action for change in changes] == [Start(fleet), Move("upstream"), *rolled, Depart()]
    assert [change.name for change in changes if change.is_unnoticed] == ["take over", "the bridge leaves"]


def test_moved_members_have_an_assignor_in_common() -> None:
    """A broker refuses a group without one (INCONSISTENT_GROUP_PROTOCOL); the bridge's own coordinator does not."""
    assert len({assignor for _, assignor in MOVED_KINDS}) == 1
    assert len({program for program, _ in MOVED_KINDS}) == 2


def test_options_choose_the_story() -> None:
    """One or the other."""
    options = DemoOptions(members=3, partitions=6, seconds=0)
    assert plan(options) == plan_story(3)
    assert plan(DemoOptions(members=3, partitions=6, seconds=0, is_move=True)) == plan_move(3)
