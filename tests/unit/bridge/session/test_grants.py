"""How long what a broker said of a right counts, and who sees that it is lost."""

from collections import Counter
from random import Random

import pytest

from bridge.session.grants import Grants, Holder
from translators.dialects.ids import GroupId, TopicName

KEEP_MS = 1_000
ALICE = Holder("alice", GroupId("orders"))
BOB = Holder("bob", GroupId("orders"))
ORDERS, PAYMENTS = TopicName("orders"), TopicName("payments")
NONE = frozenset[TopicName]()


def test_grant_counts_until_it_is_void() -> None:
    """Due is not void: whoever uses it goes on while it is asked for again, but not for ever."""
    grants = Grants(KEEP_MS)
    grant = grants.give(ALICE, NONE, 0)
    assert grants.find(ALICE, 2 * KEEP_MS - 1) is grant
    assert grants.find(ALICE, 2 * KEEP_MS) is None
    assert grants.find(BOB, 0) is None


def test_grant_that_is_due_is_no_longer_fresh_until_it_is_given_again() -> None:
    """The short way of heartbeats looks at nothing else."""
    grants = Grants(KEEP_MS)
    grant = grants.give(ALICE, NONE, 0)
    seen = list[bool]()
    for now_ms in (KEEP_MS - 1, KEEP_MS):
        grants.sweep(now_ms)
        seen.append(grant.is_fresh)
    assert grants.give(ALICE, NONE, KEEP_MS) is grant
    assert [*seen, grant.is_fresh] == [True, False, True]


def test_grant_that_is_asked_for_is_fresh_until_the_next_look() -> None:
    """Only who asks takes the long way, once a look; near its end all do, for that comes between two looks."""
    grants = Grants(KEEP_MS)
    grant = grants.give(ALICE, NONE, 0)
    seen = list[bool]()
    for now_ms in (KEEP_MS, KEEP_MS * 5 // 4, KEEP_MS * 3 // 2):
        grants.sweep(now_ms)
        seen.append(grant.is_fresh)
        grant.go_on(now_ms)
        seen.append(grant.is_fresh)
    assert seen == [False, True, False, True, False, False]


def test_grant_that_nobody_asks_for_again_is_forgotten() -> None:
    """Connections come and go."""
    grants = Grants(KEEP_MS)
    grants.give(ALICE, NONE, 0)
    grants.give(BOB, NONE, KEEP_MS)
    grants.sweep(2 * KEEP_MS)
    assert len(grants) == 1
    assert grants.find(BOB, 2 * KEEP_MS) is not None


def test_grant_is_kept_as_long_as_there_is_nobody_to_ask() -> None:
    """It counts no more, but what was seen by it is known."""
    topics = frozenset({TopicName("t")})
    grants = Grants(KEEP_MS)
    grants.give(ALICE, topics, 0)
    grants.sweep(2 * KEEP_MS, forgets=False)
    assert (grants.find(ALICE, 2 * KEEP_MS), grants.seen(ALICE), grants.seen(BOB)) == (None, topics, NONE)
    grants.sweep(2 * KEEP_MS)
    assert grants.seen(ALICE) == NONE


def test_lost_grant_is_seen_by_whoever_holds_on_to_it() -> None:
    """And never comes back: a new one is another."""
    grants = Grants(KEEP_MS)
    lost = grants.give(ALICE, NONE, 0)
    grants.take(ALICE)
    assert (lost.is_fresh, grants.find(ALICE, 0)) == (False, None)
    assert grants.give(ALICE, NONE, 0) is not lost
    grants.take(BOB)
    assert len(grants) == 1


def test_more_topics_go_on_and_fewer_do_not() -> None:
    """Who lost a topic has to look again, whichever of those it is that share the grant."""
    grants = Grants(KEEP_MS)
    grant = grants.give(ALICE, frozenset({ORDERS}), 0)
    assert grants.give(ALICE, frozenset({ORDERS, PAYMENTS}), 1) is grant
    assert grant.topics == {ORDERS, PAYMENTS}
    fewer = grants.give(ALICE, frozenset({PAYMENTS}), 2)
    assert (grant.is_fresh, fewer.is_fresh, sorted(fewer.topics)) == (False, True, [PAYMENTS])


def test_oldest_go_first_beyond_the_limit() -> None:
    """A bounded cache: what is dropped is asked for again."""
    grants = Grants(KEEP_MS, most=2)
    first = grants.give(Holder(1, GroupId("g")), NONE, 0)
    grants.give(Holder(2, GroupId("g")), NONE, 1)
    grants.give(Holder(3, GroupId("g")), NONE, 2)
    assert (len(grants), first.is_fresh) == (2, False)
    assert grants.find(Holder(1, GroupId("g")), 3) is None


def test_who_is_in_very_many_groups_pushes_out_nobody() -> None:
    """Neither by what comes first nor by what comes last; of its own the ones go that were asked for longest ago."""
    grants = Grants(KEEP_MS, most=10)
    few = [Holder(f"somebody-{number}", GroupId("orders")) for number in range(4)]
    many = [Holder("greedy", GroupId(f"group-{number}")) for number in range(100)]
    for now_ms, holder in enumerate((*few[:2], *many[:50], *few[2:], *many[50:])):
        grants.give(holder, NONE, now_ms)
    assert len(grants) == 10
    assert [grants.find(holder, 200) is not None for holder in few] == [True] * 4
    assert [holder for holder in many if grants.find(holder, 200) is not None] == many[-6:]


@pytest.mark.parametrize("seed", range(8))
def test_what_goes_is_always_of_somebody_with_the_most(seed: int) -> None:
    """Against a count that is made anew each time; and whoever falls due first of those goes first."""
    chance, most = Random(seed), 12
    grants, known = Grants(KEEP_MS, most), dict[Holder, None]()
    for now_ms in range(600):
        holder = Holder(chance.randint(1, 6), GroupId(f"group-{chance.randint(1, 1 + chance.randint(1, 9))}"))
        if chance.random() < 0.2:
            grants.take(holder)
            known.pop(holder, None)
            continue
        known.pop(holder, None)
        counts = Counter(one.principal for one in known)
        full = len(known) == most
        grants.give(holder, NONE, now_ms)
        gone = [one for one in known if grants.find(one, now_ms) is None]
        assert len(gone) == full
        for one in gone:
            assert counts[one.principal] == max(counts.values())
            assert one == next(each for each in known if each.principal == one.principal)
            del known[one]
        known[holder] = None
        assert len(grants) == len(known)
