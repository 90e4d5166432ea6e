"""Every reason why a group can't change its type is told from every other.

What members of a classic group may be using is read from their own bytes (decisions 6 and 7).
"""

from dataclasses import replace

import pytest

from bridge.engine.commands import GroupType, ResolveRegularExpression
from bridge.engine.convert.readiness import (
    Holding,
    Unreadable,
    find_departure_fault,
    find_policy_fault,
    find_seats_fault,
    find_upgrade_fault,
    read_holdings,
    read_words,
    translatable_offer,
)
from bridge.engine.outcome import ConversionFailed, MemberAnswer, Unready
from bridge.engine.settings import EngineSettings
from bridge.engine.state import ClassicGroup
from tests.support.classic_bench import offer
from tests.support.converted_group import COOPERATIVE, ConversionBench, consumer_join, named, says
from tests.support.engine_bench import GROUP, join_request
from translators.dialects.classic import JoinGroup, Protocol
from translators.dialects.configs import MigrationPolicy
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import GroupId

AT_ONCE = EngineSettings(group_initial_rebalance_delay_ms=0)


def formed(request: JoinGroup, settings: EngineSettings | None = None) -> ConversionBench:
    """A group of one member that joined with this."""
    bench = ConversionBench(settings or AT_ONCE)
    bench.join(request)
    return bench


def unreadable_assignment() -> ConversionBench:
    """A group of one whose leader, itself, made an assignment that nobody can read."""
    bench = ConversionBench()
    (leader,) = bench.join_all(None)
    bench.sync(leader, assigns={leader: b"\x00"})
    return bench


@pytest.mark.parametrize(
    ("request_", "reason"),
    [
        (replace(consumer_join(), protocol_type="connect"), Unready.FOREIGN_PROTOCOL_TYPE),
        (replace(consumer_join(), protocols=offer("own")), Unready.CUSTOM_ASSIGNOR),
        (replace(consumer_join(), protocols=(Protocol("range", b"\x00"),)), Unready.MALFORMED_SUBSCRIPTION),
    ],
)
def test_member_that_cannot_be_translated_keeps_its_group_classic(request_: JoinGroup, reason: Unready) -> None:
    """The reason is a value; a KIP-848 joiner hears that there is no such consumer group, as from Kafka (K3.13)."""
    bench = formed(request_)
    fault = find_upgrade_fault(bench.bench.state, GROUP)
    assert fault is not None
    assert fault.reason is reason
    assert bench.native_join("new") is ErrorCode.GROUP_ID_NOT_FOUND
    (notice,) = bench.notices
    assert isinstance(notice, ConversionFailed)
    assert notice.refusal.reason is reason
    assert GROUP in bench.bench.state.classic_groups


def test_chosen_custom_assignor_counts_though_a_known_one_is_offered_too() -> None:
    """What its leader hands out only it can read."""
    bench = formed(replace(consumer_join(), protocols=(*offer("own"), *says("range"))))
    fault = find_upgrade_fault(bench.bench.state, GROUP)
    assert fault is not None
    assert fault.reason is Unready.CUSTOM_ASSIGNOR


def test_unreadable_assignment_names_whose_it_is() -> None:
    """A leader may hand out anything; who looks for it needs the client."""
    bench = unreadable_assignment()
    (leader,) = bench.group.members
    refused = bench.refused()
    assert refused.reason is Unready.MALFORMED_ASSIGNMENT
    assert refused.text.startswith(f"the assignment of member {leader} (client id 'client', /127.0.0.1)")


