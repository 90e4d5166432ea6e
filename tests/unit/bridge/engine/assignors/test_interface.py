"""The contract of an assignor as a plug-in author sees it; it must not know how the built-in ones compute."""

from bridge.engine.assignors.interface import Assignment, AssignmentSpec, Assignor
from tests.support.assignments import shares, spec
from translators.dialects.ids import TopicIdPartition


class FirstTakesAll:
    """The smallest possible plug-in."""

    name: str = "first-takes-all"

    def assign(self, spec: AssignmentSpec) -> Assignment:
        first = min(spec.members)
        every = {
            TopicIdPartition(topic, number)
            for topic in spec.members[first].topics
            for number in range(spec.partition_counts[topic])
        }
        return {member_id: frozenset(every) if member_id == first else frozenset() for member_id in spec.members}


def test_plugin_class_is_an_assignor_without_inheriting() -> None:
    """K9.1: in goes a spec, out come all members, also those with nothing."""
    plugin: Assignor = FirstTakesAll()
    assert plugin.assign(spec({"a": 2}, {"m1": "a", "m2": "a"})) == shares({"m1": "a0 a1", "m2": ""})
