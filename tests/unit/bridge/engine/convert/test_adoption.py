"""A group that a broker had is taken in as it stands, and given up as it stands."""

from dataclasses import replace

import pytest

from bridge.engine.commands import AdoptGroup, GiveUpGroup, GroupType
from bridge.engine.model import Phase
from bridge.engine.outcome import Converted, GroupGivenUp, NotConverted, Unready
from bridge.engine.queries import group_type, next_deadline
from bridge.engine.settings import EngineSettings
from tests.support.converted_group import BEGINS_CLASSIC, EAGER, ConversionBench, named, says
from tests.support.engine_bench import GROUP, IDENTITY, beat_request, join_request, static_join_request
from tests.support.snapshots import durable
from translators.dialects.classic import Protocol
from translators.dialects.coordinator import ClassicSeat
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import GroupId, InstanceId, MemberId

GENERATION = 7
SESSION_MS = 10_000
BEGINS_CONSUMER = EngineSettings(departure_wait_ms=0)


def seat(member: str, *numbers: int, instance: str | None = None, generation: int = GENERATION) -> ClassicSeat:
    """A member that has these partitions."""
    return ClassicSeat(
        member_id=MemberId(member),
        instance_id=None if instance is None else InstanceId(instance),
        identity=IDENTITY,
        session_timeout_ms=SESSION_MS,
        rebalance_timeout_ms=60_000,
        protocols=says(EAGER),
        generation=generation,
        using=named(*numbers),
        session_deadline_ms=SESSION_MS,
    )


WHOLE = (seat("one", 0, 1, 2), seat("two", 3, 4, 5, instance="A"))
"""Every partition of foo has its owner."""


def adopt(bench: ConversionBench, *seats: ClassicSeat, protocol: str = EAGER) -> Converted | NotConverted:
    """What becomes of taking these members in; the first leads."""
    ref = bench.bench.ref()
    bench.tell(
        AdoptGroup(
            ref=ref,
            group_id=GROUP,
            generation=GENERATION,
            protocol_name=protocol,
            leader=seats[0].member_id,
            seats=seats,
        )
    )
    verdict = bench.replies[ref]
    assert isinstance(verdict, Converted | NotConverted)
    return verdict


def give_up(bench: ConversionBench, group_id: GroupId = GROUP) -> Converted | NotConverted:
    """What becomes of giving the group up."""
    ref = bench.bench.ref()
    bench.tell(GiveUpGroup(ref, group_id))
    verdict = bench.replies[ref]
    assert isinstance(verdict, Converted | NotConverted)
    return verdict


def test_members_go_on_in_their_generation() -> None:
    """Nobody is called, and what each was assigned is what the group says."""
    bench = ConversionBench(BEGINS_CLASSIC)
    assert adopt(bench, *WHOLE) == Converted(GROUP, GroupType.CLASSIC, 2, rebalances=False)
    assert (bench.phase, bench.generation, bench.group.roster.leader) == (Phase.STABLE, GENERATION, "one")
    assert [bench.beat("one"), bench.beat("two", "A")] == [ErrorCode.NONE, ErrorCode.NONE]
    assert bench.group.instances == {"A": "two"}


def test_sessions_go_on() -> None:
    """Who says nothing for its session is gone, as at the broker."""
    bench = ConversionBench(BEGINS_CLASSIC)
    adopt(bench, *WHOLE)
    bench.pass_time(SESSION_MS - 1)
    assert bench.beat("one") is ErrorCode.NONE
    bench.pass_time(1)
    assert set(bench.group.members) == {"one"}


def test_group_of_translatable_members_becomes_a_consumer_group() -> None:
    """Where groups begin as such: everybody keeps what it has, and the epoch is the generation."""
    bench = ConversionBench(BEGINS_CONSUMER)
    assert adopt(bench, *WHOLE) == Converted(GROUP, GroupType.CONSUMER, 2, rebalances=False)
    assert bench.consumers.epoch == bench.consumers.assignment_epoch == GENERATION
    seats = {one.member.member_id: (one.generation, one.using) for one in bench.upgraded().seats}
    assert seats == {one.member_id: (GENERATION, one.using) for one in WHOLE}


