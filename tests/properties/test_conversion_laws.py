"""Laws of groups that change their kind at any moment, with clients of every kind in every state.

Nothing is owned twice, whatever anybody believes; every request has one answer; and in the end everything is owned.
"""

from collections.abc import Callable, Mapping
from itertools import count

from hypothesis import given
from hypothesis import strategies as st

from bridge.engine.commands import ConvertGroup, EndCommit, GroupType
from bridge.engine.queries import group_type
from bridge.engine.settings import EngineSettings
from tests.support.led_group import LedClient
from tests.support.owned_group import GROUP, TOPIC, ConsumerClient, OwnedGroup
from translators.dialects.coordinator import CommitAdmitted
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import RequestRef, Topic, TopicId, TopicPartition
from translators.dialects.offsets import OffsetCommit, PartitionCommit, TopicCommit

PARTITIONS = 5
SETTINGS = EngineSettings(group_initial_rebalance_delay_ms=10, group_begins_classic=True)
MEMBERS_MAX = 4
ROUNDS_TO_REST = 100
LONG_MS = 1_000
"""All rounds to rest are longer than the timeouts of sessions and rebalances, so that nobody waits for the dead."""


class Stage:
    """One group, and everybody who ever was in it and still is."""

    def __init__(self, assignor: str) -> None:
        self.assignor = assignor
        self.ids = count(1)
        self.group = OwnedGroup(partitions=PARTITIONS, settings=SETTINGS, ids=self.ids)
        self.group.owner.revive((), 0)
        self.entries = list(self.group.owner.entries())
        self.group.change_topics([Topic(TopicId(b"t" * 16), TOPIC, PARTITIONS)])
        self.entries += self.group.owner.entries()
        self.classic: list[LedClient] = []
        self.native: list[ConsumerClient] = []
        self.flights: dict[int, tuple[LedClient, TopicPartition]] = {}

    def take(self, step: str, place: int) -> None:
        """Let one thing happen, if it can; every KIP-848 member then reports."""
        STEPS[step](self, place)
        for native in self.native:
            assert native.beat() is ErrorCode.NONE
        self.entries += self.group.owner.entries()
        self.require_one_owner()

    def come(self, _place: int) -> None:
        """A classic client joins."""
        if len(self.classic) < MEMBERS_MAX:
            self.classic.append(LedClient(self.group, self.assignor))
            self.classic[-1].begin_join()

    def come_static(self, _place: int) -> None:
        """A static one joins."""
        if len(self.classic) < MEMBERS_MAX:
            self._seat(f"seat-{next(self.ids)}")

    def go(self, place: int) -> None:
        """A classic client leaves."""
        if self.classic:
            self.classic.pop(place % len(self.classic)).leave()

    def come_native(self, _place: int) -> None:
        """A KIP-848 member joins."""
        if len(self.native) < MEMBERS_MAX:
            self._welcome(ConsumerClient(self.group, f"native-{next(self.ids)}"))

    def go_native(self, place: int) -> None:
        """A KIP-848 member leaves."""
        if self.native:
            self.native.pop(place % len(self.native)).beat(-1)

    def bounce(self, place: int) -> None:
        """The process of a static member ends without a word, and another one of its kind takes its seat."""
        if self.classic and self.classic[place % len(self.classic)].instance_id is not None:
            self._seat(str(self.classic.pop(place % len(self.classic)).instance_id))

    def cross(self, place: int) -> None:
        """The same, and the new process speaks KIP-848."""
        if self.classic and self.classic[place % len(self.classic)].instance_id is not None:
            instance_id = self.classic.pop(place % len(self.classic)).instance_id
            self._welcome(ConsumerClient(self.group, f"native-{next(self.ids)}", instance_id))

    def cross_back(self, place: int) -> None:
        """A static KIP-848 member becomes a classic one."""
        if self.native and self.native[place % len(self.native)].instance_id is not None:
            self._seat(str(self.native.pop(place % len(self.native)).instance_id))

    def order_up(self, _place: int) -> None:
        """An operator wants a consumer group."""
        self._order(GroupType.CONSUMER)

    def order_down(self, _place: int) -> None:
        """An operator wants a classic group."""
        self._order(GroupType.CLASSIC)

    def work(self, place: int) -> None:
        """A classic client does the next thing."""
        if self.classic:
            self.classic[place % len(self.classic)].go_on()

    def wait(self, _place: int) -> None:
        """A moment passes."""
        self.group.wait(100)

    def wait_long(self, _place: int) -> None:
        """Some time passes."""
        self.group.wait(LONG_MS)

    def begin_commit(self, place: int) -> None:
        """A commit for one of a client's own partitions is on its way until it ends."""
        if not self.classic:
            return
        client = self.classic[place % len(self.classic)]
        for partition in sorted(client.owned)[:1]:
            offsets = (PartitionCommit(partition=partition.partition, offset=1),)
            request = OffsetCommit(
                group_id=GROUP,
                generation=client.generation,
                member_id=client.member_id,
                instance_id=client.instance_id,
                topics=(TopicCommit(name=TOPIC, partitions=offsets),),
            )
            begun = self.group.owner.begin_commit(RequestRef(0, 9, 9), request, self.group.now_ms)
            if isinstance(begun, CommitAdmitted):
                self.flights[begun.commit_id] = (client, partition)

    def end_commit(self, _place: int) -> None:
        """The broker has answered a commit."""
        if self.flights:
            self.group.tell(EndCommit(self.flights.popitem()[0]))

    def restart(self, _place: int) -> None:
        """Another owner goes on with the journal; requests that were open are lost, as their connections are."""
        again = OwnedGroup(partitions=PARTITIONS, settings=SETTINGS, ids=self.ids)
        again.now_ms = self.group.now_ms
        again.owner.revive(self.entries, self.group.now_ms)
        self.entries += again.owner.entries()
        self.group = again
        self.flights.clear()
        for client in self.classic:
            client.move_to(again)
        for native in self.native:
            native.group = again

    def require_one_owner(self) -> None:
        """No partition is in the hands of two clients."""
        owned = [one for client in self.classic for one in client.owned]
        owned += [one for native in self.native for one in native.assigned]
        assert len(owned) == len(set(owned)), (owned, group_type(self.group.owner.shard, GROUP))
        for who, partition in self.flights.values():
            assert all(client is who or partition not in client.owned for client in self.classic)
            assert all(partition not in native.assigned for native in self.native)

    def come_to_rest(self) -> None:
        """Let everybody work and time pass."""
        for commit_id in tuple(self.flights):
            self.group.tell(EndCommit(commit_id))
        self.flights.clear()
        for _ in range(ROUNDS_TO_REST):
            for client in self.classic:
                client.go_on()
            self.take("wait", 0)
            self.wait_long(0)

    def require_everything_owned(self) -> None:
        """Nobody waits, and nothing lies idle."""
        owned = {one for client in self.classic for one in client.owned}
        owned |= {one for native in self.native for one in native.assigned}
        everything = {TopicPartition(TOPIC, index) for index in range(PARTITIONS)}
        assert owned == (everything if self.classic or self.native else set())
        assert [client.beat() for client in self.classic] == [ErrorCode.NONE] * len(self.classic)

    def _seat(self, instance_id: str) -> None:
        self.classic.append(LedClient(self.group, self.assignor, instance_id))
        self.classic[-1].begin_join()

    def _order(self, to: GroupType) -> None:
        self.group.tell(ConvertGroup(ref=RequestRef(0, -1, 1), group_id=GROUP, to=to))

    def _welcome(self, native: ConsumerClient) -> None:
        """A newcomer whom the group can't take at this moment has gone again."""
        if native.beat() is ErrorCode.NONE:
            self.native.append(native)


STEPS: Mapping[str, Callable[[Stage, int], None]] = {
    "come": Stage.come,
    "static comes": Stage.come_static,
    "go": Stage.go,
    "native comes": Stage.come_native,
    "native goes": Stage.go_native,
    "bounce": Stage.bounce,
    "cross": Stage.cross,
    "cross back": Stage.cross_back,
    "up": Stage.order_up,
    "down": Stage.order_down,
    "work": Stage.work,
    "work more": Stage.work,
    "wait": Stage.wait,
    "commit": Stage.begin_commit,
    "commit ends": Stage.end_commit,
    "restart": Stage.restart,
}
"""What may happen; work most of all."""


@given(
    assignor=st.sampled_from(["range", "cooperative-sticky"]),
    story=st.lists(st.tuples(st.sampled_from(sorted(STEPS)), st.integers(0, MEMBERS_MAX)), max_size=40),
)
def test_nothing_is_owned_twice_and_in_the_end_everything_is_owned(assignor: str, story: list[tuple[str, int]]) -> None:
    """No change of kind and no restart shares a partition or loses one (decisions 6 to 8)."""
    stage = Stage(assignor)
    for step, place in story:
        stage.take(step, place)
    stage.come_to_rest()
    stage.require_everything_owned()
