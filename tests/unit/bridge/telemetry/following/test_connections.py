"""Members whose connection is gone, on both roads."""

from collections import UserDict
from functools import partial

from bridge.telemetry.following.connections import CONSUMER_SESSION_MS, SPOKEN_FOR_MAX, SilenceFollower
from bridge.telemetry.following.joins import Inputs
from bridge.telemetry.following.last_heard import US_PER_MS
from bridge.telemetry.following.tracks import GroupTrack, MemberTrack
from bridge.telemetry.schema.facts import MemberLeft, PartitionsReleased
from bridge.telemetry.schema.terms import Departure, Protocol, Road
from tests.support.heard import Ears
from tests.support.work_done import work_of
from translators.dialects.ids import GroupId, MemberId, TopicName, TopicPartition

A, B = MemberId("a"), MemberId("b")
SHARE = frozenset({TopicPartition(TopicName("t"), 0)})


class Watch:
    """A follower of silence over one group of two consumer members, of which `a` has a partition."""

    def __init__(self, road: Road = Road.PASSING, session_timeout_ms: int = -1) -> None:
        self.ears = Ears()
        self.group = GroupTrack(group_id=GroupId("g"), road=road)
        self.groups = {self.group.group_id: self.group}
        self.silence = SilenceFollower(self.ears.follower.writer, self.groups)
        for connection, member_id in enumerate((A, B), start=1):
            inputs = Inputs(session_timeout_ms=session_timeout_ms)
            member = MemberTrack(member_id=member_id, protocol=Protocol.CONSUMER, inputs=inputs)
            self.group.members[member_id] = member
            self.silence.heard(connection, self.group, member_id)
        self.group.members[A].assigned = SHARE

    def said(self) -> list[tuple[str, object]]:
        """Who left how, and how long what was released had been idle."""
        facts = [event.fact for event in self.ears.log.events]
        left: list[tuple[str, object]] = [(f.member_id, f.departure) for f in facts if isinstance(f, MemberLeft)]
        return left + [(f.member_id, f.idle_us) for f in facts if isinstance(f, PartitionsReleased)]


def test_silent_member_is_gone_when_another_gets_what_it_had() -> None:
    """The coordinator gives nothing twice; what it released stood still since the connection was lost."""
    watch = Watch()
    watch.silence.lost(1, 100)
    watch.silence.taken(watch.group, watch.group.members[B], SHARE, 700)
    assert watch.said() == [("a", Departure.SESSION_EXPIRED), ("a", 600)]


def test_static_member_that_is_away_too_long_gives_back_what_others_get() -> None:
    """Nobody tells that its session is over."""
    watch = Watch()
    watch.ears.follower.writer.leave(watch.group, watch.group.members[A], Departure.STATIC_LEFT, 100)
    watch.silence.taken(watch.group, watch.group.members[B], frozenset(), 600)
    watch.silence.taken(watch.group, watch.group.members[B], SHARE, 700)
    assert watch.said() == [("a", Departure.STATIC_LEFT), ("a", 600)]


def test_member_that_speaks_again_is_not_silent() -> None:
    """Over another connection, or it was never lost."""
    watch = Watch()
    watch.silence.taken(watch.group, watch.group.members[B], SHARE, 50)
    watch.silence.lost(1, 100)
    watch.silence.heard(3, watch.group, A)
    watch.silence.lost(1, 200)
    watch.silence.taken(watch.group, watch.group.members[B], SHARE, 700)
    assert watch.silence.expire(10**12) == ()
    assert watch.said() == []


def test_answer_that_comes_after_the_loss_is_no_sign_of_life() -> None:
    """A heartbeat is heard when it is answered; the client may have given up waiting, and gone."""
    watch = Watch()
    watch.silence.lost(1, 100)
    watch.silence.heard(1, watch.group, A)
    watch.silence.taken(watch.group, watch.group.members[B], SHARE, 700)
    assert watch.said() == [("a", Departure.SESSION_EXPIRED), ("a", 600)]


def test_silent_member_expires_after_its_session_on_road_pass() -> None:
    """Kafka's default where no answer tells the session, otherwise its own."""
    for session_ms, told_ms in ((CONSUMER_SESSION_MS, -1), (6_000, 6_000)):
        watch = Watch(session_timeout_ms=told_ms)
        watch.silence.lost(1, 5)
        assert watch.silence.expire(4 + session_ms * US_PER_MS) == ()
        assert watch.silence.expire(5 + session_ms * US_PER_MS) == (watch.group,)
        assert watch.said() == [("a", Departure.SESSION_EXPIRED), ("a", session_ms * US_PER_MS)]
        assert watch.silence.expire(10**12) == ()


def test_embedded_member_is_left_to_the_engine() -> None:
    """The engine says itself when a session is over."""
    watch = Watch(Road.EMBEDDED)
    watch.silence.lost(1, 5)
    watch.silence.taken(watch.group, watch.group.members[B], SHARE, 700)
    assert watch.silence.expire(10**12) == ()
    assert watch.said() == []


def test_connection_of_many_members_forgets_those_that_are_gone() -> None:
    """One that lives for years may have spoken for any number of them."""
    watch = Watch()
    for number in range(3 * SPOKEN_FOR_MAX):
        member_id = MemberId(f"m{number}")
        watch.group.members[member_id] = MemberTrack(member_id=member_id, protocol=Protocol.CONSUMER)
        watch.silence.heard(1, watch.group, member_id)
        del watch.group.members[member_id]
    assert watch.silence.spoken_for(1) <= SPOKEN_FOR_MAX


class CountedGroups(UserDict[GroupId, GroupTrack]):
    """Counts how often a group is looked up."""

    looks = 0

    def __getitem__(self, key: GroupId) -> GroupTrack:
        self.looks += 1
        return super().__getitem__(key)


def test_connection_of_many_living_members_is_not_gone_through_for_each() -> None:
    """A thousand members behind one connection: a few looks for each, not one for every pair."""
    ears, group = Ears(), GroupTrack(group_id=GroupId("g"), road=Road.PASSING)
    groups = CountedGroups({group.group_id: group})
    silence = SilenceFollower(ears.follower.writer, groups)
    for number in range(1_000):
        member_id = MemberId(f"m{number}")
        group.members[member_id] = MemberTrack(member_id=member_id, protocol=Protocol.CONSUMER)
        silence.heard(1, group, member_id)
    assert silence.spoken_for(1) == 1_000
    assert groups.looks < 3_000


def test_silent_members_of_other_groups_cost_a_taker_nothing() -> None:
    """A large group whose clients lost the bridge was gone through for every partition that any other group dealt."""
    works: list[int] = []
    for size in (1, 500):
        watch = Watch()
        other = GroupTrack(group_id=GroupId("other"), road=Road.PASSING)
        watch.groups[other.group_id] = other
        for number in range(size):
            member_id = MemberId(f"other-{number}")
            other.members[member_id] = MemberTrack(member_id=member_id, protocol=Protocol.CONSUMER)
            watch.silence.heard(10 + number, other, member_id)
            watch.silence.lost(10 + number, 100)
        taker = watch.group.members[B]
        works.append(work_of(partial(watch.silence.taken, watch.group, taker, SHARE, 700)).lines)
    assert works[0] == works[1]
