"""Who pays for a group that nobody is in."""

import pytest

from bridge.coordinators.embedded import founders as founders_room
from bridge.coordinators.embedded.founders import FOUNDER, Charge, Founders
from bridge.coordinators.embedded.pattern_shares import NOTHING, Growth, Holder
from bridge.coordinators.embedded.weights import group_bytes
from bridge.engine.apply import apply
from bridge.engine.assignors.registry import registry
from bridge.engine.records import ClassicGroupCreated, GroupCreated, GroupDeleted
from bridge.engine.settings import EngineSettings
from bridge.engine.state import Shard
from tests.support.owned_group import GROUP
from translators.dialects.ids import GroupId

ONE, TWO = Holder(GROUP, "/10.0.0.1"), Holder(GROUP, "/10.0.0.2")
SIZE = group_bytes(GROUP)


def made(founders: Founders, shard: Shard, *holders: Holder) -> None:
    """They ask in this order for a group that begins in their turn."""
    for holder in holders:
        founders.reserve(holder)
    founders.end_turn()
    apply(shard, ClassicGroupCreated(GROUP))
    founders.note(GROUP)


def shard_of_nobody() -> Shard:
    """No group yet."""
    return Shard(settings=EngineSettings(), assignors=registry)


def test_first_one_let_in_pays_until_the_group_is_gone() -> None:
    """Whoever joins later has nothing to do with it, nor has a change of its type."""
    shard = shard_of_nobody()
    founders = Founders(shard)
    assert founders.growth(GROUP) == Growth.of_all(SIZE)
    made(founders, shard, ONE, TWO)
    assert founders.growth(GROUP) == NOTHING
    assert list(founders.weigh_again(GROUP, TWO.host)) == [Charge(GROUP, ONE.host, SIZE)]
    apply(shard, GroupDeleted(GROUP))
    apply(shard, GroupCreated(GROUP, 0))
    founders.note(GROUP)
    assert list(founders.weigh_again(GROUP, TWO.host)) == []
    assert founders.charged.get(GROUP) == ONE.host
    apply(shard, GroupDeleted(GROUP))
    assert list(founders.weigh_again(GROUP, None)) == [Charge(GROUP, ONE.host, -SIZE)]
    assert founders.growth(GROUP) == Growth.of_all(SIZE)


def test_what_is_reserved_is_asked_for_once() -> None:
    """A second join of the same turn adds no group; if none came of it the next one does."""
    founders = Founders(shard_of_nobody())
    founders.reserve(ONE)
    assert founders.growth(GROUP) == NOTHING
    founders.end_turn()
    assert founders.growth(GROUP) == Growth.of_all(SIZE)


def test_unknown_founder_is_the_first_member_or_nobody() -> None:
    """After a restart; who comes first then takes it over."""
    shard = shard_of_nobody()
    apply(shard, ClassicGroupCreated(GROUP))
    founders = Founders(shard)
    assert list(founders.groups()) == [GROUP]
    assert list(founders.weigh_again(GROUP, None)) == [Charge(GROUP, None, SIZE)]
    assert list(founders.weigh_again(GROUP, TWO.host)) == [
        Charge(GROUP, None, -SIZE),
        Charge(GROUP, TWO.host, SIZE),
    ]
    founders.clear()
    assert list(founders.weigh_again(GROUP, ONE.host)) == [Charge(GROUP, TWO.host, SIZE)]


def test_group_that_was_nobodys_weighs_nothing_when_it_is_gone() -> None:
    """It counted for all together until then."""
    shard = shard_of_nobody()
    apply(shard, ClassicGroupCreated(GROUP))
    founders = Founders(shard)
    assert list(founders.weigh_again(GROUP, None)) == [Charge(GROUP, None, SIZE)]
    apply(shard, GroupDeleted(GROUP))
    assert list(founders.weigh_again(GROUP, None)) == [Charge(GROUP, None, -SIZE)]


def test_other_address_that_makes_it_anew_pays_for_it() -> None:
    """Also where it was not looked at in between."""
    shard = shard_of_nobody()
    founders = Founders(shard)
    made(founders, shard, ONE)
    assert list(founders.weigh_again(GROUP, None)) == [Charge(GROUP, ONE.host, SIZE)]
    apply(shard, GroupDeleted(GROUP))
    made(founders, shard, TWO)
    assert list(founders.weigh_again(GROUP, None)) == [Charge(GROUP, ONE.host, -SIZE), Charge(GROUP, TWO.host, SIZE)]


def test_who_began_a_group_that_nobody_is_in_outlives_a_restart() -> None:
    """By an address and what tells its groups from others; of an inhabited one its first member tells."""
    shard = shard_of_nobody()
    founders = Founders(shard)
    made(founders, shard, ONE)
    list(founders.weigh_again(GROUP, None))
    told = founders.told(lambda _: False)
    assert [(name, len(text)) for name, text in told.items()] == [(FOUNDER + ONE.host, 12)]
    assert founders.told(lambda _: True) == {}
    revived = Founders(shard)
    revived.recall(told)
    assert list(revived.weigh_again(GROUP, TWO.host)) == [Charge(GROUP, ONE.host, SIZE)]
    assert revived.told(lambda _: False) == told
    apply(shard, GroupDeleted(GROUP))
    assert revived.told(lambda _: False) == {}
    list(revived.weigh_again(GROUP, None))
    apply(shard, ClassicGroupCreated(GROUP))
    assert list(revived.weigh_again(GROUP, None)) == [Charge(GROUP, None, SIZE)]


def test_of_so_many_groups_it_is_kept_who_began_them(monkeypatch: pytest.MonkeyPatch) -> None:
    """Else whoever begins many would have all of it written every minute."""
    monkeypatch.setattr(founders_room, "TOLD_MAX", 3)
    shard = shard_of_nobody()
    founders = Founders(shard)
    for number in range(5):
        group_id = GroupId(f"g{number}")
        founders.reserve(Holder(group_id, ONE.host))
        founders.end_turn()
        apply(shard, ClassicGroupCreated(group_id))
        founders.note(group_id)
    assert list(map(len, founders.told(lambda _: False).values())) == [36]
