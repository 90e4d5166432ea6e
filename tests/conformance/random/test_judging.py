"""The differential tester by itself: what differs is found, what is known explained, sequences made short."""

from dataclasses import replace
from random import Random

import pytest

from tests.conformance.random.cast import draw_member
from tests.conformance.random.comparing import Found, differences
from tests.conformance.random.drawing import draw
from tests.conformance.random.judging import Judge, Verdict, judge
from tests.conformance.random.native_moves import session_passed
from tests.conformance.random.plots import answered, consumer, drawn, native, seen, share
from tests.conformance.random.scenes import Scene
from tests.conformance.random.sequences import (
    KINDS,
    OWN_TOPIC,
    PROFILES,
    Course,
    Drawn,
    Grow,
    Kind,
    Probe,
    Seen,
    Settle,
)
from tests.conformance.random.shrinking import shrink, without
from tests.conformance.random.writing import scenario_of, written
from tests.support.conformance.calls import beat, chb, join
from tests.support.conformance.messages import APIS
from tests.support.conformance.steps import Call, Pause

SEEDS = 40


def lines(verdict: Verdict) -> list[str]:
    """What nobody can explain."""
    return [one.line() for one in verdict.unexplained]


def test_same_seed_draws_the_same_sequence_and_another_another() -> None:
    """Or no difference could be looked at again."""
    assert {draw(7, kind) == draw(7, kind) for kind in KINDS} == {True}
    assert draw(7).moves != draw(9).moves


@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize("kind", KINDS)
def test_every_call_that_is_drawn_can_be_sent(kind: Kind, profile: str) -> None:
    """Profile `expiry` let classic members send heartbeats of KIP-848, with fields that those don't have."""
    calls = [
        (seed, move) for seed in range(SEEDS) for move in draw(seed, kind, profile).moves if isinstance(move, Call)
    ]
    known = {api: {field.name for field in form.request} for api, form in APIS.items()}
    assert [(seed, written(call)) for seed, call in calls if not set(call.fields) <= known[call.api]] == []


def test_whose_session_passes_speaks_kip_848_and_the_others_go_on_as_their_protocol_has_it() -> None:
    """A classic member that beats by its own session stays, and is none of those that were silent."""
    for seed in range(SEEDS):
        members = [draw_member(Random(seed), name, native=name == "n", has_own_topic=False) for name in "an"]
        for one in members:
            one.inside = True
        moves = session_passed(Random(seed), members)
        assert [one.inside for one in members] == [True, False]
        assert [(move.who, move.api) for move in moves if isinstance(move, Call)] == [("a", "Heartbeat")] * 3
        assert session_passed(Random(seed), members[:1]) == []


def test_other_answer_is_found_with_both_values() -> None:
    """Field by field."""
    found = differences([seen(answered(1, "NONE"))], [seen(answered(1, "UNKNOWN_MEMBER_ID"))])
    assert [one.line() for one in found] == ["step 1 answer.error: 'NONE' -> 'UNKNOWN_MEMBER_ID'"]


def test_answer_that_comes_later_is_found() -> None:
    """When a parked request is answered counts as well."""
    kafka, ours = [seen(), seen(answered(1, "NONE"))], [seen(answered(1, "NONE")), seen()]
    assert [one.line() for one in differences(kafka, ours)] == [
        "step 1 answered in step: 2 -> 1",
    ]


def test_superseded_request_is_explained_and_nothing_else_with_it() -> None:
    """Only an answer that Kafka never gives, and only with the codes that say so (K1.52)."""
    moves = drawn(join("a", member_id="<a>"), join("a", member_id="<a>"))
    silent: Course = [seen(), seen()]
    assert lines(judge(moves, silent, [seen(), seen(answered(1, "NOT_COORDINATOR"))])) == []
    wrong = judge(moves, silent, [seen(), seen(answered(1, "ILLEGAL_GENERATION"))])
    assert "answer.error: '(absent)' -> 'ILLEGAL_GENERATION'" in " ".join(lines(wrong))


STATIC = chb("a", 0, instance_id="i-a")
SEATED = consumer(native("a", share(0), instance_id="i-a"))


def after_a_seat(*steps: tuple[Seen, Seen]) -> Verdict:
    """The verdict on courses that part by K2.20 in their second step and go on with these."""
    moves = drawn(beat("a"), STATIC, *[beat("a")] * len(steps))
    refused = seen(answered(2, "UNRELEASED_INSTANCE_ID"), consumer=SEATED)
    let_in = seen(answered(2, member_id="<a>"), consumer=SEATED)
    begin = seen(consumer=SEATED)
    kafka, ours = [begin, refused, *(one for one, _ in steps)], [begin, let_in, *(other for _, other in steps)]
    return judge(moves, kafka, ours)


def test_comparison_goes_on_where_a_difference_is_explained() -> None:
    """A seat taken over (K2.20) was the end of every comparison; both sides show the same group after it."""
    verdict = after_a_seat(
        (seen(answered(3), consumer=SEATED), seen(answered(3, "UNKNOWN_MEMBER_ID"), consumer=SEATED))
    )
    assert lines(verdict) == ["step 3 answer.error: 'NONE' -> 'UNKNOWN_MEMBER_ID'"]


