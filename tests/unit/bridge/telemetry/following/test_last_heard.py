"""When members were heard last, and since when one that is not heard any more has used nothing."""

from dataclasses import replace

import pytest

from bridge.telemetry.following.joins import Inputs
from bridge.telemetry.following.last_heard import BEAT_US_MAX, SESSIONS_MAX, LastHeard, beat_us
from bridge.telemetry.following.tracks import MemberTrack
from bridge.telemetry.schema.facts import (
    MemberLeft,
    PartitionsFetched,
    PartitionsReleased,
    RebalanceEnded,
    RebalanceExplained,
)
from bridge.telemetry.schema.terms import Cause, Departure, Protocol
from tests.support.heard import Ears, HeardGroup
from tests.support.owned_group import CLIENT, GROUP, ConsumerClient
from tests.support.passing_words import (
    TOPIC_ID,
    beat,
    beaten,
    join,
    joined,
    leave,
    left,
    named,
    report,
    reported,
    sync,
    synced,
)
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import ClientIdentity, MemberId, Topic, TopicName

INPUTS = Inputs(client_id="c", client_host="/h", session_timeout_ms=9_000)
MEMBER = MemberTrack(member_id=MemberId("a"), protocol=Protocol.CLASSIC, inputs=INPUTS)
OTHER = ClientIdentity(client_id="other", client_host=CLIENT.client_host)


def test_request_counts_for_its_connection_until_that_is_gone() -> None:
    """Nothing is kept of one that is closed."""
    heard = LastHeard()
    heard.spoke(1, 5)
    heard.spoke(1, 7)
    assert (heard.spoke_us(1), heard.spoke_us(2), heard.spoke_us(None)) == (7, None, None)
    heard.close(1)
    assert heard.spoke_us(1) is None


def test_fetch_counts_for_the_one_member_of_its_client() -> None:
    """Two with one name can't be told apart; of a name that is no member's nothing is kept."""
    heard = LastHeard()
    heard.fetched("c", "/h", 1)
    heard.enter(INPUTS)
    assert heard.fetched_us(INPUTS) is None
    heard.fetched("c", "/h", 3)
    assert heard.fetched_us(INPUTS) == 3
    heard.enter(INPUTS)
    assert heard.fetched_us(INPUTS) is None
    heard.leave(INPUTS)
    assert heard.fetched_us(INPUTS) == 3
    heard.leave(INPUTS)
    heard.enter(INPUTS)
    assert heard.fetched_us(INPUTS) is None


@pytest.mark.parametrize(
    ("spoke_us", "since_us"),
    [
        (None, 20_000_000),
        (20_000_000 - 3_000_000, 20_000_000),
        (20_000_000 - 3_000_001, 20_000_000 - 3_000_001),
        (21_000_000, 21_000_000),
    ],
    ids=["never heard", "heard a heartbeat before", "frozen by then", "heard over another connection"],
)
def test_connection_that_goes_says_since_when_only_of_who_was_at_work(spoke_us: int | None, since_us: int) -> None:
    """A third of a session is the longest that a client lets pass between two heartbeats."""
    assert LastHeard().silent_since(MEMBER, 20_000_000, spoke_us) == since_us


def test_members_without_a_told_session_beat_as_often_as_the_longest_default() -> None:
    """Kafka's consumer protocol leaves it to the coordinator."""
    untold = MemberTrack(member_id=MemberId("a"), protocol=Protocol.CONSUMER)
    endless = replace(INPUTS, session_timeout_ms=1_800_000)
    patient = MemberTrack(member_id=MemberId("a"), protocol=Protocol.CLASSIC, inputs=endless)
    assert (beat_us(MEMBER), beat_us(untold), beat_us(patient)) == (3_000_000, BEAT_US_MAX, BEAT_US_MAX)


