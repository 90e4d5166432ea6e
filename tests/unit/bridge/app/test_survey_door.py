"""Looks at a cluster by code that the first of them loads: each is what it is without the door."""

from dataclasses import dataclass

import trio

from bridge.admin.contracts import Surveys
from bridge.app.survey_door import Ears, SurveyParts, SurveysOnDemand
from bridge.app.surveys import AppSurveys
from bridge.config.configuration import Config
from bridge.migration.abilities import Login
from bridge.migration.route import Road
from bridge.net.bridge_questions import BridgeQuestions
from bridge.net.cluster_memory import Entrance
from tests.support.admin_views import StillSnapshots
from tests.support.memory_cluster import MemoryCluster
from translators.dialects.ids import MemberId


@dataclass(slots=True)
class StillConfigured:
    """The defaults."""

    config: Config = Config()


def parts() -> SurveyParts:
    """A cluster that wants a login, of a bridge that has none, with a group of its own."""
    cluster = MemoryCluster({}, {}).upstream()
    cluster.entrance = Entrance.LOGIN
    return SurveyParts(
        configured=StillConfigured(),
        cluster=cluster,
        broker=BridgeQuestions(),
        fresh_member_id=lambda: MemberId("fresh"),
        snapshots=StillSnapshots(),
        ears=Ears(
            tracks=lambda: None,
            road=lambda _: Road.PASS,
            seats=dict,
            profile=lambda _: None,
            listening_s=lambda: 60.0,
            addresses=lambda: (),
        ),
    )


async def test_looks_of_a_bridge_are_those_of_the_code_behind_the_door() -> None:
    """The door adds nothing to what is found."""
    behind, door = AppSurveys(parts()), SurveysOnDemand(parts())
    assert await door.census() == await behind.census()
    assert await door.examine() == await behind.examine()
    assert (await door.abilities()).login is Login.NONE


async def test_two_that_come_first_at_once_are_both_answered() -> None:
    """Both find nothing loaded, and neither waits for the other."""
    door: Surveys = SurveysOnDemand(parts())
    seen: list[int] = []

    async def look() -> None:
        seen.append(len((await door.census()).groups))

    async with trio.open_nursery() as nursery:
        nursery.start_soon(look)
        nursery.start_soon(look)
    assert seen == [1, 1]
