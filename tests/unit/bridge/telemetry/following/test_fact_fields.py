"""Facts of one kind share their words."""

from bridge.telemetry.following.fact_fields import group_fields, input_fields, introduced, member_fields
from bridge.telemetry.following.joins import Inputs
from bridge.telemetry.following.tracks import GroupTrack, MemberTrack
from bridge.telemetry.schema.terms import Protocol, Road
from tests.support.passing_words import named
from translators.dialects.ids import GroupId, MemberId


def _group() -> GroupTrack:
    return GroupTrack(group_id=GroupId("g"), road=Road.EMBEDDED, epoch=4)


def _member() -> MemberTrack:
    return MemberTrack(
        member_id=MemberId("a"), protocol=Protocol.CONSUMER, member_epoch=3, inputs=Inputs(topics=("t",))
    )


def test_words_say_group_member_and_rebalance() -> None:
    """A phase that began before keeps the id it began under."""
    group, member = _group(), _member()
    assert member_fields(group, member, "r1")["rebalance_id"] == "r1"
    assert {**group_fields(group)}.items() <= {**member_fields(group, member)}.items()
    assert input_fields(Inputs(owned=named(1)))["owned"] == ("t-1",)


def test_member_is_introduced_while_it_is_there() -> None:
    """Somebody nobody knows is not."""
    group, member = _group(), _member()
    group.members[member.member_id] = member
    told = introduced(group, "a")
    assert told is not None
    assert (told.member_id, told.topics, introduced(group, "b")) == ("a", ("t",), None)
