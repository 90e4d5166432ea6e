"""Laws of the built-in assignors for any spec; it must not know how they compute.

Bounds and optima are computed here from the definitions, by counting or by trying every assignment.
"""

from collections.abc import Mapping
from dataclasses import replace
from itertools import product

from hypothesis import given, settings
from hypothesis import strategies as st

from bridge.engine.assignors.interface import Assignment, AssignmentSpec, MemberSubscription
from bridge.engine.assignors.registry import registry
from bridge.engine.assignors.uniform import Uniform
from tests.support.assignments import find_uneven, index_of
from tests.support.forced_minimum import forced_minimum
from tests.support.kept_index import KeptIndex
from translators.dialects.ids import InstanceId, MemberId, TopicId, TopicIdPartition

TOPICS = [TopicId(bytes(15) + bytes([number])) for number in range(1, 5)]
NAMES = [MemberId(f"m{number}") for number in range(6)]
UNIFORM = Uniform()


@st.composite
def specs(
    draw: st.DrawFn, *, same: bool = False, members: int = 6, partitions: int = 9, topics: int = 4
) -> AssignmentSpec:
    """Any spec; `previous` may name departed members, unsubscribed or shrunk topics, but no partition twice."""
    counts = {topic: draw(st.integers(0, partitions)) for topic in TOPICS[:topics]}
    choices = st.frozensets(st.sampled_from(TOPICS[:topics]))
    common = draw(choices)
    names = draw(st.lists(st.sampled_from(NAMES[:members]), unique=True))
    subscriptions = {
        name: MemberSubscription(
            member_id=name,
            instance_id=draw(st.sampled_from([None, InstanceId(f"i{5 - number}")])),
            rack_id=None,
            topics=common if same else draw(choices),
        )
        for number, name in enumerate(names)
    }
    known = [TopicIdPartition(topic, number) for topic in TOPICS[:topics] for number in range(partitions)]
    owners = draw(st.lists(st.sampled_from([None, *NAMES[:members]]), min_size=len(known), max_size=len(known)))
    previous = {
        name: frozenset(partition for partition, owner in zip(known, owners, strict=True) if owner == name)
        for name in NAMES[:members]
    }
    return AssignmentSpec(members=subscriptions, previous=previous, partition_counts=counts)


def subscribed(spec: AssignmentSpec) -> list[TopicIdPartition]:
    """Every partition somebody wants."""
    wanted = {topic for member in spec.members.values() for topic in member.topics}
    counts = spec.partition_counts
    return [TopicIdPartition(topic, n) for topic in sorted(wanted) for n in range(counts.get(topic, 0))]


def standing(spec: AssignmentSpec) -> dict[MemberId, set[TopicIdPartition]]:
    """What members of now had and may still have."""
    every = set(subscribed(spec))
    return {
        name: {claim for claim in spec.previous.get(name, frozenset()) & every if claim.topic_id in member.topics}
        for name, member in spec.members.items()
    }


def moves(spec: AssignmentSpec, target: Assignment) -> int:
    """Partitions that leave a member which could have kept them."""
    return sum(len(claims - target[name]) for name, claims in standing(spec).items())


def worth(spec: AssignmentSpec, target: Assignment) -> tuple[int, int]:
    """How balanced and how many moves, as the oracle counts."""
    return squares({name: len(share) for name, share in target.items()}), moves(spec, target)


def squares(loads: Mapping[MemberId, int]) -> int:
    """Falls with every unit that goes from a member to one at least two below, and with nothing else."""
    return sum(load * load for load in loads.values())


@given(st.sampled_from(sorted(registry)), specs())
def test_each_subscribed_partition_has_exactly_one_owner_that_wants_it(name: str, spec: AssignmentSpec) -> None:
    """Every member is named, every subscribed partition is given once, to a subscriber (K9.1)."""
    target = registry[name].assign(spec)
    assert set(target) == set(spec.members)
    assert sorted(partition for share in target.values() for partition in share) == subscribed(spec)
    for member_id, share in target.items():
        assert {partition.topic_id for partition in share} <= spec.members[member_id].topics


@given(st.sampled_from(sorted(registry)), specs())
def test_order_of_mappings_does_not_matter(name: str, spec: AssignmentSpec) -> None:
    """Equal questions, equal answers."""
    turned = AssignmentSpec(
        members=dict(reversed(list(spec.members.items()))),
        previous={k: frozenset(sorted(v, reverse=True)) for k, v in reversed(list(spec.previous.items()))},
        partition_counts=dict(reversed(list(spec.partition_counts.items()))),
    )
    assert registry[name].assign(turned) == registry[name].assign(spec)


@given(st.sampled_from(sorted(registry)), specs())
def test_own_target_is_a_fixed_point_of_identical_objects(name: str, spec: AssignmentSpec) -> None:
    """Assigning again changes nothing, and unchanged members get the very object they had."""
    target = registry[name].assign(spec)
    again = registry[name].assign(
        AssignmentSpec(members=spec.members, previous=target, partition_counts=spec.partition_counts)
    )
    assert all(again[member_id] is target[member_id] for member_id in target)


@given(specs(same=True))
def test_uniform_same_subscriptions_balanced_by_the_forced_minimum_of_moves(spec: AssignmentSpec) -> None:
    """Loads differ by at most one; what moves is what exceeds the floor, less one for each surplus partition kept."""
    target = UNIFORM.assign(spec)
    loads = [len(share) for share in target.values()]
    assert max(loads, default=0) - min(loads, default=0) <= 1
    if not loads:
        return
    floor, surplus = divmod(len(subscribed(spec)), len(loads))
    claims = [len(claim) for claim in standing(spec).values()]
    above = sum(claim > floor for claim in claims)
    assert moves(spec, target) == sum(max(0, claim - floor) for claim in claims) - min(surplus, above)


