"""Facts of one kind share their words; what explains a rebalance is kept, within limits."""

import pytest

from bridge.telemetry.following import fact_writer
from bridge.telemetry.following.fact_fields import group_fields, introduced
from bridge.telemetry.following.fact_writer import FactWriter
from bridge.telemetry.following.joins import Inputs
from bridge.telemetry.following.tracks import GroupTrack, MemberTrack
from bridge.telemetry.schema.facts import (
    UNKNOWN_EPOCH,
    BridgeStopped,
    Fact,
    PartitionsAssigned,
    PartitionsFetched,
    RebalanceBegan,
    RebalanceEnded,
    TopicsChanged,
)
from bridge.telemetry.schema.terms import Departure, Outcome, Phase, Protocol, Road
from tests.support.heard import MemoryLog
from tests.support.passing_words import named
from translators.dialects.ids import GroupId, MemberId, TopicName, TopicPartition

ONE, TWO = (TopicPartition(TopicName("t"), number) for number in range(2))


def _group() -> GroupTrack:
    return GroupTrack(group_id=GroupId("g"), road=Road.EMBEDDED, epoch=4)


def _member() -> MemberTrack:
    return MemberTrack(
        member_id=MemberId("a"), protocol=Protocol.CONSUMER, member_epoch=3, inputs=Inputs(topics=("t",))
    )


def _writer() -> tuple[FactWriter, MemoryLog, list[int]]:
    log, lengths = MemoryLog(), list[int]()
    return FactWriter("7f", log, lambda events, _: lengths.append(len(events))), log, lengths


def test_new_rebalance_cuts_the_running_one_short() -> None:
    """And names it; ids are never used twice."""
    writer, log, lengths = _writer()
    group = _group()
    writer.begin_rebalance(group, 1, 5)
    writer.begin_rebalance(group, 2, 5)
    began = [fact for fact in log.of(RebalanceBegan) if isinstance(fact, RebalanceBegan)]
    assert [fact.supersedes for fact in began] == ["", began[0].rebalance_id]
    assert len({fact.rebalance_id for fact in began}) == 2
    assert [fact.outcome for fact in log.of(RebalanceEnded) if isinstance(fact, RebalanceEnded)] == [Outcome.SUPERSEDED]
    assert lengths == [2]


def test_fetch_is_of_the_rebalance_that_dealt_the_partition() -> None:
    """Though another one gave the member something that it has not fetched yet."""
    writer, log, _ = _writer()
    group, member = _group(), _member()
    writer.begin_rebalance(group, 1, 5)
    writer.assign(group, member, frozenset({ONE}), 2)
    writer.begin_rebalance(group, 3, 6)
    writer.assign(group, member, frozenset({TWO}), 4)
    began = [fact.rebalance_id for fact in log.of(RebalanceBegan) if isinstance(fact, RebalanceBegan)]
    writer.fetch(group, member, frozenset({ONE, TWO}), 5)
    writer.release(group, member, frozenset({TWO}), 6)
    writer.assign(group, member, frozenset({TWO}), 7)
    writer.fetch(group, member, frozenset({TWO}), 8)
    fetched = [fact for fact in log.of(PartitionsFetched) if isinstance(fact, PartitionsFetched)]
    assert [(one.rebalance_id, *one.partitions) for one in fetched] == [
        (began[0], "t-0"),
        (began[1], "t-1"),
        (began[1], "t-1"),
    ]


def test_rebalance_that_goes_on_after_a_restart_names_the_one_before() -> None:
    """It ended with the run before, so it does not end here."""
    writer, log, _ = _writer()
    writer.begin_rebalance(_group(), 1, 5, "old")
    (began,) = log.of(RebalanceBegan)
    assert isinstance(began, RebalanceBegan)
    assert (began.supersedes, log.of(RebalanceEnded)) == ("old", [])


