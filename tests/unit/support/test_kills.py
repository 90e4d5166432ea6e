"""What the kills are judged by: callbacks while nobody comes or goes, and commits that go back."""

import random

from tests.kills.cluster import DEAD_AFTER_MS
from tests.kills.trial import DEAD_S, KINDS, Plan, commits_back, diaries_back, rebalances_between
from tests.support import casts
from tests.support.fleet import assigned, committed, log, partition, revoked

SECOND_NS = 1_000_000_000


def test_plan_has_as_many_deaths_as_it_says_in_the_order_of_its_seed() -> None:
    """The fleet has classic members of four libraries, eager and cooperative, and KIP-848 members of two."""
    deaths = Plan(bridge=30, brokers=10, seed="848").deaths(random.Random("848"))
    assert (deaths.count("bridge"), deaths.count("broker")) == (30, 10)
    assert deaths == Plan(bridge=30, brokers=10, seed="848").deaths(random.Random("848"))
    assert deaths != Plan(bridge=30, brokers=10, seed="849").deaths(random.Random("849"))
    assert len(KINDS) == 14
    assert {casts.KINDS[kind].library for kind in KINDS} == {kind.library for kind in casts.KINDS.values()} - {
        casts.Library.KAFKAJS
    }


def test_brokers_are_dead_for_longer_and_shorter_than_the_controller_waits() -> None:
    """Else no coordinator moves, or each does before its broker is back."""
    assert DEAD_S[0] < DEAD_AFTER_MS / 1000 < DEAD_S[1]


def test_every_callback_between_is_named() -> None:
    """The first assignment and the last revocation belong to coming and going."""
    member = log("m1", assigned(100, 0), revoked(5_000, 0), assigned(6_000, 0), revoked(90_000, 0))
    assert rebalances_between([member], 1 * SECOND_NS, 60 * SECOND_NS) == [
        "m1#1: Revoked of 1 after 4.0 s",
        "m1#1: Assigned of 1 after 5.0 s",
    ]


def test_commit_goes_back_at_the_broker_when_a_later_look_finds_less_or_none() -> None:
    """A partition that had no commit before may have one."""
    first, second = partition(0), partition(1)
    assert commits_back([{first: 5}, {first: 5, second: 1}, {first: 6, second: 2}]) == []
    assert commits_back([{first: 5, second: 9}, {first: 4}]) == [
        "orders-0 at the broker: 5 -> 4",
        "orders-1 at the broker: 9 -> None",
    ]


def test_commit_goes_back_in_the_diaries_whoever_wrote_them() -> None:
    """By the time of the acknowledgement, over all members."""
    before = log("m1", committed(100, [(0, 7)]), committed(300, [(0, 9)]))
    after = log("m2", committed(200, [(0, 8)]), committed(400, [(0, 8), (1, 1)]), number=2)
    assert diaries_back([after, before]) == ["orders-0 by m2#2: 9 -> 8"]
