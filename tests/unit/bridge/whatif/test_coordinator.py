"""The engine with the follower at its side."""

from bridge.engine.commands import ChangeTopics, MemberHeartbeat, Speaks
from bridge.engine.model import DeadlineKey, DeadlineKind
from bridge.engine.settings import EngineSettings
from bridge.telemetry.schema.facts import MemberLeft
from bridge.whatif.coordinator import Coordinator, Reply, Request
from bridge.whatif.played_group import id_of
from tests.support.whatif_history import BEGINS_US, GROUP, TOPIC, client
from translators.dialects.consumer import ConsumerGroupHeartbeat, ConsumerGroupHeartbeatReply
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import MemberId, Topic

A = client("a")
KEY = DeadlineKey(DeadlineKind.SESSION, GROUP, A.member_id)
SESSION_MS = 45_000


def joined(*, lives: bool) -> tuple[Coordinator, list[Reply]]:
    """A coordinator that a has joined, and what it answered."""
    coordinator, heard = Coordinator(GROUP, EngineSettings(), BEGINS_US), list[Reply]()
    if lives:
        coordinator.living.add(A.member_id)
    coordinator.turn([ChangeTopics((Topic(id_of(TOPIC), TOPIC, 6),))], BEGINS_US)
    request = ConsumerGroupHeartbeat(
        group_id=GROUP,
        member_id=MemberId("a"),
        member_epoch=0,
        rebalance_timeout_ms=60_000,
        subscribed_topic_names=(TOPIC,),
        owned=frozenset(),
    )
    command = MemberHeartbeat(
        ref=coordinator.ref(0), request=request, identity=A.identity, speaks=Speaks.CONSUMER, fresh_id=A.member_id
    )
    coordinator.ask([Request(A.identity, request, command, heard.append)], BEGINS_US)
    return coordinator, heard


def test_answer_comes_back_and_the_log_tells_of_it() -> None:
    """In the order of a real log, numbered from 1."""
    coordinator, heard = joined(lives=True)
    reply = heard[0]
    assert isinstance(reply, ConsumerGroupHeartbeatReply)
    assert (reply.error, len(reply.assignment or ())) == (ErrorCode.NONE, 6)
    kinds = [event.fact.kind for event in coordinator.log.events]
    assert (kinds[0], "rebalance-ended" in kinds) == ("topics-seen", True)
    assert [event.stamp.number for event in coordinator.log.events] == [*range(1, len(kinds) + 1)]


def test_session_of_who_lives_never_ends_and_else_it_does() -> None:
    """Nobody has to play its heartbeats."""
    assert joined(lives=True)[0].next_deadline_us() is None
    assert joined(lives=False)[0].next_deadline_us() == BEGINS_US + SESSION_MS * 1_000


def test_member_that_lives_no_more_expires_when_it_is_said() -> None:
    """And the log tells how."""
    coordinator, _ = joined(lives=True)
    coordinator.expire_at(KEY, BEGINS_US // 1_000 + 500)
    due_us = coordinator.next_deadline_us()
    assert due_us == BEGINS_US + 500_000
    coordinator.pass_deadlines(due_us)
    left = [event.fact.departure.value for event in coordinator.log.events if isinstance(event.fact, MemberLeft)]
    assert (left, coordinator.living) == (["session-expired"], set())