def test_what_was_known_when_a_rebalance_began_explains_it_however_much_comes_after(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """On a cluster whose topics come and go every second, while a slow member keeps everybody waiting."""
    monkeypatch.setattr(fact_writer, "EVERYWHERE_MAX", 2)
    known: list[list[Fact]] = []
    writer = FactWriter("7f", MemoryLog(), lambda events, _: known.append([event.fact for event in events]))
    group = _group()
    changes = [TopicsChanged(topics=(f"t{number}",), partition_counts=(1,)) for number in range(5)]
    writer.tell(None, changes[0], 0)
    writer.begin_rebalance(group, 1)
    for number, change in enumerate(changes[1:]):
        writer.tell(None, change, 2 + number)
    writer.end_rebalance(group, Outcome.COMPLETED, 9)
    assert known[0][:3] == [changes[0], changes[3], changes[4]]


def test_events_of_a_rebalance_are_kept_to_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    """A rebalance that never ends does not fill the memory; what concerns no group is kept beside."""
    monkeypatch.setattr(fact_writer, "EVENTS_OF_REBALANCE_MAX", 3)
    writer, _, lengths = _writer()
    group = _group()
    writer.tell(None, BridgeStopped(reason="elsewhere"), 0)
    writer.begin_rebalance(group, 1)
    for number in range(9):
        writer.tell(group, RebalanceBegan(**group_fields(group)), number)
    writer.end_rebalance(group, Outcome.COMPLETED, 9)
    assert lengths == [4]


def test_member_settles_only_when_it_knows_all_that_it_was_given() -> None:
    """The engine is ahead of the client."""
    writer, log, _ = _writer()
    group, member = _group(), _member()
    writer.join(group, member, "", 0)
    writer.begin_rebalance(group, 0, 5)
    member.due, member.reached = named(0), 5
    writer.rest(group, member, 1)
    assert log.of(RebalanceEnded) == []
    writer.assign(group, member, named(0), 2)
    writer.rest(group, member, 3)
    assert len(log.of(RebalanceEnded)) == 1


def test_member_that_waits_names_those_it_waits_for() -> None:
    """Until they are gone."""
    writer, log, _ = _writer()
    group, member = _group(), _member()
    writer.join(group, member, "", 0)
    member.holders = ("b",)
    writer.rest(group, member, 1)
    member.holders = ()
    writer.rest(group, member, 2)
    assert log.lines("a")[1:] == ["begins awaiting-release b", "ends awaiting-release", "begins stable"]
    assert member.phase is Phase.STABLE


def test_departed_member_is_still_introduced() -> None:
    """An explanation may name who is gone."""
    writer, _, _ = _writer()
    group, member = _group(), _member()
    writer.join(group, member, "", 0)
    writer.leave(group, member, Departure.LEFT, 1)
    found = introduced(group, "a")
    assert found is not None
    assert found.topics == ("t",)
    assert introduced(group, "nobody") is None


class Classic:
    """A classic member of generation 2 that was given two partitions."""

    def __init__(self) -> None:
        self.writer, self.log, _ = _writer()
        self.group = _group()
        self.member = MemberTrack(member_id=MemberId("a"), protocol=Protocol.CLASSIC, generation=2)
        self.given()

    def given(self) -> bool:
        """It is given both; gives whether that is told as once more."""
        self.writer.assign(self.group, self.member, frozenset({ONE, TWO}), 5)
        *_, fact = self.log.of(PartitionsAssigned)
        assert isinstance(fact, PartitionsAssigned)
        return fact.is_again

    def gives_up(self) -> None:
        """It gives up both."""
        self.writer.release(self.group, self.member, frozenset({ONE, TWO}), 9)


def test_member_that_asks_again_in_its_generation_before_it_used_anything_is_given_the_same_again() -> None:
    """As often as it likes."""
    classic = Classic()
    for _ in range(2):
        classic.gives_up()
        assert classic.given()


def test_member_that_fetched_some_of_it_had_begun() -> None:
    """A partition it had not come to, as a new one is that the client does not know yet, goes with the others."""
    classic = Classic()
    classic.writer.fetch(classic.group, classic.member, frozenset({ONE}), 6)
    classic.gives_up()
    assert not classic.given()


def test_member_that_committed_had_begun() -> None:
    """Its application knows what it has, whatever was fetched."""
    classic = Classic()
    classic.member.owes_commit = False
    classic.gives_up()
    assert not classic.given()


def test_next_generation_gives_anew() -> None:
    """A rebalance took what nobody had used."""
    classic = Classic()
    classic.gives_up()
    classic.member.generation = 3
    assert not classic.given()


def test_more_than_it_gave_up_is_news() -> None:
    """Of what it gives up in two parts the last one is remembered."""
    classic = Classic()
    classic.writer.release(classic.group, classic.member, frozenset({ONE}), 8)
    classic.writer.release(classic.group, classic.member, frozenset({TWO}), 9)
    assert not classic.given()


def test_member_without_generations_is_given_anew() -> None:
    """A KIP-848 member asks for nothing again."""
    classic = Classic()
    classic.member.generation = UNKNOWN_EPOCH
    classic.gives_up()
    assert not classic.given()
