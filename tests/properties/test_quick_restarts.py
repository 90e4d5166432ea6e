"""Members that are stopped and started within `departure.wait.ms` are noticed by nobody else, whatever others do."""

from itertools import count

from hypothesis import given, settings
from hypothesis import strategies as st

from bridge.engine.settings import EngineSettings
from tests.support.embedded_world import leave_request
from tests.support.owned_group import ClassicClient, ConsumerClient, OwnedGroup
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import TopicPartition

Client = ClassicClient | ConsumerClient
WAIT_MS = 1_000
ROUNDS = 4
KINDS = st.sampled_from(["range", "cooperative-sticky", "consumer"])
BEATS = st.lists(st.tuples(st.integers(0, WAIT_MS - 2), st.integers(0, 9)), max_size=6)
"""Others that heartbeat while the member is away: when, and who."""
RESTARTS = st.lists(st.tuples(st.integers(0, 9), st.integers(0, WAIT_MS - 1), BEATS), min_size=1, max_size=4)
"""Who is stopped, for how long, and who is heard meanwhile."""


class Fleet:
    """Members of one group, each of which takes what it is told."""

    def __init__(self, kinds: list[str], partitions: int) -> None:
        self.group = OwnedGroup(
            partitions, EngineSettings(group_initial_rebalance_delay_ms=0, departure_wait_ms=WAIT_MS)
        )
        self.names = count(1)
        self.members: list[Client] = []
        for kind in kinds:
            self.members.append(self.fresh(kind))
            self.start(self.members[-1])
            self.settle()

    def fresh(self, kind: str) -> Client:
        """A client that was never in the group."""
        return (
            ConsumerClient(self.group, f"n{next(self.names)}")
            if kind == "consumer"
            else ClassicClient(self.group, kind)
        )

    def start(self, member: Client) -> None:
        """It joins; an eager one may have to wait for its answer."""
        if isinstance(member, ConsumerClient):
            assert member.beat(0) is ErrorCode.NONE
        else:
            member.begin_join()

    def stop(self, member: Client) -> None:
        """It says goodbye."""
        if isinstance(member, ConsumerClient):
            assert member.beat(-1) is ErrorCode.NONE
        else:
            self.group.send(leave_request(member.member_id))

    def beat(self, member: Client) -> bool:
        """A heartbeat, and what follows from it; whether the member heard anything."""
        if isinstance(member, ConsumerClient):
            before = member.assigned
            assert member.beat() is ErrorCode.NONE
            return member.assigned != before
        if member.parked is not None:
            if not member.is_joined:
                return False
            member.end_join()
            return True
        code = member.beat()
        assert code in {ErrorCode.NONE, ErrorCode.REBALANCE_IN_PROGRESS}
        if code is ErrorCode.REBALANCE_IN_PROGRESS:
            member.begin_join()
        return code is not ErrorCode.NONE

    def settle(self) -> None:
        """Heartbeats until nobody hears anything any more."""
        calm = 0
        for _ in range(100):
            calm = 0 if [member for member in self.members if self.beat(member)] else calm + 1
            self.group.wait(200)
            if calm == 2:
                return
        raise AssertionError("the group does not settle")

    def owned(self) -> list[TopicPartition]:
        """What is in use, by whomever."""
        shares = [one.assigned if isinstance(one, ConsumerClient) else one.owned for one in self.members]
        return sorted(partition for share in shares for partition in share)


@settings(max_examples=150, deadline=None)
@given(kinds=st.lists(KINDS, min_size=2, max_size=6), spare=st.integers(0, 7), restarts=RESTARTS)
def test_nobody_hears_of_a_restart_that_is_quicker_than_the_wait(
    kinds: list[str], spare: int, restarts: list[tuple[int, int, list[tuple[int, int]]]]
) -> None:
    """Heartbeats of others don't end the wait, a JoinGroup at its last moment is in time, and all is in use again."""
    fleet = Fleet(kinds, partitions=2 * len(kinds) + spare)
    everything = fleet.owned()
    for number, away_ms, beats in restarts:
        place = number % len(kinds)
        others = [member for one, member in enumerate(fleet.members) if one != place]
        fleet.stop(fleet.members[place])
        heard: list[Client] = []
        gone_ms = fleet.group.now_ms
        for at_ms, who in sorted(beats):
            if at_ms < away_ms:
                fleet.group.wait(max(0, gone_ms + at_ms - fleet.group.now_ms))
                heard += [member for member in (others[who % len(others)],) if fleet.beat(member)]
        fleet.group.wait(gone_ms + away_ms - fleet.group.now_ms)
        fleet.members[place] = fleet.fresh(kinds[place])
        fleet.start(fleet.members[place])
        for _ in range(ROUNDS):
            fleet.beat(fleet.members[place])
            heard += [member for member in others if fleet.beat(member)]
            fleet.group.wait(500)
        assert heard == []
        assert fleet.owned() == everything


def test_who_comes_after_the_wait_is_heard_of() -> None:
    """The property above would not hold without a wait: the others have begun with what the member left."""
    fleet = Fleet(["range", "cooperative-sticky", "consumer"], partitions=6)
    fleet.stop(fleet.members[0])
    fleet.group.wait(WAIT_MS)
    assert [fleet.beat(member) for member in fleet.members[1:]] == [True, True]