def test_what_follows_is_laid_to_the_rule_while_groups_differ_and_no_longer() -> None:
    """As soon as both sides show the same group again, every answer counts again."""
    apart = (seen(answered(3), consumer=SEATED), seen(answered(3, "STALE_MEMBER_EPOCH"), consumer=consumer()))
    again = (seen(answered(4), consumer=SEATED), seen(answered(4), consumer=SEATED))
    wrong = (seen(answered(5), consumer=SEATED), seen(answered(5, "UNKNOWN_MEMBER_ID"), consumer=SEATED))
    parts = chb("a", 0, instance_id="i-a")
    moves = drawn(beat("a"), parts, beat("a"), beat("a"), beat("a"))
    begin = seen(consumer=SEATED)
    kafka = [begin, seen(answered(2, "UNRELEASED_INSTANCE_ID"), consumer=SEATED)]
    ours = [
        begin,
        seen(
            answered(2, member_id="<a>", member_epoch=3),
            consumer=consumer(native("a", share(0), instance_id="i-a"), group_epoch=3, state="Reconciling"),
        ),
    ]
    kafka += [one for one, _ in (apart, again, wrong)]
    ours += [one for _, one in (apart, again, wrong)]
    verdict = judge(moves, kafka, ours)
    assert lines(verdict) == ["step 5 answer.error: 'NONE' -> 'UNKNOWN_MEMBER_ID'"]
    assert sum("follows" in title for title in verdict.rules) == 1


def test_what_is_at_rest_never_follows() -> None:
    """Courses that parted have to come to the same end, or to one that a rule knows."""
    settled = (seen(settled={"quiet": True, "state": "Stable"}), seen(settled={"quiet": True, "state": "Empty"}))
    moved = (seen(answered(3), consumer=SEATED), seen(answered(3, "STALE_MEMBER_EPOCH"), consumer=consumer()))
    assert lines(after_a_seat(moved, settled)) != []


def test_epochs_that_moved_apart_count_on_alike() -> None:
    """One more step than Kafka, ever after; two more are none of that (K2.24)."""
    own = [OWN_TOPIC]
    groups = [
        consumer(
            native("a", share(0), subscribed_topic_names=own, member_epoch=epoch),
            group_epoch=epoch,
            assignment_epoch=epoch,
        )
        for epoch in (3, 4)
    ]
    moves = drawn(Grow(name=OWN_TOPIC, partitions=1), chb("b", 0), chb("b", "#b"))
    for later, left in ((4, 0), (5, 1)):
        kafka = [seen(consumer=groups[0]), seen(answered(2, member_epoch=3), consumer=groups[0])]
        ours = [seen(consumer=groups[0]), seen(answered(2, member_epoch=4), consumer=groups[1])]
        kafka += [seen(answered(3, member_epoch=3), consumer=groups[0])]
        ours += [seen(answered(3, member_epoch=later), consumer=groups[1])]
        assert len(judge(moves, kafka, ours).unexplained) == left


def test_mixed_groups_are_compared_step_by_step_until_the_other_kind_comes() -> None:
    """They were not compared at all before they came to rest."""
    moves = replace(drawn(join("a"), beat("a"), chb("n", 0), beat("a")), kind="mixed")
    right = [seen(answered(at)) for at in range(1, 5)]
    for wrong, left in ((2, 1), (4, 0)):
        ours = [seen(answered(at, "REBALANCE_IN_PROGRESS" if at == wrong else "NONE")) for at in range(1, 5)]
        assert len(judge(moves, right, ours).unexplained) == left


def test_groups_that_parted_do_not_meet_where_none_is_shown() -> None:
    """Where clients go on by themselves, or are asked all round, neither side describes its group."""
    nothing = replace(seen(), classic={"groups": []}, consumer={"groups": []})
    course = [nothing, seen(consumer=SEATED)]
    judged = Judge(apart="it parted")
    for step, apart in ((1, "it parted"), (2, "")):
        judged.meet(Scene(drawn=drawn(Settle(members=()), beat("a")), kafka=course, ours=course, step=step, found=()))
        assert judged.apart == apart


def test_code_of_the_new_protocol_may_not_reach_a_classic_client() -> None:
    """It would end the client (K4.60); also in mixed groups, where answers are not compared one by one."""
    moves = replace(drawn(join("a"), chb("n", 0), beat("a")), kind="mixed")
    same = [seen(answered(1)), seen(answered(2))]
    leak = [*same, seen(answered(3, "STALE_MEMBER_EPOCH"))]
    assert len(judge(moves, [*same, seen(answered(3))], leak).unexplained) == 1


def test_sequence_is_made_as_short_as_the_difference_allows() -> None:
    """Two of eight steps are needed."""

    def examine(one: Drawn) -> Verdict:
        calls = [move for move in one.moves if isinstance(move, Call)]
        differs = [move.api for move in calls] == ["JoinGroup", "Heartbeat"] or len(calls) > len(("join", "beat"))
        found = Found(step=len(one.moves), asked=len(one.moves), path="answer.error", kafka="NONE", ours="?")
        return Verdict(unexplained=(found,) if differs else (), rules={}, steps=len(one.moves))

    waits = [Pause(ms=1)] * 3
    whole = drawn(*waits, join("a"), *waits, beat("a"))
    small, _ = shrink(examine, whole, examine(whole))
    assert [type(move).__name__ for move in small.moves] == ["Call", "Call"]


def test_shrinking_asks_no_group_that_is_not_at_rest() -> None:
    """What that is answered differs by how fast either side is, and would pass for the same difference."""
    rested = drawn(join("a"), Settle(members=()), Probe(members=()), Settle(members=()), beat("a"))
    kinds = [[type(move).__name__ for move in without(rested, at, 1).moves] for at in range(3)]
    assert kinds == [
        ["Settle", "Probe", "Settle", "Call"],
        ["Call", "Settle", "Call"],
        ["Call", "Settle", "Settle", "Call"],
    ]


def test_sequence_is_written_as_a_scenario_with_what_was_parked() -> None:
    """To be put among the recorded ones as it is."""
    text = scenario_of(drawn(join("a"), beat("b")), [seen(), seen(answered(2, "NONE"), answered(1, "NONE"))])
    assert "parked(Call(who='a', api='JoinGroup'" in text
    assert 'Await(who="a")' in text