@pytest.mark.parametrize(
    ("bench", "why"),
    [
        (
            formed(replace(consumer_join(), protocol_type="connect")),
            "the group does not use the consumer embedded protocol",
        ),
        (formed(replace(consumer_join(), protocols=offer("own"))), "an unsupported custom assignor is in use"),
        (
            formed(replace(consumer_join(), protocols=(*offer("own"), *says("range")))),
            "an unsupported custom assignor is in use",
        ),
        (
            formed(replace(consumer_join(), protocols=(Protocol("range", b"\x00"),))),
            "the embedded consumer protocol is malformed",
        ),
        (unreadable_assignment(), "the embedded consumer protocol is malformed"),
        (
            formed(consumer_join(), replace(AT_ONCE, group_consumer_migration_policy=MigrationPolicy.DISABLED)),
            "online upgrade is disabled",
        ),
    ],
)
def test_joiner_hears_why_its_group_stays_classic_and_nothing_of_its_members(bench: ConversionBench, why: str) -> None:
    """In Kafka's words; ids, addresses and what a client wrote are in the log (K3.5, K3.13)."""
    outcome = bench.tell(bench.bench.command(join_request("new")))
    answer = outcome.replies[0][1]
    assert isinstance(answer, MemberAnswer)
    told = f"Cannot upgrade classic group {GROUP} to consumer group because {why}."
    assert (answer.reply.error, answer.reply.error_message) == (ErrorCode.GROUP_ID_NOT_FOUND, told)


def test_group_that_would_be_too_large_stays() -> None:
    """The joiner counts; one that takes a static seat does not."""
    bench = formed(
        consumer_join("", "seat"), EngineSettings(group_initial_rebalance_delay_ms=0, group_consumer_max_size=1)
    )
    assert find_upgrade_fault(bench.bench.state, GROUP) is None
    fault = find_upgrade_fault(bench.bench.state, GROUP, 1)
    assert fault is not None
    assert fault.reason is Unready.TOO_LARGE


def test_joiner_that_would_be_refused_converts_nothing() -> None:
    """Whatever would refuse it is looked at before anything is answered or converted (K12.1)."""
    bench = formed(consumer_join())
    assert find_upgrade_fault(bench.bench.state, GROUP) is None
    full = formed(consumer_join(), EngineSettings(group_initial_rebalance_delay_ms=0, group_consumer_max_size=1))
    assert full.native_join("new") is ErrorCode.GROUP_MAX_SIZE_REACHED
    assert GROUP in full.bench.state.classic_groups


@pytest.mark.parametrize(
    ("most", "code", "why"),
    [
        (1, ErrorCode.GROUP_ID_NOT_FOUND, "because the group size exceeds the consumer group maximum size."),
        (2, ErrorCode.GROUP_MAX_SIZE_REACHED, "The consumer group has reached its maximum capacity of 2 members."),
    ],
)
def test_joiner_hears_whether_the_group_is_too_large_or_only_full(most: int, code: ErrorCode, why: str) -> None:
    """Kafka can't convert what is too large by itself, and finds what it converted full (4.3.1, K3.16)."""
    bench = ConversionBench(EngineSettings(group_consumer_max_size=most))
    bench.settle(None, None)
    outcome = bench.tell(bench.bench.command(join_request("new")))
    answer = outcome.replies[0][1]
    assert isinstance(answer, MemberAnswer)
    assert answer.reply.error is code
    assert (answer.reply.error_message or "").endswith(why)
    assert len(bench.bench.state.classic_groups[GROUP].members) == 2


def test_joiner_of_a_group_that_is_too_large_hears_that_before_why_else_it_stays_classic() -> None:
    """In Kafka's order (4.3.1, K3.5)."""
    bench = ConversionBench(EngineSettings(group_consumer_max_size=1))
    bench.settle(None, None, name="own")
    fault = find_upgrade_fault(bench.bench.state, GROUP, 1)
    assert fault is not None
    assert fault.reason is Unready.TOO_LARGE


@pytest.mark.parametrize(
    ("size", "policy", "code"),
    [
        (9, MigrationPolicy.BIDIRECTIONAL, ErrorCode.INVALID_REGULAR_EXPRESSION),
        (1, MigrationPolicy.BIDIRECTIONAL, ErrorCode.GROUP_MAX_SIZE_REACHED),
        (9, MigrationPolicy.DISABLED, ErrorCode.GROUP_ID_NOT_FOUND),
    ],
)
def test_pattern_that_can_not_be_read_is_no_matter_where_the_group_stays_classic(
    size: int, policy: MigrationPolicy, code: ErrorCode
) -> None:
    """Kafka 4.3.1 looks at it last of all; nothing is converted for it either (K12.1)."""
    bench = formed(
        consumer_join(),
        EngineSettings(
            group_initial_rebalance_delay_ms=0, group_consumer_max_size=size, group_consumer_migration_policy=policy
        ),
    )
    bench.tell(ResolveRegularExpression("(", frozenset(), "missing )"))
    bad = replace(join_request("new"), subscribed_topic_names=None, subscribed_topic_regex="(")
    assert bench.native_join("new", bad) is code
    assert GROUP in bench.bench.state.classic_groups


