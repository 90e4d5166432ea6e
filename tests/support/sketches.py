"""Groups as `bridge.engine.describe` gives them, whole."""

from dataclasses import replace

from bridge.engine.describe import ClassicSketch, ConsumerSketch
from translators.dialects.admin import DescribedGroup
from translators.dialects.consumer import DescribedConsumerGroup


def whole(sketch: ClassicSketch) -> DescribedGroup:
    """A classic group, or the classic view of another, with all of its members at once."""
    group, members = sketch
    return replace(group, members=tuple(members))


def whole_consumers(sketch: ConsumerSketch) -> DescribedConsumerGroup:
    """The same of a consumer group."""
    group, members = sketch
    return replace(group, members=tuple(members))
