"""Plans as operators write them: what is read, and what each mistake is told."""

import pytest

from bridge.migration.patterns import Matches, Pattern, PatternForm, PatternUnreadable
from bridge.migration.plans.conditions import DEFAULT_LIMITS, Conditions, Judge, Limit, Measure, Undecided
from bridge.migration.plans.reading import KEYS, names_group, read_plan
from bridge.migration.plans.values import Plan, PlanStage, Reaction
from bridge.migration.route import Road

LEAST: dict[str, object] = {"plan": "p", "to": "upstream", "groups": ["a-*"]}


def read_regex(text: str) -> Matches:
    """Expressions that stand for themselves."""
    if text == "(":
        raise PatternUnreadable("missing )")
    return text.__eq__


def test_least_that_a_plan_says() -> None:
    """Everything at once, held when a condition is broken."""
    read = read_plan(LEAST, read_regex)
    assert read.faults == ()
    assert read.plan == Plan(name="p", destination=Road.UPSTREAM, groups=(Pattern("a-*"),))


def test_everything_that_a_plan_can_say() -> None:
    """Each key once."""
    written: dict[object, object] = {
        "plan": "payments.1",
        "to": "upstream",
        "groups": ["pay-*", {"group": "billing"}, {"regex": "x+"}],
        "except": {"match": "pay-old*"},
        "stages": [{"groups": "5%", "members": 10, "watch.ms": 600}, {"groups": 100, "members": "100 %"}],
        "observe.ms": 7,
        "conditions": {"lag.growth": 100, "errors.per.hour": 3, "members.lost.per.hour": False},
        "tolerance.percent": 200,
        "on.broken": "return",
        "groups.max": 4,
        "allow.rebalance": True,
        "judge": {"of": "waits", "level.percent": 1, "effect.percent": 20, "undecided": "wait"},
    }
    assert set(written) == set(KEYS)
    read = read_plan(written, read_regex)
    assert read.faults == ()
    kept = [limit for limit in DEFAULT_LIMITS if limit.measure not in {Measure.LOST, Measure.ERRORS}]
    assert read.plan == Plan(
        name="payments.1",
        destination=Road.UPSTREAM,
        groups=(Pattern("pay-*"), Pattern("billing", PatternForm.EXACT), Pattern("x+", PatternForm.REGEX)),
        exceptions=(Pattern("pay-old*"),),
        stages=(PlanStage(groups_percent=5, members_percent=10, watch_ms=600), PlanStage(groups_percent=100)),
        observe_ms=7,
        conditions=Conditions(
            (*kept, Limit(Measure.ERRORS, 3), Limit(Measure.LAG, 100)), 200, Judge(1, 20, Undecided.WAIT)
        ),
        reaction=Reaction.RETURN,
        groups_max=4,
        allow_rebalance=True,
    )