@settings(max_examples=300)
@given(specs(members=4, partitions=2, topics=3))
def test_uniform_mixed_subscriptions_are_the_best_of_all_assignments(spec: AssignmentSpec) -> None:
    """Of every possible assignment none is better balanced, and none as balanced moves less."""
    target = UNIFORM.assign(spec)
    partitions = subscribed(spec)
    wanting = [[name for name, m in spec.members.items() if p.topic_id in m.topics] for p in partitions]
    claims = standing(spec)
    owner = {partition: name for name, claim in claims.items() for partition in claim}
    best = min(
        (
            squares({name: owners.count(name) for name in spec.members}),
            sum(owner.get(p, name) != name for p, name in zip(partitions, owners, strict=True)),
        )
        for owners in product(*wanting)
    )
    assert (squares({name: len(share) for name, share in target.items()}), moves(spec, target)) == best


@settings(max_examples=150, deadline=None)
@given(specs())
def test_uniform_moves_what_balance_forces_and_no_more(spec: AssignmentSpec) -> None:
    """Up to 36 partitions and six members: as balanced as can be, by the fewest moves, says a plain min-cost flow."""
    owner = {partition: name for name, claim in standing(spec).items() for partition in claim}
    assert worth(spec, UNIFORM.assign(spec)) == forced_minimum(spec, owner)


@settings(max_examples=300)
@given(specs(members=3, partitions=2, topics=3))
def test_oracle_finds_the_best_of_all_assignments(spec: AssignmentSpec) -> None:
    """What the other laws trust is itself held to trying every assignment."""
    partitions = subscribed(spec)
    owner = {partition: name for name, claim in standing(spec).items() for partition in claim}
    wanting = [[name for name, m in spec.members.items() if p.topic_id in m.topics] for p in partitions]
    best = min(
        (
            squares({name: owners.count(name) for name in spec.members}),
            sum(owner.get(p, name) != name for p, name in zip(partitions, owners, strict=True)),
        )
        for owners in product(*wanting)
    )
    assert forced_minimum(spec, owner) == best


@settings(max_examples=300, deadline=None)
@given(specs())
def test_revised_target_is_as_good_as_a_new_one(spec: AssignmentSpec) -> None:
    """The incremental way: shares of those that change only, every partition once, the same balance and moves."""
    index = index_of(spec)
    revised = index.revise(spec.previous)
    assert revised is not None
    target = {name: revised.get(name, spec.previous[name]) for name in spec.members}
    assert all(share != spec.previous[name] for name, share in revised.items())
    assert sorted(partition for share in target.values() for partition in share) == subscribed(spec)
    for name, share in target.items():
        assert {partition.topic_id for partition in share} <= spec.members[name].topics
    owner = {partition: name for name, claim in standing(spec).items() for partition in claim}
    assert worth(spec, target) == forced_minimum(spec, owner)


@given(specs(same=True))
def test_revised_target_of_equal_subscriptions_is_the_computed_one(spec: AssignmentSpec) -> None:
    """With one subscription both ways make the same choices."""
    revised = index_of(spec).revise(spec.previous)
    assert revised is not None
    assert {name: revised.get(name, spec.previous[name]) for name in spec.members} == UNIFORM.assign(spec)


@given(specs())
def test_order_of_members_does_not_matter_to_a_revision(spec: AssignmentSpec) -> None:
    """Equal questions, equal answers."""
    turned = replace(spec, members=dict(reversed(list(spec.members.items()))))
    assert index_of(turned).revise(spec.previous) == index_of(spec).revise(spec.previous)


@given(specs())
def test_uniform_mixed_subscriptions_leave_no_chain_that_narrows_a_gap(spec: AssignmentSpec) -> None:
    """From no member does a chain of single moves lead to one with two partitions less."""
    assert find_uneven(spec, UNIFORM.assign(spec)) == []


CHANGES = st.lists(
    st.one_of(
        st.tuples(st.just("join"), st.sampled_from(NAMES), st.frozensets(st.sampled_from(TOPICS))),
        st.tuples(st.just("leave"), st.sampled_from(NAMES), st.just(frozenset[TopicId]())),
        st.tuples(st.just("grow"), st.sampled_from(NAMES), st.frozensets(st.sampled_from(TOPICS), max_size=1)),
        st.tuples(st.just("revise"), st.sampled_from(NAMES), st.just(frozenset[TopicId]())),
    ),
    max_size=25,
)


@settings(max_examples=200, deadline=None)
@given(CHANGES)
def test_index_kept_over_many_changes_finds_what_must_move_and_no_more(
    changes: list[tuple[str, MemberId, frozenset[TopicId]]],
) -> None:
    """Wishes come, go and come back, topics appear and grow: each target is as good as one found from nothing."""
    kept = KeptIndex()
    for topic in TOPICS[:3]:
        kept.grow(topic, 3)
    for what, name, topics in [*changes, ("revise", NAMES[0], frozenset())]:
        if what == "join":
            kept.join(name, topics)
        elif what == "leave" and name in kept.spec.members:
            kept.leave(name)
        elif what == "grow":
            for topic in topics:
                kept.grow(topic, 2)
        elif what == "revise":
            target = kept.revise()
            owner = {partition: name for name, claim in standing(kept.spec).items() for partition in claim}
            assert sorted(partition for share in target.values() for partition in share) == subscribed(kept.spec)
            assert worth(kept.spec, target) == forced_minimum(kept.spec, owner)
            kept.spec = replace(kept.spec, previous=target)
            assert kept.index.snapshot() == index_of(kept.spec).snapshot()
