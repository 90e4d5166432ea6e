"""What of an owner's turns is written down, and the owner that a journal makes again."""

from collections.abc import Iterable, Iterator

import pytest

from bridge.coordinators.catalog import Catalog
from bridge.coordinators.durability import ANEW, condense, replay
from bridge.coordinators.embedded.shard_journal import ENGINE, ShardJournal, blank_journal, hold_commits
from bridge.engine.assignors.registry import registry
from bridge.engine.settings import EngineSettings
from bridge.engine.state import Shard
from tests.support.owned_group import GROUP, TOPIC, ClassicClient, ConsumerClient, OwnedGroup
from tests.support.snapshots import durable
from translators.classic_member.member_records import DurableMember, MemberKey, durable_part
from translators.classic_member.states import Stable
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import MemberRef, Topic, TopicId
from translators.dialects.plain import UnreadableRecord


def journalled(journal: list[bytes]) -> OwnedGroup:
    """An owner that goes on with a journal, as after a start."""
    group = OwnedGroup()
    group.owner.revive(journal, group.now_ms)
    if not journal:
        group.change_topics([Topic(TopicId(b"t" * 16), TOPIC, 6)])
    return group


def members_of(group: OwnedGroup) -> dict[MemberKey, DurableMember]:
    """The lasting part of every classic member."""
    machines = group.owner.machines
    found = {key: machines.get(key) for key in machines}
    kept = {key: durable_part(state) for key, state in found.items() if state is not None}
    return {(key.group_id, key.member_id): former for key, former in kept.items() if former is not None}


def assert_same(journal: Iterable[bytes], live: OwnedGroup) -> None:
    """The law: a journal replayed has the live owner's durable state."""
    shard = Shard(settings=EngineSettings(), assignors=registry)
    book = replay(journal, ShardJournal(shard, Catalog()))
    assert durable(shard) == durable(live.owner.shard)
    assert book.members(live.owner.machines.limits) == members_of(live)


def history(group: OwnedGroup) -> Iterator[None]:
    """Members of all kinds come, live and go; one step at a time."""
    eager, cooperative = ClassicClient(group, "range"), ClassicClient(group, "cooperative-sticky")
    static, native = ClassicClient(group, "range", "seat"), ConsumerClient(group, "native")
    for client in (eager, cooperative, static):
        client.begin_join()
        yield
        for _ in range(12):
            for other in (eager, cooperative, static):
                settle(other)
                yield
    for _ in range(6):
        native.beat()
        for other in (eager, cooperative, static):
            settle(other)
            yield
    group.wait(100_000)
    yield


def settle(client: ClassicClient) -> None:
    """Let a client do what it has to next."""
    if client.is_joined:
        client.end_join()
    elif client.parked is None and client.generation > 0 and client.beat() is ErrorCode.REBALANCE_IN_PROGRESS:
        client.begin_join()


def test_journal_equals_live_state_after_every_turn() -> None:
    """replay(journal) == durable(live), machines included, whatever is under way."""
    journal: list[bytes] = []
    group = journalled(journal)
    for _ in history(group):
        journal += group.owner.entries()
        assert_same(journal, group)
        assert_same(condense(journal, blank_journal()), group)
    assert members_of(group) == {}
    assert len(journal) > 40


def test_heartbeats_write_nothing() -> None:
    """Volatile news never reach the journal: members at work cost it nothing."""
    group = journalled([])
    client = ClassicClient(group)
    client.join()
    assert group.owner.entries()
    for _ in range(3):
        group.wait(3_000)
        assert client.beat() is ErrorCode.NONE
        assert group.owner.entries() == ()


def test_member_goes_on_after_a_restart() -> None:
    """Ids, generation and assignment are kept, the session is full, and nobody is called (K7.30 to K7.32)."""
    before = journalled([])
    first, second = ClassicClient(before), ClassicClient(before, "cooperative-sticky")
    first.join()
    second.begin_join()
    for _ in range(8):
        settle(first)
        settle(second)
    journal = list(before.owner.entries())
    after = journalled(journal)
    for client in (first, second):
        client.group = after
        state = after.owner.machines.get(MemberRef(GROUP, client.member_id))
        assert isinstance(state, Stable)
        assert state.session_deadline_ms == 10_000
    after.wait(9_000)
    assert [first.beat(), second.beat()] == [ErrorCode.NONE, ErrorCode.NONE]
    assert len(first.owned) == len(second.owned) == 3
    assert_same(journal, after)
    assert after.owner.entries() == ()


def test_newcomer_that_was_handed_out_nothing_joins_anew() -> None:
    """Its parked JoinGroup is lost, and so is the member; its partitions go to those who are there (K7.31)."""
    before = journalled([])
    first, newcomer = ClassicClient(before), ClassicClient(before)
    first.join()
    newcomer.begin_join()
    journal = list(before.owner.entries())
    after = journalled(journal)
    assert list(after.owner.shard.groups[GROUP].members) == [first.member_id]
    assert after.owner.entries()
    first.group = after
    after.wait(1)
    assert first.beat() is ErrorCode.NONE


def test_failed_turn_is_written_in_full() -> None:
    """Records that a failed turn did not give out are not lost: what is true is written as a whole."""
    group = journalled([])
    client = ClassicClient(group)
    client.join()
    journal = list(group.owner.entries())
    ClassicClient(group).begin_join()
    group.owner.recover(group.now_ms)
    entries = tuple(group.owner.entries())
    assert entries[0] == ANEW
    assert_same([*journal, *entries], group)
    assert group.owner.entries() == ()


def test_reload_keeps_commits_on_their_way() -> None:
    """The broker has them whatever the journal says."""
    group = journalled([])
    client = ClassicClient(group)
    client.join()
    journal = list(group.owner.entries())
    hold_commits(group.owner.shard)
    flights = dict(group.owner.shard.flights)
    group.owner.revive(journal, group.now_ms)
    assert group.owner.shard.flights == flights
    assert group.owner.shard.last_commit_id == max(flights)


def test_entry_of_another_kind_is_refused() -> None:
    """Nothing is guessed."""
    shard = Shard(settings=EngineSettings(), assignors=registry)
    with pytest.raises(UnreadableRecord, match="begins with b'X'"):
        replay([b"X"], ShardJournal(shard, Catalog()))
    with pytest.raises(UnreadableRecord, match="not JSON"):
        replay([ENGINE + b"{"], ShardJournal(shard, Catalog()))
