"""Laws of several member machines over one pool of partitions, in any order of messages."""

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.classic_members import NOW, TOPIC
from tests.support.classic_world import World, make_world
from translators.classic_member.tenure import NO_PARTITIONS, Partitions
from translators.dialects.ids import TopicPartition

POOL = tuple(TopicPartition(TOPIC, number) for number in range(5))
LATEST = NOW + 42_000
"""Within every session and rebalance timeout."""
KINDS = st.lists(st.booleans(), min_size=2, max_size=3)
OWNERS = st.lists(st.integers(0, 2), min_size=len(POOL), max_size=len(POOL))
TURN = st.one_of(
    st.tuples(st.integers(0, 2), st.integers(0, 5)),
    st.tuples(st.integers(0, 2), st.integers(0, 3)),
    st.tuples(st.just(-1), st.sampled_from([1, 100, 2_500, 5_000])),
    OWNERS,
)


def owners_of(world: World, owners: list[int]) -> dict[int, Partitions]:
    """Give a target: partition by partition the number of its owner."""
    target = dict.fromkeys(range(len(world.clients)), NO_PARTITIONS)
    for partition, owner in zip(POOL, owners, strict=True):
        target[owner % len(world.clients)] |= {partition}
    return target


def processed(world: World) -> dict[int, Partitions]:
    """Give what each client processes."""
    return {client.number: client.processing for client in world.clients}


@settings(max_examples=300, deadline=None)
@given(kinds=KINDS, first=OWNERS, turns=st.lists(TURN, max_size=200), last=OWNERS)
def test_no_partition_has_two_owners_and_all_arrive(
    kinds: list[bool], first: list[int], turns: list[tuple[int, int] | list[int]], last: list[int]
) -> None:
    """Whatever the order: nothing is processed twice (K2.40), and once all is quiet everybody has what it should."""
    world = make_world(*kinds)
    world.retarget(owners_of(world, first))
    world.settle(len(first) + sum(first))
    for turn in turns:
        if isinstance(turn, list):
            world.retarget(owners_of(world, turn))
        elif turn[0] < 0:
            world.now_ms = min(world.now_ms + turn[1], LATEST)
        else:
            world.act(turn[0] % len(world.clients), turn[1])
    world.retarget(owners_of(world, last))
    world.settle()
    assert processed(world) == owners_of(world, last)


@settings(max_examples=150, deadline=None)
@given(kinds=KINDS, before=OWNERS, after=OWNERS)
def test_only_those_whose_assignment_changes_are_disturbed(
    kinds: list[bool], before: list[int], after: list[int]
) -> None:
    """No join of a bystander, one of an eager client that changes, two or three of a cooperative one (decision 12)."""
    world = make_world(*kinds)
    world.retarget(owners_of(world, before))
    world.settle()
    old, new = processed(world), owners_of(world, after)
    generations = [client.generation for client in world.clients]
    for client in world.clients:
        client.joins = client.calls = 0
    world.retarget(new)
    world.settle()
    assert processed(world) == new
    for client in world.clients:
        lost, gained = old[client.number] - new[client.number], new[client.number] - old[client.number]
        if not lost and not gained:
            expected = (0, 0, generations[client.number])
            assert (client.joins, client.calls, client.generation) == expected
        elif not client.is_cooperative:
            assert (client.joins, client.calls) == (1, 1)
        else:
            assert client.joins <= 1 + bool(lost) + bool(lost and gained)