@pytest.mark.parametrize(
    ("change", "code", "key"),
    [
        ({"grops": 1}, "EB-PLAN-002", "grops"),
        ({"to": "motorway"}, "EB-PLAN-004", "to"),
        ({"to": "moving"}, "EB-PLAN-004", "to"),
        ({"plan": "a b"}, "EB-PLAN-004", "plan"),
        ({"plan": 3}, "EB-PLAN-004", "plan"),
        ({"groups": []}, "EB-PLAN-004", "groups"),
        ({"groups": 3}, "EB-PLAN-004", "groups"),
        ({"groups": [""]}, "EB-PLAN-005", "groups[0]"),
        ({"groups": ["a", {"match": "a", "group": "b"}]}, "EB-PLAN-005", "groups[1]"),
        ({"groups": [{"regex": "("}]}, "EB-PLAN-005", "groups[0]"),
        ({"except": [{"glob": "x"}]}, "EB-PLAN-005", "except[0]"),
        ({"judge": "commits"}, "EB-PLAN-004", "judge.of"),
        ({"judge": True}, "EB-PLAN-004", "judge.of"),
        ({"judge": {"level": 5}}, "EB-PLAN-002", "judge.level"),
        ({"judge": {"level.percent": 0}}, "EB-PLAN-004", "judge.level.percent"),
        ({"judge": {"effect.percent": 41}}, "EB-PLAN-004", "judge.effect.percent"),
        ({"judge": {"undecided": "fail"}}, "EB-PLAN-004", "judge.undecided"),
        ({"stages": {}}, "EB-PLAN-004", "stages"),
        ({"stages": ["half"]}, "EB-PLAN-004", "stages[0]"),
        ({"stages": [{"groups": "0%"}]}, "EB-PLAN-004", "stages[0].groups"),
        ({"stages": [{"groups": "9" * 5_000 + "%"}]}, "EB-PLAN-004", "stages[0].groups"),
        ({"stages": [{"groups": True}]}, "EB-PLAN-004", "stages[0].groups"),
        ({"stages": [{"watch": 3}]}, "EB-PLAN-002", "stages[0].watch"),
        ({"stages": [{"watch.ms": -1}]}, "EB-PLAN-004", "stages[0].watch.ms"),
        ({"stages": [{"groups": 50}, {"groups": 20}]}, "EB-PLAN-006", "stages[1].groups"),
        ({"stages": [{"members": 50}], "to": "embedded"}, "EB-PLAN-007", "stages[0].members"),
        ({"conditions": ["x"]}, "EB-PLAN-004", "conditions"),
        ({"conditions": {"lag": 3}}, "EB-PLAN-002", "conditions.lag"),
        ({"conditions": {"lag.growth": "much"}}, "EB-PLAN-004", "conditions.lag.growth"),
        ({"tolerance.percent": 50}, "EB-PLAN-004", "tolerance.percent"),
        ({"on.broken": "panic"}, "EB-PLAN-004", "on.broken"),
        ({"groups.max": 0}, "EB-PLAN-004", "groups.max"),
        ({"allow.rebalance": "perhaps"}, "EB-PLAN-004", "allow.rebalance"),
    ],
)
def test_each_mistake_is_named(change: dict[str, object], code: str, key: str) -> None:
    """By a stable code and the key, with what is wanted."""
    (fault,) = read_plan({**LEAST, **change}, read_regex).faults
    assert (fault.code, fault.key) == (code, key)
    assert str(fault).endswith(f"[{code}]")


@pytest.mark.parametrize(("key", "meant"), [("grops", " (perhaps `groups`)"), ("watch", "judge")])
def test_key_that_is_spelt_alike_is_named(key: str, meant: str) -> None:
    """And no other: `watch` was said to be perhaps `to`."""
    (fault,) = read_plan({**LEAST, key: 1}, read_regex).faults
    assert fault.wanted.endswith(meant)


@pytest.mark.parametrize("written", [None, "plan", ["plan"], 3])
def test_what_is_no_plan_is_one_fault(written: object) -> None:
    """Not three keys that are missing."""
    (fault,) = read_plan(written, read_regex).faults
    assert (fault.code, "None" in fault.seen) == ("EB-PLAN-001", False)


def test_all_mistakes_are_told_at_once() -> None:
    """An operator mends a file once."""
    codes = [fault.code for fault in read_plan({"x": 1, "groups.max": "many"}, read_regex).faults]
    assert sorted(codes) == ["EB-PLAN-002", "EB-PLAN-003", "EB-PLAN-003", "EB-PLAN-003", "EB-PLAN-004"]


def test_groups_that_are_meant() -> None:
    """Those of any pattern, but the exceptions."""
    read = read_plan({**LEAST, "groups": ["a-*", {"group": "b*"}], "except": ["a-old*"]}, read_regex)
    meant = names_group(read.plan, read_regex)
    assert [name for name in ("a-1", "a-old-1", "b*", "bc") if meant(name)] == ["a-1", "b*"]


def test_judge_of_waits_is_asked_by_its_name() -> None:
    """With the level and the effect of the comparison of tables; nobody is asked where nothing is said."""
    assert read_plan({**LEAST, "judge": "waits"}, read_regex).plan.conditions == Conditions(judge=Judge())
    assert read_plan({**LEAST, "judge": {}}, read_regex).plan.conditions.judge == Judge(5, 10, Undecided.PROMOTE)
    assert read_plan(LEAST, read_regex).plan.conditions.judge is None