@pytest.mark.parametrize(
    ("words", "fetched_ms", "departure"),
    [
        ("consumer poll timeout has expired.", None, Departure.POLL_TIMED_OUT),
        ("the consumer is being closed", None, Departure.LEFT),
        ("the consumer is being closed", 5_000, Departure.LEFT),
        ("", 5_000, Departure.POLL_TIMED_OUT),
        ("", 30_000, Departure.LEFT),
    ],
    ids=["says so", "says something else", "had paused", "fetched a poll interval ago", "fetched since"],
)
def test_poll_timeout_is_told_from_a_leave(words: str, fetched_ms: int | None, departure: Departure) -> None:
    """Its heartbeats went on; max.poll.interval.ms (60 s) is what it gave for its rebalance timeout."""
    ears = _classic_pair()
    if fetched_ms is not None:
        ears.follower.fetched(CLIENT, named(0), False, fetched_ms * 1_000)
        ears.follower.fetches(CLIENT, fetched_ms * 1_000)
    ears.now_ms = 65_000
    ears.answer(ears.ask(leave("a", words), 1), left("a"))
    (gone,) = ears.log.of(MemberLeft)
    assert isinstance(gone, MemberLeft)
    assert (gone.departure, gone.reason) == (departure, words)


def test_consumer_member_that_stops_polling_is_told_from_one_that_leaves() -> None:
    """KIP-848 gives no reason; who has fetched nothing yet shows nothing either."""
    for fetched, departure in ((True, Departure.POLL_TIMED_OUT), (False, Departure.LEFT)):
        ears = Ears()
        ears.topics.change([Topic(TOPIC_ID, TopicName("t"), 2)], ())
        ears.answer(ears.ask(replace(report("a", 0), rebalance_timeout_ms=9_000)), reported(1, (0,)))
        ears.follower.fetches(CLIENT, 5_000_000)
        if fetched:
            ears.follower.fetched(CLIENT, named(0), False, 5_000_000)
        ears.now_ms = 14_000
        ears.answer(ears.ask(report("a", -1)), reported(-1))
        (gone,) = ears.log.of(MemberLeft)
        assert isinstance(gone, MemberLeft)
        assert gone.departure is departure


@pytest.mark.parametrize(
    ("joined_ms", "left_ms", "interval_ms", "thawed", "departure"),
    [
        (1_000, 23_000, 5_000, False, Departure.POLL_TIMED_OUT),
        (1_000, 18_900, 5_000, False, Departure.LEFT),
        (1_000, 23_000, 9_000, False, Departure.LEFT),
        (1_000, 23_000, 5_000, True, Departure.LEFT),
        (8_000, 23_000, 5_000, False, Departure.LEFT),
    ],
    ids=[
        "polled late",
        "a heartbeat was not due yet",
        "heartbeats are rare",
        "frozen, and fetched before it left",
        "joined less than a poll interval before its silence",
    ],
)
def test_librdkafka_that_is_polled_late_is_silent_until_it_leaves(
    joined_ms: int, left_ms: int, interval_ms: int, thawed: bool, departure: Departure
) -> None:
    """It fetches by itself until max.poll.interval.ms is over, then sends nothing until it is polled (KIP-848)."""
    ears = Ears()
    ears.topics.change([Topic(TOPIC_ID, TopicName("t"), 2)], ())
    ears.now_ms = joined_ms
    told = replace(reported(1, (0,)), heartbeat_interval_ms=interval_ms)
    ears.answer(ears.ask(replace(report("a", 0), rebalance_timeout_ms=9_000)), told)
    ears.follower.fetched(CLIENT, named(0), False, 15_000_000)
    ears.follower.spoke(1, 13_000_000)
    ears.follower.fetches(CLIENT, 16_000_000)
    ears.now_ms = left_ms
    if thawed:
        ears.follower.fetches(CLIENT, left_ms * 1_000 - 1_000)
    ears.answer(ears.ask(report("a", -1)), reported(-1))
    (gone,) = ears.log.of(MemberLeft)
    assert isinstance(gone, MemberLeft)
    assert gone.departure is departure
    released = [fact for fact in ears.log.of(PartitionsReleased) if isinstance(fact, PartitionsReleased)]
    idle_us = {Departure.POLL_TIMED_OUT: (left_ms - 16_000 + 9_000) * 1_000}.get(departure, 0)
    assert [fact.idle_us for fact in released] == [idle_us]


