"""A plan moves some members of a live group and judges them by the others."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import cast

import trio

from bridge.admin.client import ask_plan, give_order, parse
from bridge.demo.judge import judge
from bridge.demo.screen import verdict_lines
from tests.support.casts import Wardrobe
from tests.support.kafka import KafkaUnderTest
from tests.support.moved_group import MovedGroup, running_group, spec_of
from tests.support.story_run import require_safety

SEATS = {"m1": "confluent-range", "m2": "confluent-range", "m3": "confluent-range"}
LOOK_S = 0.5
SEEN_TIMEOUT_S = 90.0
"""A rebalance is told some fifteen seconds after its end."""


async def status(group: MovedGroup) -> Mapping[str, object]:
    """The plan as the bridge tells it."""
    return parse(await trio.to_thread.run_sync(ask_plan, group.bridge.admin, "canary"), group.bridge.admin)


async def wait_until(group: MovedGroup, is_so: Callable[[Mapping[str, object]], bool]) -> Mapping[str, object]:
    """The plan as soon as it is so."""
    with trio.fail_after(SEEN_TIMEOUT_S):
        while True:
            plan = await status(group)
            if is_so(plan):
                return plan
            await trio.sleep(LOOK_S)


def said(plan: Mapping[str, object]) -> Mapping[str, object]:
    """What the judge says."""
    return cast("Mapping[str, object]", plan["judge"])


async def test_judge_of_a_plan_sees_both_arms_and_outlives_the_bridge(
    kafka_43: KafkaUnderTest, wardrobe: Wardrobe, tmp_path: Path
) -> None:
    """A third of the members moved, a member that comes, and the bridge killed: the judge knows what it knew."""
    async with running_group(kafka_43.bootstrap, wardrobe, tmp_path, SEATS) as group:
        text = (
            f"plan: canary\nto: upstream\ngroups: [{group.group}]\njudge: waits\n"
            "stages: [{members: 30%, watch.ms: 3600000}]\nconditions: {members.disturbed.per.hour: 100}\n"
        )
        order = {"text": text, "source": "canary.yaml"}
        await trio.to_thread.run_sync(give_order, group.bridge.admin, "/plans", order)
        await wait_until(group, lambda plan: plan["phase"] == "watching")
        async with group.fleet.step("a member comes"):
            await group.fleet.start(await trio.to_thread.run_sync(spec_of, wardrobe, "m4", "confluent-range"))
            await group.fleet.wait_settled()
        before = said(await wait_until(group, lambda plan: bool(said(plan)["pairs"])))
        print(before)
        assert (before["verdict"], before["moved_rebalances"]) == ("insufficient", before["other_rebalances"])
        async with group.fleet.step("another life"):
            await trio.to_thread.run_sync(group.bridge.kill)
            await trio.to_thread.run_sync(group.bridge.start)
            after = said(await status(group))
            await group.fleet.wait_settled()
        assert after["since_ms"] == before["since_ms"]
        assert cast("int", after["pairs"]) >= cast("int", before["pairs"])
    verdict = judge(group.fleet.evidence(group.offsets))
    print("\n".join(verdict_lines(verdict)))
    require_safety(verdict)
    assert "Traceback" not in group.bridge.tail(), group.bridge.tail()