@pytest.mark.parametrize(
    ("policy", "refused"),
    [
        (MigrationPolicy.BIDIRECTIONAL, []),
        (MigrationPolicy.UPGRADE, [GroupType.CLASSIC]),
        (MigrationPolicy.DOWNGRADE, [GroupType.CONSUMER]),
        (MigrationPolicy.DISABLED, [GroupType.CLASSIC, GroupType.CONSUMER]),
    ],
)
def test_policy_names_the_ways_that_are_open(policy: MigrationPolicy, refused: list[GroupType]) -> None:
    """group.consumer.migration.policy, as in Kafka."""
    state = formed(consumer_join(), EngineSettings(group_consumer_migration_policy=policy)).bench.state
    faults = [find_policy_fault(state, GROUP, to) for to in (GroupType.CLASSIC, GroupType.CONSUMER)]
    assert [fault.to for fault in faults if fault is not None] == refused


def test_policy_binds_joiners_and_not_operators() -> None:
    """An operator knows what the policy does not."""
    settings = EngineSettings(
        group_initial_rebalance_delay_ms=0, group_consumer_migration_policy=MigrationPolicy.DISABLED
    )
    bench = formed(consumer_join(), settings)
    assert bench.native_join("new") is ErrorCode.GROUP_ID_NOT_FOUND
    assert bench.converted().member_count == 1


def test_unknown_group_and_group_of_that_type_are_told_apart() -> None:
    """Both ways."""
    bench = formed(consumer_join())
    state = bench.bench.state
    unknown = [find_upgrade_fault(state, GroupId("none")), find_departure_fault(state, GroupId("none"))]
    assert [fault and fault.reason for fault in unknown] == [Unready.UNKNOWN_GROUP] * 2
    same = find_departure_fault(state, GROUP)
    assert same is not None
    assert same.reason is Unready.SAME_TYPE
    bench.converted()
    assert bench.refused().reason is Unready.SAME_TYPE


def test_members_without_a_common_protocol_stay_a_consumer_group() -> None:
    """A consumer group mixes range and cooperative clients, a classic group can't (decision 21, K4.4)."""
    bench = formed(consumer_join())
    bench.converted()
    (seat,) = bench.seats(dict.fromkeys(bench.consumers.members, 1))
    assert find_seats_fault(bench.consumers, (seat,)) is None
    other = replace(seat, protocols=says("cooperative-sticky"))
    fault = find_seats_fault(bench.consumers, (seat, other))
    assert fault is not None
    assert fault.reason is Unready.NO_COMMON_PROTOCOL


def test_group_whose_first_rebalance_runs_has_chosen_no_assignor_yet() -> None:
    """Which is no reason against it: what counts is what its members offer."""
    bench = ConversionBench()
    bench.join(consumer_join())
    assert bench.group.roster.protocol_name is None
    assert find_upgrade_fault(bench.bench.state, GROUP) is None


def test_joiner_whose_request_is_refused_learns_why_and_leaves_the_group_classic() -> None:
    """An assignor that nobody has is told before anything is converted (K12.1)."""
    bench = formed(consumer_join())
    wanting = replace(join_request("new"), server_assignor="nobody's")
    assert bench.native_join("new", wanting) is ErrorCode.UNSUPPORTED_ASSIGNOR
    assert GROUP in bench.bench.state.classic_groups
    assert bench.notices == ()


def test_empty_group_of_another_type_has_nothing_against_it() -> None:
    """Its members are gone: the type they were of is nobody's."""
    bench = formed(replace(consumer_join(), protocol_type="connect"))
    (member_id,) = bench.group.members
    bench.leave((member_id, None))
    assert bench.group.members == {}
    assert find_upgrade_fault(bench.bench.state, GROUP) is None