def test_member_that_hears_by_its_next_request_that_it_is_out_stood_still_since_the_one_before() -> None:
    """Nobody else got what it had: the request that ends its silence is no sign that it was at work."""
    ears = Ears()
    ears.topics.change([Topic(TOPIC_ID, TopicName("t"), 2)], ())
    ears.answer(ears.ask(report("a", 0)), reported(1, (0,)))
    ears.follower.fetched(CLIENT, named(0), False, 5_000_000)
    ears.follower.fetches(CLIENT, 6_000_000)
    ears.follower.spoke(1, 6_000_000)
    ears.now_ms = 60_000
    ears.answer(ears.ask(report("a", -1)), replace(reported(-1), error=ErrorCode.UNKNOWN_MEMBER_ID))
    (gone,) = ears.log.of(MemberLeft)
    assert isinstance(gone, MemberLeft)
    assert gone.departure is Departure.SESSION_EXPIRED
    released = [fact for fact in ears.log.of(PartitionsReleased) if isinstance(fact, PartitionsReleased)]
    assert [fact.idle_us for fact in released] == [54_000_000]


def test_what_a_member_had_that_stopped_polling_stood_still_since_its_last_fetch() -> None:
    """Its application did nothing for all of that time; of one that leaves by itself it did until then."""
    for fetched_ms, idle_us in ((5_000, 60_000_000), (64_000, 0)):
        ears = _classic_pair()
        ears.follower.fetched(CLIENT, named(0), False, fetched_ms * 1_000)
        ears.follower.fetches(CLIENT, fetched_ms * 1_000)
        ears.now_ms = 65_000
        ears.answer(ears.ask(leave("a", ""), 1), left("a"))
        released = [fact for fact in ears.log.of(PartitionsReleased) if isinstance(fact, PartitionsReleased)]
        assert [(fact.member_id, fact.idle_us) for fact in released] == [("a", idle_us)]


def test_client_that_comes_back_by_another_id_need_not_name_again_what_its_sessions_name() -> None:
    """kafka-python that polled too late is given what it had, and asks for nothing else than before (KIP-227)."""
    ears = _classic_pair()
    for at_ms in (5_000, 70_000):
        ears.follower.fetched(CLIENT, named(0) if at_ms == 5_000 else frozenset(), at_ms != 5_000, at_ms * 1_000)
        ears.follower.fetches(CLIENT, at_ms * 1_000)
        if at_ms == 5_000:
            ears.now_ms = 65_000
            ears.answer(ears.ask(leave("a", ""), 1), left("a"))
            again, new = ears.ask(join("b"), 2, OTHER), ears.ask(join("c"), 1)
            ears.answer(again, joined("b", 2, leader="b", members=("b", "c")))
            ears.answer(new, joined("c", 2, leader="b"))
            ears.answer(ears.ask(sync("b", 2, {"b": (1,), "c": (0,)}), 2, OTHER), synced(1))
            ears.answer(ears.ask(sync("c", 2, None), 1), synced(0))
    fetched = [
        (fact.member_id, fact.partitions)
        for fact in ears.log.of(PartitionsFetched)
        if isinstance(fact, PartitionsFetched)
    ]
    assert [member for member, _ in fetched] == ["a", "c"]
    assert fetched[0][1] == fetched[1][1]


