"""Tests of what admins see of a group."""

from dataclasses import replace

from bridge.engine.commands import Speaks
from bridge.engine.describe import (
    describe_classic_view,
    describe_consumer_group,
    filter_of,
    group_snapshot,
    list_groups,
)
from tests.support.classic_bench import ClassicBench
from tests.support.engine_bench import FOO, GROUP, Bench, join_request, parts, topic_id
from tests.support.sketches import whole, whole_consumers
from translators.dialects.admin import DescribedGroup, DescribedMember, ListedGroup, ListGroups
from translators.dialects.consumer import DescribedConsumerMember, DescribedTopicPartitions
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import GroupId, TopicName, TopicPartition


class PlainEncoder:
    """Writes blobs as readable text."""

    def subscription(self, topics: tuple[TopicName, ...], owned: tuple[TopicPartition, ...]) -> bytes:
        """Topics and how many partitions are owned."""
        return f"{','.join(topics)}:{len(owned)}".encode()

    def assignment(self, partitions: tuple[TopicPartition, ...]) -> bytes:
        """Partition numbers."""
        return ",".join(str(partition.partition) for partition in partitions).encode()


def mixed_group() -> Bench:
    """A native member a with foo and a translated member b that waits for its part."""
    bench = Bench()
    bench.join("a")
    bench.ask(join_request("b"), Speaks.CLASSIC)
    return bench


def foo(*numbers: int) -> tuple[DescribedTopicPartitions, ...]:
    """Partitions of foo as described."""
    return (DescribedTopicPartitions(topic_id=topic_id("foo"), topic_name=FOO, partitions=numbers),)


def test_consumer_group_is_described_with_both_kinds_of_members() -> None:
    """Each with what it has and what it is to have (K6.5), from version 1 on with its kind (11.4 on K0.4)."""
    bench = mixed_group()
    described = whole_consumers(describe_consumer_group(bench.state, GROUP))
    target = tuple(sorted(partition.partition for partition in bench.target("b")))
    newcomer = DescribedConsumerMember(
        member_id=bench.member("b").subscription.member_id,
        instance_id=None,
        rack_id=None,
        member_epoch=3,
        client_id="client",
        client_host="/127.0.0.1",
        subscribed_topic_names=(FOO,),
        subscribed_topic_regex="",
        assignment=(),
        target_assignment=foo(*target),
        member_type=0,
    )
    assert described.members[1] == newcomer
    assert (described.members[0].assignment, described.members[0].member_type) == (foo(*range(6)), 1)
    assert (described.group_state, described.group_epoch, described.assignment_epoch) == ("Reconciling", 3, 3)
    assert described.assignor_name == "uniform"


def test_member_that_has_yet_to_give_up_is_shown_with_all_it_holds() -> None:
    """Until it says that it has let go, nobody else has them (K6.5, as seen on Kafka 4.3.1)."""
    bench = mixed_group()
    bench.beat("a")
    seen = group_snapshot(bench.state, GROUP)
    assert seen is not None
    assert len(seen.members[0].pending_revocation) == 3
    assert whole_consumers(describe_consumer_group(bench.state, GROUP)).members[0].assignment == foo(*range(6))
    assert sorted(whole(describe_classic_view(bench.state, GROUP, PlainEncoder())).members[0].assignment) == sorted(
        b"0,1,2,3,4,5"
    )


def test_unknown_or_nameless_group_is_refused() -> None:
    """GROUP_ID_NOT_FOUND for one that is not there, INVALID_GROUP_ID for no name (K6.5)."""
    state = Bench().state
    codes = [whole_consumers(describe_consumer_group(state, GroupId(name))).error for name in ("none", "")]
    assert codes == [ErrorCode.GROUP_ID_NOT_FOUND, ErrorCode.INVALID_GROUP_ID]


