"""A pattern counts once for whoever shares it."""

from bridge.coordinators.embedded.pattern_shares import NOTHING, Growth, Holder, PatternShares
from bridge.coordinators.embedded.weights import pattern_bytes
from bridge.engine.model import ResolvedPattern
from bridge.engine.settings import EngineSettings
from bridge.engine.state import Shard
from tests.support.owned_group import GROUP, TOPIC
from translators.dialects.ids import GroupId, TopicName

ONE, OTHER_GROUP, OTHER_HOST = Holder(GROUP, "/a"), Holder(GroupId("other"), "/a"), Holder(GROUP, "/b")
SIZE = pattern_bytes("t.*", (TOPIC,))


def shares_of(*topics: TopicName) -> PatternShares:
    """Those of a shard that knows one pattern."""
    shard = Shard(settings=EngineSettings(), assignors={})
    shard.patterns["t.*"] = ResolvedPattern(frozenset(topics), None)
    return PatternShares(shard)


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
    shares = PatternShares(shard)
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
