"""Where a group goes that the bridge hears of for the first time."""

from dataclasses import replace

import pytest

from bridge.migration.placement import Stay, StayReason, judge_stay, stay_in_journal
from bridge.migration.route import Road
from translators.dialects.admin import DescribedGroup, DescribedMember
from translators.dialects.consumer import DescribedConsumerGroup, DescribedConsumerMember
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import GroupId, MemberId

GROUP = GroupId("g")
MEMBER = DescribedMember(
    member_id=MemberId("m"), instance_id=None, client_id="app", client_host="/10.0.0.9", metadata=b"", assignment=b""
)
NOBODY = DescribedGroup(error=ErrorCode.NONE, group_id=GROUP, group_state="Dead")
CLASSIC = replace(NOBODY, group_state="Stable", protocol_type="consumer", members=(MEMBER,))
CONNECT = replace(CLASSIC, protocol_type="connect")
STREAMS = replace(NOBODY, protocol_type="streams")
SHARE = replace(NOBODY, protocol_type="share")
NATIVE = DescribedConsumerGroup(
    error=ErrorCode.NONE,
    group_id=GROUP,
    members=(
        DescribedConsumerMember(
            member_id=MemberId("n"),
            instance_id=None,
            rack_id=None,
            member_epoch=1,
            client_id="app",
            client_host="/10.0.0.9",
            subscribed_topic_names=(),
            subscribed_topic_regex=None,
            assignment=(),
            target_assignment=(),
        ),
    ),
)


def reason_of(stay: Stay | None) -> StayReason | None:
    """Why a group stays, None if it does not."""
    return None if stay is None else stay.reason


@pytest.mark.parametrize(
    ("described", "embedded", "upstream"),
    [
        (NOBODY, None, None),
        (replace(NOBODY, group_state="Empty", protocol_type="consumer"), None, None),
        (replace(NATIVE, members=()), None, None),
        (CLASSIC, StayReason.MEMBERS, StayReason.MEMBERS),
        (replace(CLASSIC, protocol_type=""), StayReason.MEMBERS, StayReason.MEMBERS),
        (NATIVE, StayReason.MEMBERS, None),
        (CONNECT, StayReason.KIND, StayReason.KIND),
        (replace(CONNECT, members=()), None, None),
        (STREAMS, StayReason.KIND, StayReason.KIND),
        (SHARE, StayReason.KIND, StayReason.KIND),
    ],
)
def test_group_stays_at_its_broker_for_what_it_is_or_who_is_in_it(
    described: DescribedGroup | DescribedConsumerGroup, embedded: StayReason | None, upstream: StayReason | None
) -> None:
    """Members of a consumer group are no reason where the broker coordinates anyway."""
    found = {rule: judge_stay(GROUP, rule, described) for rule in (Road.EMBEDDED, Road.UPSTREAM)}
    assert {rule: reason_of(stay) for rule, stay in found.items()} == {Road.EMBEDDED: embedded, Road.UPSTREAM: upstream}
    assert {stay.road for stay in found.values() if stay is not None} <= {Road.PASS}


def test_stay_says_who_is_there_and_what_to_do() -> None:
    """The order that moves the group, with its own name in it."""
    stay = judge_stay(GROUP, Road.EMBEDDED, CLASSIC)
    assert stay is not None
    assert "1 member (client ids app)" in stay.sentence
    assert "epochbridge move g --to embedded" in stay.remedy
    many = tuple(replace(MEMBER, client_id=f"app-{number}") for number in range(9))
    crowded = judge_stay(GROUP, Road.UPSTREAM, replace(CLASSIC, members=many))
    assert crowded is not None
    assert "app-4, …)" in crowded.sentence
    kept = stay_in_journal(GROUP, Road.EMBEDDED, Road.PASS)
    assert (kept.road, kept.rule, kept.reason) == (Road.EMBEDDED, Road.PASS, StayReason.JOURNAL)
    assert "epochbridge move g --to pass" in kept.remedy