def test_sessions_of_a_client_are_known_while_nobody_shares_its_name() -> None:
    """And of no more clients than a bound."""
    heard, mine = LastHeard(), Inputs(client_id="x", client_host="h")
    heard.keep_session(mine, named(0))
    heard.enter(mine)
    assert (heard.session_of(mine), heard.session_of(mine)) == (named(0), frozenset())
    heard.keep_session(mine, named(0))
    heard.enter(mine)
    assert heard.session_of(mine) == frozenset()
    heard.keep_session(mine, named(0))
    for number in range(SESSIONS_MAX):
        heard.keep_session(Inputs(client_id=f"other-{number}", client_host="h"), named(0))
    heard.leave(mine)
    assert heard.session_of(mine) == frozenset()


def _classic_pair() -> Ears:
    """On road `pass` a leads and has partition 0, b has 1; both beat at 3 s, and only b at 6, 9 and 12 s."""
    ears = Ears()
    first = ears.ask(join("a"), 1)
    second = ears.ask(join("b"), 2, OTHER)
    ears.answer(first, joined("a", 1, leader="a", members=("a", "b")))
    ears.answer(second, joined("b", 1, leader="a"))
    for connection, member, client, share in ((1, "a", CLIENT, 0), (2, "b", OTHER, 1)):
        shares = {"a": (0,), "b": (1,)} if member == "a" else None
        ears.answer(ears.ask(sync(member, 1, shares), connection, client), synced(share))
    ears.now_ms = 3_000
    ears.answer(ears.ask(beat("a", 1), 1), beaten())
    return ears


def _expire_classic(ears: Ears) -> PartitionsReleased:
    """The coordinator drops a at 13 s; b leads from then on."""
    ears.now_ms = 13_000
    second = ears.ask(join("b", owned=(1,)), 2, OTHER)
    ears.answer(second, joined("b", 2, leader="b", members=("b",)))
    gone = [one for one in ears.log.of(MemberLeft) if isinstance(one, MemberLeft)]
    assert [(one.member_id, one.departure) for one in gone] == [("a", Departure.SESSION_EXPIRED)]
    return next(one for one in ears.log.of(PartitionsReleased) if isinstance(one, PartitionsReleased))


def test_frozen_classic_member_stood_still_since_its_last_heartbeat() -> None:
    """Its connection was there all the time."""
    released = _expire_classic(_classic_pair())
    assert (released.member_id, released.idle_us) == ("a", 10_000_000)


def test_fetch_after_the_last_heartbeat_shows_that_it_was_still_at_work() -> None:
    """And one of another client shows nothing."""
    ears = _classic_pair()
    ears.follower.fetches(CLIENT, 5_500_000)
    ears.follower.fetches(OTHER, 11_000_000)
    assert _expire_classic(ears).idle_us == 7_500_000


def test_fetch_without_a_heartbeat_is_of_another_process_with_that_name() -> None:
    """It comes more than a third of the session (3.3 s) after the last heartbeat: somebody else's, or a ghost's."""
    ears = _classic_pair()
    ears.follower.fetches(CLIENT, 6_400_000)
    assert _expire_classic(ears).idle_us == 10_000_000


def test_process_that_is_killed_when_it_was_frozen_stood_still_since_it_was_frozen() -> None:
    """Its connection goes seven seconds after it was heard last; one that was at work beats every 3.3 s at most."""
    ears = _classic_pair()
    ears.follower.lost(1, 10_000_000)
    assert _expire_classic(ears).idle_us == 10_000_000


def test_process_that_is_killed_at_work_stood_still_since_then() -> None:
    """Its connection goes soon after its last heartbeat."""
    ears = _classic_pair()
    ears.follower.lost(1, 5_000_000)
    assert _expire_classic(ears).idle_us == 8_000_000


