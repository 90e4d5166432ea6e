"""Real clients through the bridge to real brokers, judged from the clients' own event logs.

It must not know how the bridge does it. `--matrix=all` tells all combinations, otherwise a fixed seed picks them.
"""

import uuid
from pathlib import Path

import pytest

from bridge.demo.judge import Disturbance, Verdict
from tests.support.bridge_process import BridgeProcess
from tests.support.casts import CASTS, KINDS, Wardrobe
from tests.support.kafka import KafkaUnderTest
from tests.support.matrix import Case, all_cases, picked_cases
from tests.support.stories import ROLLS_PER_SEAT
from tests.support.story_run import QUICK_SESSION_MS, Setting, require_safety, tell

KAFKA_MIN_SESSION_MS = 6000
SEATS = 3
PASS_CASES = (
    Case("3.9.1", "kafka-python-range", "kill"),
    Case("3.9.1", "aiokafka", "form"),
    Case("3.9.1", "confluent-cooperative", "bounce"),
    Case("4.3.1", "java-cooperative", "leave"),
    Case("4.3.1", "confluent-consumer", "grow"),
    Case("4.3.1", "kafka-python-range", "upgrade"),
    Case("4.3.1", "confluent-range", "downgrade"),
)
"""What Apache Kafka itself can do within the time of a test."""
UPSTREAM_CASES = (
    Case("4.3.1", "kafka-python-range", "form"),
    Case("4.3.1", "aiokafka", "leave"),
    Case("4.3.1", "confluent-cooperative", "grow"),
    Case("4.3.1", "java-cooperative", "kill"),
    Case("4.3.1", "confluent-range", "upgrade"),
    Case("4.3.1", "java-default", "downgrade"),
)
"""Classic clients of each library as members of the broker's own consumer group, rolled to KIP-848 clients and back."""


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Give the stories on road embedded their cases."""
    if "embedded_case" in metafunc.fixturenames:
        cases = all_cases() if metafunc.config.getoption("--matrix") == "all" else picked_cases()
        metafunc.parametrize("embedded_case", cases, ids=str)


class Teller:
    """Tells a case's story through the bridge of its broker, and puts the figures into the test's report."""

    def __init__(self, request: pytest.FixtureRequest, wardrobe: Wardrobe, directory: Path) -> None:
        self._request = request
        self._wardrobe = wardrobe
        self._directory = directory

    async def tell(self, case: Case, road: str, session_timeout_ms: int) -> Verdict:
        """Tell it; the bridge must be alive afterwards."""
        short = case.version.replace(".", "")[:2]
        kafka: KafkaUnderTest = self._request.getfixturevalue(f"kafka_{short}")
        bridge: BridgeProcess = self._request.getfixturevalue(f"bridge_{short}")
        self._note({"broker": case.version, "road": road, "clients": case.cast, "story": case.story})
        setting = Setting(
            front=bridge.bootstrap,
            broker=kafka.bootstrap,
            group=f"{road}-{case.cast}-{case.story}-{uuid.uuid4().hex[:6]}",
            directory=self._directory,
            session_timeout_ms=session_timeout_ms,
        )
        print(f"the bridge logs to {bridge.log}, clients to {self._directory}")
        verdict = await tell(setting, case.story, case.cast, self._wardrobe)
        self._note(
            {
                "disturbed": len(verdict.members_disturbed),
                "lost": verdict.records_lost,
                "owned twice": len(verdict.double_ownership),
                "read twice": verdict.records_duplicated,
                "rebalances": verdict.rebalances,
                "longest stall ms": round(verdict.max_stall_ms),
            }
        )
        bridge.check_alive()
        return verdict

    def _note(self, told: dict[str, object]) -> None:
        self._request.node.user_properties.extend(told.items())


@pytest.fixture
def teller(request: pytest.FixtureRequest, wardrobe: Wardrobe, tmp_path: Path) -> Teller:
    """A teller for this test."""
    return Teller(request, wardrobe, tmp_path)


def rolls_expected(case: Case) -> int:
    """How often a seat of the story changes to a kind that differs from the one before."""
    kinds = [CASTS[case.cast][seat % len(CASTS[case.cast])] for seat in range(SEATS)]
    changing = [kind for kind in kinds if KINDS[KINDS[kind].upgraded] != KINDS[kind]]
    return ROLLS_PER_SEAT.get(case.story, 0) * len(changing)


def stops_by_itself(case: Case, disturbance: Disturbance) -> bool:
    """librdkafka's eager members revoke all and rejoin unasked when they see, in Metadata, that their topic has grown.

    No coordinator can keep them from it; every other client only does so as the leader, which nobody is here.
    """
    seat = int(disturbance.who.partition("#")[0].removeprefix("m"))
    kind = KINDS[CASTS[case.cast][(seat - 1) % len(CASTS[case.cast])]]
    return disturbance.step == "grow" and kind == KINDS["confluent-range"]


async def test_embedded_group_is_safe_and_disturbs_nobody(embedded_case: Case, teller: Teller) -> None:
    """Issue's done-when 2: nothing lost, nothing owned twice, and only members whose assignment changes notice."""
    verdict = await teller.tell(embedded_case, "embedded", QUICK_SESSION_MS)
    require_safety(verdict)
    assert [one for one in verdict.disturbances if not stops_by_itself(embedded_case, one)] == []
    assert len(verdict.rolls) == rolls_expected(embedded_case)


@pytest.mark.parametrize("case", PASS_CASES, ids=str)
async def test_passing_group_is_as_safe_as_kafka_makes_it(case: Case, teller: Teller) -> None:
    """Issue's done-when 5: groups that no rule names behave as without the bridge; Kafka does disturb bystanders."""
    verdict = await teller.tell(case, "pass", KAFKA_MIN_SESSION_MS)
    require_safety(verdict)
    assert len(verdict.rolls) == rolls_expected(case)


@pytest.mark.parametrize("case", UPSTREAM_CASES, ids=str)
async def test_upstream_group_is_safe_and_disturbs_nobody(case: Case, teller: Teller) -> None:
    """Road upstream: the broker coordinates, and only members whose assignment changes notice."""
    verdict = await teller.tell(case, "upstream", KAFKA_MIN_SESSION_MS)
    require_safety(verdict)
    assert [one for one in verdict.disturbances if not stops_by_itself(case, one)] == []
    assert len(verdict.rolls) == rolls_expected(case)
