"""The engine behind the port, without an owner."""

from itertools import count

import pytest

from bridge.coordinators.catalog import Catalog
from bridge.coordinators.embedded.coordinator import EmbeddedCoordinator
from bridge.coordinators.embedded.shares import Shares
from bridge.coordinators.machines import Machines
from bridge.coordinators.takeover import Seats
from bridge.engine.assignors.registry import registry
from bridge.engine.commands import ChangeTopics, ConvertGroup, GroupType
from bridge.engine.outcome import MemberRemoved, NotConverted, RemovalCause
from bridge.engine.settings import EngineSettings
from bridge.engine.state import Shard
from tests.support.owned_group import CLIENT, GROUP, TOPIC, counted_ids
from translators.classic_member.states import MemberLimits
from translators.dialects.coordinator import DepartReason, Farewell, Granted, Inquiry, MemberAnswered
from translators.dialects.ids import NOWHERE, MemberId, MemberRef, RequestRef, Topic, TopicId, TopicPartition

MEMBER = MemberId("m")
ALL = frozenset({TopicPartition(TOPIC, 0), TopicPartition(TOPIC, 1)})


@pytest.fixture
def coordinator() -> EmbeddedCoordinator:
    """One that knows a topic of two partitions."""
    shard = Shard(settings=EngineSettings(group_initial_rebalance_delay_ms=0, departure_wait_ms=0), assignors=registry)
    catalog, machines = Catalog(), Machines(MemberLimits())
    made = EmbeddedCoordinator(shard, catalog, Seats(machines), Shares(shard, machines), counted_ids(count(1)))
    change = catalog.update([Topic(TopicId(b"t" * 16), TOPIC, 2)])
    made.order(ChangeTopics(change.changed, change.removed))
    made.advance(0)
    return made


def ask(epoch: int = 0) -> Inquiry:
    """What a machine asks at an epoch."""
    return Inquiry(
        group_id=GROUP,
        member_id=MEMBER,
        member_epoch=epoch,
        instance_id=None,
        rack_id=None,
        topics=frozenset({TOPIC}),
        rebalance_timeout_ms=60_000,
        owned=frozenset(),
    )


def test_question_is_answered_by_name_and_number(coordinator: EmbeddedCoordinator) -> None:
    """Nothing is said before `advance`, and then once."""
    coordinator.submit(MemberRef(GROUP, MEMBER, 7), NOWHERE, CLIENT, ask())
    (event, *_) = coordinator.advance(0) or ()
    assert isinstance(event, MemberAnswered)
    assert event.member == MemberRef(GROUP, MEMBER, 7)
    assert isinstance(event.answer, Granted)
    assert (event.answer.assigned, event.answer.pending) == (ALL, frozenset())
    assert coordinator.advance(0) is None


def test_what_a_failed_turn_had_not_carried_out_is_forgotten(coordinator: EmbeddedCoordinator) -> None:
    """The owner tells its machine so."""
    coordinator.submit(MemberRef(GROUP, MEMBER, 7), NOWHERE, CLIENT, ask())
    coordinator.recover()
    assert coordinator.advance(0) is None
    assert coordinator.open_questions() == set()


def test_notice_says_why_a_machine_gave_its_member_up(coordinator: EmbeddedCoordinator) -> None:
    """The engine takes every farewell for a departure."""
    coordinator.submit(MemberRef(GROUP, MEMBER, 7), NOWHERE, CLIENT, ask())
    coordinator.advance(0)
    coordinator.take_notices()
    farewell = Farewell(
        group_id=GROUP, member_id=MEMBER, member_epoch=-1, instance_id=None, reason=DepartReason.SESSION_EXPIRED
    )
    coordinator.submit(MemberRef(GROUP, MEMBER, 8), NOWHERE, CLIENT, farewell)
    coordinator.advance(0)
    removed = [notice.cause for notice in coordinator.take_notices() if isinstance(notice, MemberRemoved)]
    assert removed == [RemovalCause.SESSION_EXPIRED]


def test_order_to_convert_is_urgent_and_judged(coordinator: EmbeddedCoordinator) -> None:
    """Whoever comes next meets the group as it is then."""
    ref = RequestRef(0, -1, 1)
    coordinator.order(ConvertGroup(ref=ref, group_id=GROUP, to=GroupType.CONSUMER))
    before = coordinator.is_urgent
    coordinator.advance(0)
    assert (before, coordinator.is_urgent) == (True, False)
    ((told, verdict),) = coordinator.take_verdicts()
    assert told == ref
    assert isinstance(verdict, NotConverted)


def test_member_without_a_machine_is_let_go(coordinator: EmbeddedCoordinator) -> None:
    """What its machine left behind would hold its partitions for ever."""
    coordinator.submit(MemberRef(GROUP, MEMBER, 7), NOWHERE, CLIENT, ask())
    coordinator.advance(0)
    coordinator.release(MemberRef(GROUP, MEMBER), DepartReason.UNANSWERED)
    coordinator.release(MemberRef(GROUP, MemberId("nobody")), None)
    coordinator.advance(0)
    assert not coordinator.shard.groups[GROUP].members
