"""Rounds that are played at real brokers, with raw frames and nobody behind them."""

import time
import uuid
from collections.abc import Sequence
from dataclasses import replace

import pytest

from bridge.coordinators.rounds import play
from bridge.migration.moves.round_values import Played, Round, RoundPlayer
from bridge.net.bridge_questions import BridgeQuestions
from bridge.net.clock import TrioClock
from bridge.net.cluster import UpstreamCluster
from bridge.ports import Coordinators
from bridge.session.broker_addresses import Advertised, Directory
from tests.support.kafka import KafkaUnderTest
from tests.support.proxy import settings_for
from tests.support.round_table import player
from translators.dialects.admin import DescribedGroup
from translators.dialects.classic import Heartbeat, HeartbeatReply
from translators.dialects.consumer_protocol import decode_assignment
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import GroupId, MemberId

MEMBERS = 5
DELAY_MS, BOUND_MS = 15_000, 10_000
"""Of a round that nobody has to wait in: well below the broker's initial delay, and above what a busy machine takes."""
BROKERS = ("kafka_43", "kafka_39")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """The newest broker by default; the old one, too, with --matrix=all."""
    is_all = metafunc.config.getoption("--matrix") == "all"
    metafunc.parametrize("kafka", BROKERS if is_all else BROKERS[:1], indirect=True)


@pytest.fixture
def kafka(request: pytest.FixtureRequest) -> KafkaUnderTest:
    """The broker of this name."""
    found = request.getfixturevalue(request.param)
    assert isinstance(found, KafkaUnderTest)
    return found


def questions(bootstrap: str) -> BridgeQuestions:
    """The bridge's own questions to this cluster, without a bridge."""
    made = BridgeQuestions()
    directory = Directory(Advertised(host="", first_port=0, ports={}))
    made.attach(UpstreamCluster(settings_for(bootstrap), directory, lambda _: False))
    return made


def seated(players: Sequence[RoundPlayer], played: Played) -> tuple[RoundPlayer, ...]:
    """The players by the ids that the broker gave them."""
    return tuple(replace(one, broker_id=played.ids[one.member_id]) for one in players)


async def played_round(
    coordinators: Coordinators, group: GroupId, players: Sequence[RoundPlayer], generation: int
) -> Played:
    """The round of these players as it ended."""
    bound_ms = BOUND_MS if generation >= 0 else DELAY_MS
    deadline_ms = TrioClock().now_ms() + bound_ms
    played = Round(group_id=group, players=tuple(players), deadline_ms=deadline_ms, generation=generation)
    ended = await play(coordinators, TrioClock(), played)
    assert isinstance(ended, Played), ended
    return ended


async def test_round_is_played_for_newcomers_and_for_members(kafka: KafkaUnderTest) -> None:
    """One pays the broker's initial delay; the others come in at once, static ones too; again, nobody's share moves."""
    broker = questions(kafka.bootstrap)
    group = GroupId(f"round-{uuid.uuid4().hex[:8]}")
    wanted = [player(f"m{n}", n, "", f"static-{n}" if n % 2 else None) for n in range(MEMBERS)]
    first = await played_round(broker, group, wanted[:1], -1)
    players = (*seated(wanted[:1], first), *wanted[1:])
    begun_s = time.monotonic()
    second = await played_round(broker, group, players, first.generation)
    assert time.monotonic() - begun_s < BOUND_MS / 1000
    third = await played_round(broker, group, seated(wanted, second), second.generation)
    assert third == replace(second, generation=third.generation)
    assert third.generation > second.generation

    described = await broker.describe_group(group)
    assert isinstance(described, DescribedGroup)
    shares = {one.member_id: decode_assignment(one.assignment).partitions for one in described.members}
    assert shares == {third.ids[one.member_id]: one.owned for one in wanted}
    assert {one.client_id for one in described.members} == {"client"}
    for one in wanted:
        seat = Heartbeat(group, third.generation, MemberId(third.ids[one.member_id]), one.instance_id)
        assert await broker.ask_coordinator(seat) == HeartbeatReply(ErrorCode.NONE)
    broker.close()
