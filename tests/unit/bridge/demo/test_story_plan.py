"""The order of the story, for every size of fleet. It must not run one."""

import pytest

from bridge.demo.events import Protocol
from bridge.demo.fleet_specs import CONFLUENT, KAFKA_PYTHON
from bridge.demo.story_plan import Form, Kill, Roll, Seat, classic_spec, consumer_spec, plan_story

SIZES = [2, 3, 4, 7]


@pytest.mark.parametrize("members", SIZES)
def test_every_seat_goes_to_the_new_protocol_and_back(members: int) -> None:
    """Each seat's processes: classic, consumer, and the classic one it began with."""
    seats: dict[str, list[object]] = {}
    for chapter in plan_story(members):
        match chapter.action:
            case Form(specs=specs):
                seats = {spec.seat: [spec] for spec in specs}
            case Roll(spec=spec) | Seat(spec=spec):
                seats[spec.seat].append(spec)
    fleet = [classic_spec(index) for index in range(members)]
    assert seats == {spec.seat: [spec, consumer_spec(spec), spec] for spec in fleet}


@pytest.mark.parametrize("members", SIZES)
def test_one_member_is_killed_while_both_protocols_are_in_the_group(members: int) -> None:
    """The kill comes after at least one upgrade, and its seat is filled next."""
    story = plan_story(members)
    (at,) = (index for index, chapter in enumerate(story) if isinstance(chapter.action, Kill))
    assert isinstance(story[at - 1].action, Roll)
    killed, seated = story[at].action, story[at + 1].action
    assert isinstance(killed, Kill)
    assert isinstance(seated, Seat)
    assert seated.spec.seat == killed.seat == f"member-{members}"


def test_three_seats_hold_two_libraries_and_both_kinds_of_assignor() -> None:
    """kafka-python range, confluent-kafka range, confluent-kafka cooperative-sticky."""
    fleet = [classic_spec(index) for index in range(3)]
    assert [(spec.program, spec.assignor) for spec in fleet] == [
        (KAFKA_PYTHON, "range"),
        (CONFLUENT, "range"),
        (CONFLUENT, "cooperative-sticky"),
    ]
    assert {spec.protocol for spec in fleet} == {Protocol.CLASSIC}


def test_chapters_are_named_apart_and_tell_in_a_sentence() -> None:
    """The judge reports by the name; the sentence is for people."""
    story = plan_story(4)
    names = [chapter.name for chapter in story]
    assert names[0] == "form"
    assert len(set(names)) == len(names) == 10
    assert all(chapter.sentence.endswith(".") for chapter in story)