@pytest.mark.parametrize("is_leader_first", [True, False])
def test_static_return_that_races_its_expiry_is_one_rebalance_after_an_expiry(is_leader_first: bool) -> None:
    """The coordinator has just given its seat up and calls b, when another process sits down.

    Whose answer passes first is a matter of moments.
    """
    ears = Ears()
    first = ears.ask(join("a", instance="seat"), 1)
    second = ears.ask(join("b"), 2, OTHER)
    ears.answer(first, joined("a", 1, leader="b"))
    ears.answer(second, joined("b", 1, leader="b", members=("a", "b")))
    ears.answer(ears.ask(sync("b", 1, {"a": (0,), "b": (1,)}), 2, OTHER), synced(1))
    ears.answer(ears.ask(sync("a", 1), 1), synced(0))
    ears.follower.lost(1, 1_000_000)
    ears.now_ms = 11_000
    ears.answer(ears.ask(beat("b", 1), 2, OTHER), beaten(ErrorCode.REBALANCE_IN_PROGRESS))
    ears.now_ms = 11_100
    back = ears.ask(join("", instance="seat"), 3)
    again = ears.ask(join("b"), 2, OTHER)
    answers = [(again, joined("b", 2, leader="b", members=("a2", "b"))), (back, joined("a2", 2, leader="b"))]
    for ref, reply in answers if is_leader_first else reversed(answers):
        ears.answer(ref, reply)
    ears.answer(ears.ask(sync("b", 2, {"a2": (0,), "b": (1,)}), 2, OTHER), synced(1))
    ears.answer(ears.ask(sync("a2", 2), 3), synced(0))
    explained = [one for one in ears.log.of(RebalanceExplained) if isinstance(one, RebalanceExplained)]
    assert [one.cause for one in explained] == [Cause.FIRST_JOIN, Cause.SESSION_EXPIRED]
    assert explained[-1].caused_by == ("a",)
    idle = {
        one.member_id: one.idle_us for one in ears.log.of(PartitionsReleased) if isinstance(one, PartitionsReleased)
    }
    assert idle == {"a": 10_100_000, "b": 0}


def test_static_return_within_its_session_replaces_who_was_there() -> None:
    """Whatever else the group meets for."""
    ears = Ears()
    first = ears.ask(join("a", instance="seat"), 1)
    ears.answer(first, joined("a", 1, leader="a", members=("a",)))
    ears.follower.lost(1, 1_000_000)
    ears.now_ms = 7_000
    ears.answer(ears.ask(join("", instance="seat"), 3), joined("a2", 1, leader="a2"))
    (gone,) = ears.log.of(MemberLeft)
    assert isinstance(gone, MemberLeft)
    assert gone.departure is Departure.REPLACED


def _consumer_pair() -> Ears:
    """On road `pass` a has partition 0, and b nothing."""
    ears = Ears()
    ears.topics.change([Topic(TOPIC_ID, TopicName("t"), 2)], ())
    ears.answer(ears.ask(report("a", 0), 1), reported(1, (0,)))
    ears.answer(ears.ask(report("b", 0), 2, OTHER), reported(2, ()))
    ears.answer(ears.ask(report("a", 1), 1), reported(2))
    return ears


def test_frozen_consumer_member_is_gone_when_another_gets_what_it_had() -> None:
    """It was not told to give anything up, so the coordinator has given it up; nobody waits for it any more."""
    ears = _consumer_pair()
    ears.now_ms = 45_000
    ears.answer(ears.ask(report("b", 2), 2, OTHER), reported(3, (0,)))
    (gone,) = ears.log.of(MemberLeft)
    (released,) = ears.log.of(PartitionsReleased)
    assert isinstance(gone, MemberLeft)
    assert isinstance(released, PartitionsReleased)
    assert (gone.member_id, gone.departure) == ("a", Departure.SESSION_EXPIRED)
    assert (released.member_id, released.idle_us) == ("a", 45_000_000)
    assert ears.follower.groups[GROUP].rebalance is None