def holdings_of(group: ClassicGroup) -> tuple[Holding, ...]:
    """Everybody's holding, in a group all of whose bytes can be read."""
    words = read_words(group)
    assert not isinstance(words, Unreadable)
    return read_holdings(group, words)


def test_working_members_hold_what_they_synced() -> None:
    """Stable: everybody's last assignment."""
    bench = ConversionBench()
    first, second = bench.settle(None, None)
    held = {holding.member.member_id: holding.using for holding in holdings_of(bench.group)}
    assert held == {first: named(0, 2, 4), second: named(1, 3, 5)}


def test_newcomer_of_a_running_rebalance_holds_nothing() -> None:
    """It never completed a join."""
    bench = ConversionBench()
    (first,) = bench.settle(None)
    bench.join(consumer_join())
    holdings = {holding.member.member_id == first: holding for holding in holdings_of(bench.group)}
    assert (holdings[True].is_newcomer, holdings[True].using) == (False, named(*range(6)))
    assert (holdings[False].is_newcomer, holdings[False].using) == (True, frozenset())


def test_newcomer_holds_nothing_whatever_it_says_of_an_earlier_life() -> None:
    """It was never in this group: what it names may be in use by whoever comes to it next."""
    bench = ConversionBench()
    (first,) = bench.join_all(None, name=COOPERATIVE)
    bench.hand_out({first: named(0, 1)})
    bench.join(replace(consumer_join(name=COOPERATIVE), protocols=says(COOPERATIVE, named(5))))
    newcomer = next(holding for holding in holdings_of(bench.group) if holding.member.member_id != first)
    assert (newcomer.is_newcomer, newcomer.using) == (True, frozenset())


def test_translatable_offer_is_the_first_known_protocol() -> None:
    """As the member machine chooses."""
    bench = ConversionBench()
    (member_id,) = bench.settle(None)
    member = bench.group.members[member_id]
    assert translatable_offer(member) == says("range")[0]


def test_translatable_offer_is_the_protocol_told_before_if_there_is_one() -> None:
    """The machine goes on under that name: what it reads must be what was judged here."""
    bench = ConversionBench()
    member_id = bench.settle(None)[0]
    both = replace(bench.group.members[member_id], protocols=(*offer("own", "sticky", says=b"1"), *says("range")))
    assert translatable_offer(both) == Protocol("sticky", b"1")
    assert translatable_offer(both, "range") == says("range")[0]
    assert translatable_offer(both, "own") == Protocol("sticky", b"1")
    assert translatable_offer(replace(both, protocols=offer("own"))) is None


def test_unreadable_bytes_are_found_with_whose_they_are() -> None:
    """Subscriptions first, then assignments."""
    bench = ConversionBench()
    assert bench.settle(None)
    assert not isinstance(read_words(bench.group), Unreadable)
    member_id, member = next(iter(bench.group.members.items()))
    bench.group.synced.members[member_id] = replace(member, assignment=b"\x00")
    found = read_words(bench.group)
    assert isinstance(found, Unreadable)
    assert (found.member.member_id, found.is_subscription) == (member_id, False)


def test_equal_bytes_are_read_once() -> None:
    """Eager members of a group all say the same, and thousands of them may be converted at once."""
    bench = ConversionBench()
    first, second = bench.settle(None, None)
    words = read_words(bench.group)
    assert not isinstance(words, Unreadable)
    assert words[first].wants is words[second].wants


def test_unreadable_subscription_is_told_from_an_assignment() -> None:
    """`readiness` makes a reason of it."""
    bench = ConversionBench()
    from_custom = consumer_join()
    bench.join(from_custom)
    member_id, member = next(iter(bench.group.members.items()))
    bench.group.roster.members[member_id] = type(member)(
        member_id=member.member_id,
        instance_id=None,
        identity=member.identity,
        session_timeout_ms=1,
        rebalance_timeout_ms=1,
        protocols=offer("range", says=b"\x00"),
    )
    found = read_words(bench.group)
    assert isinstance(found, Unreadable)
    assert (found.member.member_id, found.is_subscription) == (member_id, True)
