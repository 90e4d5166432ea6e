"""Plans by the admin API, without a socket: judged, begun, looked at, told."""

from dataclasses import replace

import httpx
import pytest

from bridge.admin import plan_pages
from bridge.admin.contracts import PLAN_CHARS_MAX
from bridge.admin.pages import make_application
from bridge.admin.plan_pages import WORDS
from bridge.migration.plans.conditions import Conditions, Judge
from bridge.migration.plans.values import PlanEvent
from tests.support.admin_views import still_sources
from tests.support.obedient_plans import PLAN, ObedientPlans, planned
from tests.support.planned_world import PlannedWorld


async def ask(method: str, path: str, order: object = None, plans: ObedientPlans | None = None) -> httpx.Response:
    """One request of a program on this machine."""
    sources = replace(still_sources(), open_plans=None if plans is None else lambda: plans)
    application = make_application(sources, only_local=True)
    transport = httpx.ASGITransport(application, client=("127.0.0.1", 4711))
    async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1:9190") as client:
        return await client.request(method, path, json=order)


async def test_plan_is_begun_and_shown() -> None:
    """With every key that programs read."""
    plans = ObedientPlans()
    begun = await ask("POST", "/plans", {"text": "right", "source": "f.yaml"}, plans)
    assert (begun.status_code, plans.texts) == (200, [("right", "f.yaml")])
    one, every = await ask("GET", "/plans/pay.1", plans=plans), await ask("GET", "/plans", plans=plans)
    assert begun.json() == one.json()
    assert {**every.json()["plans"][0], "judge": None} == one.json()
    assert {key: begun.json()[key] for key in ("name", "to", "phase", "stage", "reason", "groups_max")} == {
        "name": "pay.1",
        "to": "upstream",
        "phase": "observing",
        "stage": 0,
        "reason": "",
        "groups_max": 2,
    }


async def test_all_plans_are_shown_without_the_bounds_of_their_judges(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody reads them there, and while they are worked out no client is served."""

    def never(*_arguments: object) -> None:
        pytest.fail("the bounds were worked out")

    monkeypatch.setattr(plan_pages, "effect_of", never)
    judged = replace(PLAN, conditions=Conditions(judge=Judge()))
    plans = ObedientPlans(states={"pay.1": PlannedWorld(judged, ["g-1"]).state})
    answer = await ask("GET", "/plans", plans=plans)
    assert (answer.status_code, "judge" in answer.json()["plans"][0]) == (200, False)


async def test_dry_run_begins_nothing() -> None:
    """The plan as it would begin."""
    plans = ObedientPlans()
    answer = await ask("POST", "/plans", {"text": "right", "source": "f", "dry_run": True}, plans)
    assert (answer.status_code, answer.json()["name"], plans.states) == (200, "pay.1", {})


async def test_every_mistake_is_told() -> None:
    """400, with the code of the first one."""
    answer = await ask("POST", "/plans", {"text": "wrong", "source": "f"}, ObedientPlans())
    assert (answer.status_code, answer.json()["code"], len(answer.json()["faults"])) == (400, "EB-PLAN-004", 2)
    assert "to: 'x'; wanted: pass or embedded or upstream [EB-PLAN-004]" in answer.json()["error"]


async def test_plan_that_is_too_long_is_not_read() -> None:
    """YAML takes a second for 20,000 characters."""
    plans = ObedientPlans()
    answer = await ask("POST", "/plans", {"text": " " * (PLAN_CHARS_MAX + 1), "source": "f"}, plans)
    assert (answer.status_code, answer.json()["code"], plans.texts) == (400, "EB-ADMIN-009", [])
    assert (await ask("POST", "/plans", {"text": " " * PLAN_CHARS_MAX, "source": "f"}, plans)).status_code == 200


@pytest.mark.parametrize(("word", "event"), WORDS.items())
async def test_plan_hears_a_word(word: str, event: PlanEvent) -> None:
    """Each of them."""
    plans = ObedientPlans({"pay.1": planned(10)})
    answer = await ask("POST", "/plans/pay.1", {"word": word}, plans)
    assert (answer.status_code, answer.json()["name"], plans.words) == (200, "pay.1", [event])


@pytest.mark.parametrize(
    ("method", "path", "order", "status", "code"),
    [
        ("GET", "/plans/nobody", None, 404, "EB-PLAN-015"),
        ("POST", "/plans/nobody", {"word": "pause"}, 404, "EB-PLAN-015"),
        ("POST", "/plans/nobody", {"word": "stop"}, 400, "EB-ADMIN-009"),
        ("POST", "/plans", {"text": "x"}, 400, "EB-ADMIN-009"),
        ("POST", "/plans", None, 415, "EB-ADMIN-008"),
    ],
)
async def test_what_is_not_there_or_can_not_be_read(
    method: str, path: str, order: object, status: int, code: str
) -> None:
    """A sentence and a code."""
    answer = await ask(method, path, order, ObedientPlans())
    assert (answer.status_code, answer.json()["code"]) == (status, code)


@pytest.mark.parametrize(
    ("method", "path", "order"),
    [
        ("GET", "/plans", None),
        ("GET", "/plans/p", None),
        ("POST", "/plans", {"text": "x", "source": "y"}),
        ("POST", "/plans/p", {"word": "pause"}),
    ],
)
async def test_bridge_that_drives_no_plans_says_so(method: str, path: str, order: object) -> None:
    """501."""
    answer = await ask(method, path, order)
    assert (answer.status_code, answer.json()["code"]) == (501, "EB-PLAN-016")