def test_classic_view_shows_a_reconciling_group_as_completing() -> None:
    """Classic states, assignments as envelopes (decision 22)."""
    bench = mixed_group()
    view = whole(describe_classic_view(bench.state, GROUP, PlainEncoder()))
    first = DescribedMember(
        member_id=bench.member("a").subscription.member_id,
        instance_id=None,
        client_id="client",
        client_host="/127.0.0.1",
        metadata=b"foo:6",
        assignment=b"0,1,2,3,4,5",
    )
    assert (view.group_state, view.protocol_type, view.members[0]) == ("CompletingRebalance", "consumer", first)
    assert (view.members[1].metadata, view.members[1].assignment) == (b"foo:0", b"")


def test_classic_view_of_unknown_group_is_dead() -> None:
    """In DescribeGroups that is no error (K6.1)."""
    view = whole(describe_classic_view(Bench().state, GROUP, PlainEncoder()))
    assert view == DescribedGroup(error=ErrorCode.NONE, group_id=GROUP, group_state="Dead")


def test_list_filters_know_no_case_and_states_no_blanks() -> None:
    """Unknown values match nothing (K6.4); blanks around a state are cut (K11.4, row 6), around a type they are not."""
    bench = mixed_group()
    listed = ListedGroup(group_id=GROUP, protocol_type="consumer", group_state="Reconciling", group_type="consumer")
    asked = [
        ListGroups(),
        ListGroups(states=(" reconciling",), types=("CONSUMER",)),
        ListGroups(states=("Stable",)),
        ListGroups(types=("classic",)),
        ListGroups(types=("consumer ",)),
        ListGroups(states=("nonsense",)),
    ]
    assert [tuple(filter(filter_of(request), list_groups(bench.state))) for request in asked] == [
        (listed,),
        (listed,),
        (),
        (),
        (),
        (),
    ]


def test_snapshot_shows_members_with_target_and_what_they_hold() -> None:
    """Our own API sees also what Kafka's doesn't: pending revocations and previous epochs."""
    bench = mixed_group()
    bench.beat("a")
    seen = group_snapshot(bench.state, GROUP)
    assert seen is not None
    first, second = seen.members
    assert (first.current | first.pending_revocation, first.pending_revocation) == (parts(*range(6)), second.target)
    assert (first.speaks, second.speaks, second.topics) == (Speaks.CONSUMER, Speaks.CLASSIC, (FOO,))
    assert group_snapshot(bench.state, GroupId("other")) is None


def test_deleted_topic_is_left_out_of_the_description() -> None:
    """Topics that are gone have no name to show (K6.5)."""
    bench = mixed_group()
    wish = replace(join_request("a", "foo"), subscribed_topic_names=(FOO,))
    bench.ask(wish)
    del bench.state.topics[topic_id("foo")]
    assert whole_consumers(describe_consumer_group(bench.state, GROUP)).members[0].assignment == ()


def test_classic_group_listed_by_its_own_type_and_state() -> None:
    """Filters on type and state apply to both kinds (K6.4)."""
    classic = ClassicBench()
    classic.form("A")
    state = classic.bench.state
    listed = ListedGroup(group_id=GROUP, protocol_type="consumer", group_state="Stable", group_type="classic")
    filters = [ListGroups(), ListGroups(types=("Classic",), states=(" stable",)), ListGroups(types=("consumer",))]
    assert [tuple(filter(filter_of(one), list_groups(state))) for one in filters] == [(listed,), (listed,), ()]
    assert whole_consumers(describe_consumer_group(state, GROUP)).error is ErrorCode.GROUP_ID_NOT_FOUND


def test_refused_description_says_which_it_is() -> None:
    """A tool shows the text to whoever asked."""
    translated = Bench()
    translated.tell(translated.command(join_request("a"), Speaks.CLASSIC))
    told = [
        whole_consumers(describe_consumer_group(bench.state, GROUP)).error_message for bench in (Bench(), translated)
    ]
    assert told == ["Group orders not found.", "Group orders is not a consumer group."]
