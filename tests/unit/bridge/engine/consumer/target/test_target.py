"""Tests of the assignor's choice, its question, its answer and its failures."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import pytest

from bridge.engine.assignors.interface import Assignment, AssignmentSpec
from bridge.engine.consumer.target import (
    FailedTarget,
    NewTarget,
    ask_assignor,
    choose_assignor,
    compute_target,
    find_fault,
    make_spec,
    target_allowed_at,
)
from bridge.engine.records import TargetAssigned, TargetComputed, TargetEpochReached
from bridge.engine.settings import EngineSettings
from tests.support.engine_bench import GROUP, Bench, Partitions, ScriptedAssignor, join_request, parts, topic_id
from translators.dialects.ids import MemberId

A, B = MemberId("a"), MemberId("b")


@dataclass(slots=True)
class Interrupting:
    """Is stopped by the operator while it computes."""

    name: str = "uniform"

    def assign(self, spec: AssignmentSpec) -> Assignment:
        """Raise what must not be caught."""
        raise KeyboardInterrupt


def two_votes() -> Bench:
    """Two members that vote for range and one for uniform."""
    bench = Bench()
    for member, name in (("a", "range"), ("b", "range"), ("c", "uniform")):
        bench.ask(replace(join_request(member), server_assignor=name))
    return bench


def test_assignor_with_most_votes_is_chosen() -> None:
    """Members that name an assignor vote (K2.27); without votes the first configured, ties by the configured order."""
    bench = two_votes()
    seen = [choose_assignor(bench.state, bench.group)]
    bench.leave("a")
    seen.append(choose_assignor(bench.state, bench.group))
    bench.leave("b")
    bench.leave("c")
    seen.append(choose_assignor(bench.state, bench.group))
    assert seen == ["range", "uniform", "uniform"]


def test_question_names_topics_that_exist() -> None:
    """An assignor never hears of others (K9.1)."""
    bench = Bench()
    bench.join("a", "foo", "none")
    spec = make_spec(bench.state, bench.group)
    assert spec.members[A].topics == {topic_id("foo")}
    assert spec.previous == {A: parts(*range(6))}
    assert spec.partition_counts == {topic_id("foo"): 6, topic_id("bar"): 3}


def test_only_changed_members_get_a_target_record() -> None:
    """A newcomer gets one always, even an empty one; of the others whose target is another (K2.29)."""
    script = ScriptedAssignor(targets=[{"a": parts(*range(6))}, {"a": parts(*range(6))}])
    bench = Bench(assignors={"uniform": script})
    bench.join("a")
    outcome = bench.tell(bench.command(join_request("b")))
    written = [record for record in outcome.records if isinstance(record, TargetAssigned)]
    assert written == [TargetAssigned(GROUP, B, frozenset())]
    assert outcome.notices == ()


def test_empty_group_reaches_its_epoch_without_an_assignor() -> None:
    """Unlike Kafka (K2.61) an emptied group doesn't stay behind its epoch."""
    bench = Bench()
    bench.join("a")
    bench.leave("a")
    assert bench.group.epoch == bench.group.assignment_epoch == 3
    computed = compute_target(bench.state, bench.group, 0)
    assert computed == NewTarget((TargetEpochReached(GROUP, 3, ""),), frozenset())


def test_assignor_that_raises_is_a_value() -> None:
    """A plug-in's bug doesn't end the coordinator (K2.28)."""
    bench = Bench(assignors={"uniform": ScriptedAssignor(targets=[{"a": parts(0)}])})
    bench.join("a")
    computed = compute_target(bench.state, bench.group, 0)
    assert computed == FailedTarget("uniform", "LookupError: the script is at its end")


def test_interruption_is_not_swallowed() -> None:
    """Only an assignor's own failure is."""
    bench = Bench()
    bench.join("a")
    with pytest.raises(KeyboardInterrupt):
        ask_assignor(Interrupting(), make_spec(bench.state, bench.group))


@pytest.mark.parametrize(
    ("answer", "code"),
    [
        ({"a": parts(0), "x": parts(1)}, "EB-ENGINE-003"),
        ({"a": parts(6)}, "EB-ENGINE-004"),
        ({"a": parts(0, of="bar")}, "EB-ENGINE-004"),
        ({"a": parts(0), "b": parts(0)}, "EB-ENGINE-005"),
    ],
)
def test_answer_that_breaks_ownership_is_no_target(answer: Mapping[MemberId, Partitions], code: str) -> None:
    """Two owners, strangers and partitions that don't exist never become a target."""
    bench = Bench()
    bench.join("a")
    bench.join("b")
    fault = find_fault(make_spec(bench.state, bench.group), answer)
    assert fault is not None
    assert fault.startswith(code)


def test_target_waits_for_the_interval_and_for_survivors() -> None:
    """Between two targets lies an interval (K11.4 on 2.26), and survivors come first (decision 9): the later counts."""
    settings = EngineSettings(group_consumer_assignment_interval_ms=1_000)
    bench = Bench(settings=settings)
    bench.join("a")
    assert target_allowed_at(bench.state, bench.group) == 1_000
    assert target_allowed_at(Bench().state, bench.group) == 0
    assert target_allowed_at(Bench(no_assignment_before_ms=3_000).state, bench.group) == 3_000
    assert TargetComputed(GROUP, 0) in bench.records


def test_member_that_loses_all_has_moved() -> None:
    """Who has nothing any more is told so, who still has nothing is not."""
    bench = Bench(assignors={"uniform": ScriptedAssignor(targets=[{"a": parts(*range(6))}] * 3)})
    for member in "abc":
        bench.join(member)
    bench.state.assignors = {"uniform": ScriptedAssignor(targets=[{"b": parts(*range(6))}])}
    found = compute_target(bench.state, bench.group, 0, {})
    assert isinstance(found, NewTarget)
    assert found.changed == {A, B}
