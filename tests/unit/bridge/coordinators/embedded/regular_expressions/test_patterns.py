"""Patterns that are kept up to date."""

from bridge.coordinators.catalog import Catalog
from bridge.coordinators.embedded.regular_expressions import Patterns
from tests.support.owned_group import TOPIC
from translators.dialects.ids import Topic, TopicId, TopicName


def test_new_pattern_is_resolved_once_and_all_again_when_topics_change() -> None:
    """Nothing to tell where the engine knows."""
    catalog = Catalog()
    catalog.update([Topic(TopicId(b"t" * 16), TOPIC, 1)])
    patterns = Patterns(catalog, lambda _: True)
    assert [found.topics for found in patterns.resolve_new("t.*")] == [{TOPIC}]
    assert patterns.resolve_new("t.*") == patterns.resolve_new("") == patterns.resolve_new(None) == []
    later = TopicName("t2")
    catalog.update([Topic(TopicId(b"t" * 16), TOPIC, 1), Topic(TopicId(b"u" * 16), later, 1)])
    assert [found.topics for found in patterns.resolve_again()] == [{TOPIC, later}]


def test_pattern_beyond_the_limit_is_unreadable_unless_another_is_unused() -> None:
    """Clients can't fill the memory with patterns."""
    used = {"a"}
    patterns = Patterns(Catalog(), lambda pattern: pattern in used, patterns_max=1)
    assert patterns.resolve_new("a")[0].error is None
    assert patterns.resolve_new("b")[0].error is not None
    used.clear()
    assert patterns.resolve_new("b")[0].error is None
    assert [found.pattern for found in patterns.resolve_again()] == ["b"]
