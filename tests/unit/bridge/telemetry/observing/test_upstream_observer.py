"""What is asked of brokers on behalf of translated members is followed as their consumer group."""

from dataclasses import replace

from bridge.session.contracts import BrokerAccess, OnAnswer
from bridge.telemetry.observing import Guard, UpstreamObserver
from bridge.telemetry.schema.facts import GroupConverted, RebalanceBegan
from bridge.telemetry.schema.terms import OperatorAction, Protocol, Road
from bridge.wire.codec.registry import Reply, Request
from tests.support.embedded_world import commit_request, committed, native_join
from tests.support.heard import Ears
from tests.support.owned_group import CLIENT, GROUP
from tests.support.upstream_world import granted, refused, unchanged
from translators.dialects.consumer import ConsumerGroupHeartbeat
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import GroupId, MemberId, RequestRef, Via

OWN, OTHER = 3, 4


class Way:
    """A connection whose broker answers at once."""

    broker_id: int | None = 1

    def __init__(self, connection: int) -> None:
        self.connection = connection
        self.reply: Reply | None = None

    def highest_version(self, api_key: int) -> int | None:
        return None

    def ask(self, ref: RequestRef | None, request: Request, on_answer: OnAnswer, version: int | None = None) -> None:
        on_answer(self.reply)


class Heard:
    """A follower at the ears of one member's conversation."""

    def __init__(self) -> None:
        self.ears = Ears()
        self.ways: dict[int, Way] = {OWN: Way(OWN), OTHER: Way(OTHER)}
        upstream_observer = UpstreamObserver(self.ears.follower, Guard(), lambda: 5)
        upstream_observer.client_of = lambda _: CLIENT
        self.access = upstream_observer.over(self._way)
        self.answers: list[Reply | None] = []

    def _way(self, via: Via) -> BrokerAccess:
        return self.ways[via.connection]

    def ask(self, request: Request, reply: Reply | None, connection: int = OWN) -> list[str]:
        """Let the broker answer; gives what is said of it."""
        before = len(self.ears.log.lines())
        self.ways[connection].reply = reply
        way = self.access(Via(0, connection))
        assert (way.connection, way.broker_id, way.highest_version(1)) == (connection, 1, None)
        way.ask(None, request, self.answers.append)
        assert self.answers[-1] == reply
        return self.ears.log.lines()[before:]


def beat(epoch: int) -> ConsumerGroupHeartbeat:
    """The short form."""
    return ConsumerGroupHeartbeat(group_id=GROUP, member_id=MemberId("a"), member_epoch=epoch)


def test_member_is_followed_from_its_join_to_its_farewell() -> None:
    """What says and brings nothing goes by, but the first time on a connection."""
    heard = Heard()
    joined = heard.ask(native_join("a"), granted(1, 0, 1))
    assert "member-joined" in joined
    group = heard.ears.follower.groups[GROUP]
    assert (group.road, list(group.members), group.epoch) == (Road.UPSTREAM, ["a"], 1)
    assert heard.ask(beat(1), unchanged(1)) == []
    assert heard.ask(beat(1), None) == []
    assert heard.ask(beat(1), unchanged(1), OTHER) == []
    assert heard.ask(beat(1), granted(2, 0)) != []
    assert heard.ask(commit_request(), committed(commit_request())) == []
    assert any("left" in line for line in heard.ask(replace(beat(1), member_epoch=-1), unchanged(-1)))
    assert GROUP not in heard.ears.follower.groups


def test_group_that_passed_first_is_of_the_road_that_it_takes() -> None:
    """Its KIP-848 members pass; the broker coordinates all of them."""
    heard = Heard()
    heard.ears.follower.asked(RequestRef(0, OTHER, 1), CLIENT, native_join("n"), Road.PASSING, 1)
    heard.ears.follower.answered(RequestRef(0, OTHER, 1), replace(granted(1, 0), member_id=MemberId("n")), 2)
    heard.ask(native_join("a"), granted(2, 1))
    group = heard.ears.follower.groups[GROUP]
    assert (group.road, sorted(group.members)) == (Road.UPSTREAM, ["a", "n"])


def test_classic_client_stays_one_in_the_log_whatever_the_bridge_says_to_its_broker() -> None:
    """A report would say of its group that it needs no bridge; its KIP-848 members beside it are what they are."""
    heard = Heard()
    heard.ask(native_join("a"), granted(1, 0))
    heard.ears.follower.asked(RequestRef(0, OTHER, 1), CLIENT, native_join("n"), Road.PASSING, 1)
    heard.ears.follower.answered(RequestRef(0, OTHER, 1), replace(granted(2, 1), member_id=MemberId("n")), 2)
    members = heard.ears.follower.groups[GROUP].members
    spoken = {MemberId("a"): Protocol.CLASSIC, MemberId("n"): Protocol.CONSUMER}
    assert {one.member_id: one.protocol for one in members.values()} == spoken


def test_classic_client_that_is_met_behind_a_restart_is_one_in_the_log() -> None:
    """Nobody heard it join: its bridge beats for it as before."""
    heard = Heard()
    heard.ask(beat(4), unchanged(4))
    (member,) = heard.ears.follower.groups[GROUP].members.values()
    assert (member.protocol, member.member_epoch, member.generation) == (Protocol.CLASSIC, 4, -1)


def test_epoch_that_a_group_is_taken_over_with_is_no_rebalance() -> None:
    """Kafka counts on when a classic group becomes a consumer group; who gets something else is in a rebalance."""
    heard = Heard()
    follower = heard.ears.follower
    heard.ask(native_join("a"), granted(1, 0))
    began = len(heard.ears.log.of(RebalanceBegan))
    follower.ordered(GROUP, OperatorAction.MOVE, (), 6)
    heard.ask(beat(1), unchanged(2))
    heard.ask(beat(2), granted(3, 0))
    assert (len(heard.ears.log.of(RebalanceBegan)), follower.groups[GROUP].epoch) == (began, 3)
    heard.ask(beat(3), granted(4, 1))
    assert len(heard.ears.log.of(RebalanceBegan)) == began + 1
    follower.settled(GROUP, Road.UPSTREAM, {MemberId("a"): 4}, 7)
    heard.ask(beat(4), unchanged(5))
    assert len(heard.ears.log.of(RebalanceBegan)) == began + 2


def test_group_that_was_moved_is_told_of_by_its_new_road_and_kind() -> None:
    """One that was given back is classic, whatever was heard before."""
    heard = Heard()
    follower = heard.ears.follower
    heard.ask(native_join("a"), granted(1, 0))
    follower.settled(GROUP, Road.PASSING, {}, 7)
    (converted,) = heard.ears.log.of(GroupConverted)
    assert isinstance(converted, GroupConverted)
    assert (converted.road, converted.group_type) == (Road.PASSING, Protocol.CLASSIC)
    follower.settled(GroupId("nobody"), Road.PASSING, {}, 7)
    assert len(heard.ears.log.of(GroupConverted)) == 1


def test_refused_member_is_followed_out() -> None:
    """It has no seat any more."""
    heard = Heard()
    heard.ask(native_join("a"), granted(1, 0))
    heard.ask(beat(1), refused(ErrorCode.UNKNOWN_MEMBER_ID))
    assert GROUP not in heard.ears.follower.groups