def test_group_that_would_have_to_rebalance_stays_classic() -> None:
    """A partition without an owner would move the epoch at once, and somebody would hear of it."""
    bench = ConversionBench(BEGINS_CONSUMER)
    assert adopt(bench, seat("one", 0, 1)) == Converted(GROUP, GroupType.CLASSIC, 1, rebalances=False)
    assert bench.beat("one") is ErrorCode.NONE


def test_member_that_was_shown_another_generation_keeps_it() -> None:
    """Its client joined before the last round that was played at the broker."""
    bench = ConversionBench(BEGINS_CLASSIC)
    adopt(bench, WHOLE[0], replace(WHOLE[1], generation=3))
    assert [bench.beat("one"), bench.beat("two", "A", generation=3)] == [ErrorCode.NONE, ErrorCode.NONE]
    assert bench.beat("one", generation=3) is ErrorCode.ILLEGAL_GENERATION


def test_it_survives_a_restart() -> None:
    """One turn, one append: the group is there whole or not at all."""
    bench = ConversionBench(BEGINS_CONSUMER)
    adopt(bench, *WHOLE)
    assert durable(bench.bench.replayed(durable_only=True)) == durable(bench.bench.state)


def test_empty_group_of_that_name_makes_room() -> None:
    """It was a group here before, and its last member went."""
    bench = ConversionBench(BEGINS_CLASSIC)
    members = bench.settle(None)
    bench.leave((members[0], None))
    assert isinstance(adopt(bench, *WHOLE), Converted)


@pytest.mark.parametrize("kind", [BEGINS_CLASSIC, BEGINS_CONSUMER])
def test_group_with_members_is_not_replaced(kind: EngineSettings) -> None:
    """Two groups of one name would own everything twice."""
    bench = ConversionBench(kind)
    adopt(bench, *WHOLE)
    refused = adopt(bench, *WHOLE)
    assert isinstance(refused, NotConverted)
    assert refused.reason is Unready.SAME_TYPE


def test_members_without_the_groups_protocol_are_refused() -> None:
    """The group could never rebalance again."""
    bench = ConversionBench(BEGINS_CLASSIC)
    refused = adopt(bench, replace(WHOLE[0], protocols=(Protocol("other", b""),)))
    assert isinstance(refused, NotConverted)
    assert refused.reason is Unready.NO_COMMON_PROTOCOL


def test_more_members_than_a_group_may_have_are_refused() -> None:
    """Nothing was written."""
    bench = ConversionBench(replace(BEGINS_CLASSIC, group_max_size=1))
    refused = adopt(bench, *WHOLE)
    assert isinstance(refused, NotConverted)
    assert (refused.reason, group_type(bench.bench.state, GROUP)) == (Unready.TOO_LARGE, None)


@pytest.mark.parametrize("kind", [BEGINS_CLASSIC, BEGINS_CONSUMER])
def test_given_up_group_is_forgotten_whole(kind: EngineSettings) -> None:
    """Members, deadlines and all; its machines are told."""
    bench = ConversionBench(kind)
    fresh = durable(bench.bench.state)
    adopt(bench, *WHOLE)
    verdict = give_up(bench)
    assert isinstance(verdict, Converted)
    assert verdict.member_count == 2
    assert GroupGivenUp(GROUP) in bench.notices
    assert durable(bench.bench.state) == fresh
    assert next_deadline(bench.bench.state) is None


def test_sessions_of_a_given_up_group_end_with_it() -> None:
    """A KIP-848 member's, and that of a static seat whose member is away: each failed the turn in which it passed."""
    bench = ConversionBench(BEGINS_CONSUMER)
    for request in (join_request("native"), static_join_request("seated", "A"), beat_request("seated", -2)):
        bench.bench.ask(replace(request, instance_id=InstanceId("A")) if request.member_id == "seated" else request)
    assert next_deadline(bench.bench.state) is not None
    assert isinstance(give_up(bench), Converted)
    assert next_deadline(bench.bench.state) is None
    bench.bench.pass_time(3_600_000)


def test_unknown_group_can_not_be_given_up() -> None:
    """There is nothing to hand over."""
    refused = give_up(ConversionBench(BEGINS_CLASSIC))
    assert isinstance(refused, NotConverted)
    assert refused.reason is Unready.UNKNOWN_GROUP
