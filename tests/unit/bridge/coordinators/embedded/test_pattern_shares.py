"""A pattern counts once for whoever shares it."""

from functools import partial

from bridge.coordinators.embedded.pattern_shares import (
    NOTHING,
    Growth,
    HiddenKey,
    Holder,
    PatternShares,
    hidden_written,
    pattern_written,
)
from bridge.coordinators.embedded.weights import hidden_bytes, pattern_bytes
from bridge.engine.model import ResolvedPattern
from bridge.engine.settings import EngineSettings
from bridge.engine.state import Group, Shard
from tests.support.owned_group import GROUP, TOPIC
from translators.dialects.ids import GroupId, TopicName

ONE, OTHER_GROUP, OTHER_HOST = Holder(GROUP, "/a"), Holder(GroupId("other"), "/a"), Holder(GROUP, "/b")
SIZE = pattern_bytes("t.*", (TOPIC,))


def shares_of(*topics: TopicName) -> PatternShares[str]:
    """Those of a shard that knows one pattern."""
    shard = Shard(settings=EngineSettings(), assignors={})
    shard.patterns["t.*"] = ResolvedPattern(frozenset(topics), None)
    return PatternShares(partial(pattern_written, shard))


def test_pattern_counts_once_for_each_group_and_address_and_once_for_all() -> None:
    """The journal has what it matches once, however many members have it."""
    shares = shares_of(TOPIC)
    assert shares.growth("t.*", ONE) == Growth.of_all(SIZE)
    assert shares.begin("t.*", ONE) == Growth.of_all(SIZE)
    assert shares.begin("t.*", ONE) == shares.growth("t.*", ONE) == NOTHING
    assert shares.growth("t.*", OTHER_GROUP) == shares.begin("t.*", OTHER_GROUP) == Growth(SIZE, 0, 0)
    assert shares.growth("t.*", OTHER_HOST) == shares.begin("t.*", OTHER_HOST) == Growth(0, SIZE, 0)
    assert shares.end("t.*", ONE) == NOTHING
    assert shares.end("t.*", OTHER_HOST) == Growth(0, SIZE, 0)
    assert shares.end("t.*", ONE) == Growth(SIZE, 0, 0)
    assert shares.end("t.*", OTHER_GROUP) == Growth.of_all(SIZE)
    assert shares.growth("t.*", ONE) == Growth.of_all(SIZE)


def test_members_of_one_turn_share_what_is_reserved_for_the_first() -> None:
    """1,000 members that join at once with the same pattern were a thousand times too much."""
    shares = shares_of(TOPIC)
    shares.reserve("t.*", ONE)
    assert shares.growth("t.*", ONE) == NOTHING
    assert shares.growth("t.*", OTHER_GROUP) == Growth(SIZE, 0, 0)
    shares.reserve(None, ONE)
    shares.end_turn()
    assert shares.growth("t.*", ONE) == Growth.of_all(SIZE)
    assert shares.growth(None, ONE) == NOTHING


def test_pattern_that_is_only_told_of_has_the_size_it_was_told_with() -> None:
    """The engine learns it in the turn in which its member comes."""
    shares = shares_of()
    shares.told = {"new": 7}
    assert shares.growth("new", ONE) == Growth.of_all(7)
    assert shares.growth("unknown", ONE) == Growth.of_all(pattern_bytes("unknown", ()))


def test_pattern_that_matches_more_is_weighed_again_for_those_who_have_it() -> None:
    """What it is taken out with is what it was put in with."""
    shard = Shard(settings=EngineSettings(), assignors={})
    shares = PatternShares[str](partial(pattern_written, shard))
    shares.begin("t.*", ONE)
    shares.begin("t.*", OTHER_GROUP)
    shard.patterns["t.*"] = ResolvedPattern(frozenset({TOPIC}), None)
    more = SIZE - pattern_bytes("t.*", ())
    assert shares.weigh_again("t.*") == (more, (GROUP, OTHER_GROUP.group_id), ("/a",))
    assert shares.weigh_again("t.*") == (0, (GROUP, OTHER_GROUP.group_id), ("/a",))
    assert shares.weigh_again("nobody's") == (0, (), ())
    assert shares.end("t.*", ONE) == Growth(SIZE, 0, 0)
    assert shares.end("t.*", OTHER_GROUP) == Growth.of_all(SIZE)


def test_everything_may_be_counted_anew() -> None:
    """Members came or went in ways that nobody noted."""
    shares = shares_of(TOPIC)
    shares.begin("t.*", ONE)
    shares.clear()
    assert shares.begin("t.*", ONE) == Growth.of_all(SIZE)


def test_what_is_hidden_counts_for_its_group_alone_and_for_those_who_have_it_there() -> None:
    """It is written for each group; the size that it will be is looked at for those only who are new to it."""
    shard, key = Shard(settings=EngineSettings(), assignors={}), HiddenKey(GROUP, "t.*")
    shares = PatternShares[HiddenKey](partial(hidden_written, shard))
    assert shares.growth(key, ONE, lambda: 9) == Growth.of_all(9)
    assert shares.begin(key, ONE) == NOTHING
    shard.groups[GROUP] = Group(group_id=GROUP, epoch=1, assignment_epoch=1)
    assert shares.weigh_again(key) == (0, (GROUP,), ("/a",))
    shard.groups[GROUP].hidden = {"t.*": frozenset({TOPIC})}
    size_bytes = hidden_bytes(GROUP, "t.*", (TOPIC,))
    assert shares.weigh_again(key) == (size_bytes, (GROUP,), ("/a",))
    assert shares.growth(key, OTHER_HOST, lambda: 9) == Growth(0, 9, 0)
    assert shares.growth(key, ONE, lambda: 1 // 0) == NOTHING
    assert shares.begin(key, OTHER_HOST) == Growth(0, size_bytes, 0)
    assert shares.end(key, ONE) == Growth(0, size_bytes, 0)
    assert shares.end(key, OTHER_HOST) == Growth.of_all(size_bytes)
