"""Tests of how what newcomers say they had steers the target (KIP-341)."""

from dataclasses import replace

from bridge.engine.commands import MemberHeartbeat, Speaks
from bridge.engine.consumer.retargeting import find_hints, gather_claims
from bridge.engine.model import Ask
from tests.support.engine_bench import GROUP, Bench, Partitions, join_request, parts
from translators.dialects.ids import InstanceId, MemberId

A, B = MemberId("a"), MemberId("b")


def claiming(bench: Bench, member: str, claimed: Partitions, generation: int = -1) -> MemberHeartbeat:
    """A translated member joins and says what it had."""
    command = bench.command(join_request(member), Speaks.CLASSIC)
    return replace(command, fresh_id=MemberId(member), claimed=claimed, claimed_generation=generation)


def formed(*claims: tuple[str, Partitions, int]) -> Bench:
    """A group that began with these members, all of them within the initial delay."""
    bench = Bench()
    for member, claimed, generation in claims:
        bench.tell(claiming(bench, member, claimed, generation))
    bench.pass_time(bench.settings.group_initial_rebalance_delay_ms)
    bench.pass_time(bench.settings.group_initial_rebalance_delay_ms)
    return bench


def test_new_group_starts_with_what_its_members_had() -> None:
    """Nothing moves when a group of sticky members comes to the bridge."""
    bench = formed(("a", parts(1, 3, 5), 4), ("b", parts(0, 2, 4), 4))
    assert (bench.target("a"), bench.target("b")) == (parts(1, 3, 5), parts(0, 2, 4))


def test_highest_generation_wins_a_conflict() -> None:
    """KIP-341: who was away when its partitions were given to others claims an older generation."""
    bench = formed(("a", parts(0, 1, 2), 3), ("b", parts(0, 1, 2), 4))
    assert (bench.target("a"), bench.target("b")) == (parts(3, 4, 5), parts(0, 1, 2))


def test_claim_without_generation_loses_to_any_generation() -> None:
    """User data v0 counts as generation -1."""
    bench = formed(("a", parts(0, 1, 2), -1), ("b", parts(0, 1, 2), 1))
    assert bench.target("b") == parts(0, 1, 2)


def test_equal_generations_are_decided_by_seat() -> None:
    """Never two owners, and the same one whoever came first."""
    first = formed(("a", parts(0, 1, 2), 4), ("b", parts(0, 1, 2), 4))
    second = formed(("b", parts(0, 1, 2), 4), ("a", parts(0, 1, 2), 4))
    assert first.target("a") == second.target("a") == parts(0, 1, 2)


def test_balance_comes_before_claims() -> None:
    """A claim is worth as much as a former target."""
    bench = formed(("a", parts(*range(6)), 4), ("b", parts(), -1))
    assert (len(bench.target("a")), len(bench.target("b"))) == (3, 3)


def test_claim_takes_nothing_from_a_member() -> None:
    """Nor is it owned: b starts with nothing and waits for what a gives up (decision 7)."""
    bench = Bench()
    bench.join("a")
    bench.tell(claiming(bench, "b", parts(3, 4, 5), 9))
    assert bench.target("a") | bench.target("b") == parts(*range(6))
    assert (len(bench.target("b")), bench.current("b").assigned) == (3, {})


def test_freed_partitions_go_to_the_newcomer_that_had_them() -> None:
    """One turn: c leaves, b comes back with what c had."""
    bench = Bench()
    bench.tell(bench.command(join_request("a")), bench.command(join_request("c")))
    freed, kept = bench.target("c"), bench.target("a")
    bench.tell(bench.command(replace(join_request("c"), member_epoch=-1)), claiming(bench, "b", freed, 9))
    assert (bench.target("a"), bench.target("b")) == (kept, freed)


def test_only_newcomers_and_their_topics_count() -> None:
    """A target says what its member has; unwanted topics and topics that don't exist are nobody's hint."""
    bench = Bench()
    bench.join("a")
    bench.tell(bench.command(join_request("b")))
    ask = Ask(
        ref=bench.ref(),
        group_id=GROUP,
        member_id=B,
        instance_id=InstanceId("i"),
        owned=None,
        is_full=True,
        before=None,
        has_new_topics=True,
        claimed=parts(0, 1) | parts(0, of="bar") | parts(0, of="none"),
    )
    assert find_hints(bench.state, bench.group, [ask]) == {}
    bench.group.target_owners.clear()
    assert find_hints(bench.state, bench.group, [ask]) == {}, "it has a target, and is no newcomer"
    del bench.group.target[B]
    assert find_hints(bench.state, bench.group, [ask]) == {B: parts(0, 1)}
    assert find_hints(bench.state, bench.group, [replace(ask, member_id=MemberId("gone"))]) == {}
    assert gather_claims([ask, replace(ask, claimed=frozenset())]) == {GROUP: [ask]}
    assert gather_claims([replace(ask, before=bench.member("a").subscription)]) == {}