def _third_joins(ears: Ears, a_beats: bool) -> None:
    """c comes at 1 s and gets nothing, b hears of the epoch at 2 s, and a, if it beats, at 3 s hears the old one."""
    ears.now_ms = 1_000
    ears.answer(ears.ask(report("c", 0), 3, replace(OTHER, client_id="third")), reported(3, ()))
    ears.now_ms = 2_000
    ears.answer(ears.ask(report("b", 2), 2, OTHER), reported(3))
    if a_beats:
        ears.now_ms = 3_000
        ears.ask(report("a", 2), 1)


def test_frozen_consumer_member_that_nobody_needs_stretches_no_rebalance() -> None:
    """It ended when the others were done; who is only late to hear of it, or was told something, is waited for."""
    ears = _consumer_pair()
    _third_joins(ears, a_beats=False)
    ears.follower.expire(11_999_999)
    assert ears.follower.groups[GROUP].rebalance is not None
    ears.follower.expire(12_000_000)
    ended = [one for one in ears.log.events if isinstance(one.fact, RebalanceEnded)]
    assert ended[-1].stamp.mono_us == 2_000_000
    assert ears.follower.groups[GROUP].rebalance is None
    lively = _consumer_pair()
    _third_joins(lively, a_beats=True)
    lively.follower.expire(12_000_000)
    assert lively.follower.groups[GROUP].rebalance is not None


def test_rebalance_waits_for_a_frozen_member_that_was_told_to_give_up() -> None:
    """Others are to have what it has."""
    ears = _consumer_pair()
    ears.now_ms = 1_000
    ears.answer(ears.ask(report("c", 0), 3, replace(OTHER, client_id="third")), reported(3, ()))
    ears.answer(ears.ask(report("a", 2), 1), reported(2, ()))
    ears.answer(ears.ask(report("b", 2), 2, OTHER), reported(3))
    ears.follower.expire(40_000_000)
    assert ears.follower.groups[GROUP].rebalance is not None


@pytest.mark.parametrize(("partitions", "is_over"), [(2, True), (3, False)], ids=["keeps its share", "has to give up"])
def test_frozen_consumer_member_of_the_bridge_is_left_behind_if_nothing_is_wanted_of_it(
    partitions: int, is_over: bool
) -> None:
    """Of two partitions each of the first two keeps one; of three the first one has two, and is to give one up."""
    group = HeardGroup(partitions)
    clients = [ConsumerClient(group, name) for name in ("a", "b", "c")]
    for _ in range(4):
        for client in clients[: 2 if partitions == 2 else 1]:
            client.beat()
    frozen, others = clients[0], clients[1:]
    for _ in range(3):
        for client in others:
            client.beat()
    assert frozen.epoch < others[-1].epoch
    assert group.ears.follower.groups[GROUP].rebalance is not None
    group.wait(1_000)
    group.ears.follower.expire((group.now_ms + 10_000) * 1_000)
    assert (group.ears.follower.groups[GROUP].rebalance is None) is is_over


def test_answer_that_overtakes_that_of_a_leaver_makes_nobody_frozen() -> None:
    """It asked to leave half a second ago, and its answer is still on its way."""
    ears = _consumer_pair()
    ears.now_ms = 20_000
    leaving = ears.ask(report("a", -1), 1)
    ears.now_ms = 20_500
    ears.answer(ears.ask(report("b", 2), 2, OTHER), reported(3, (0,)))
    ears.answer(leaving, reported(-1))
    (gone,) = ears.log.of(MemberLeft)
    assert isinstance(gone, MemberLeft)
    assert gone.departure is Departure.LEFT


def test_member_that_was_told_to_give_up_is_not_taken_for_frozen() -> None:
    """Whether it has done so, or was put out for being late, its own next answer says."""
    ears = _consumer_pair()
    ears.answer(ears.ask(report("a", 2), 1), reported(2, ()))
    ears.now_ms = 20_000
    ears.answer(ears.ask(report("b", 2), 2, OTHER), reported(3, (0,)))
    assert not ears.log.of(MemberLeft)
