"""The first Fetch of each partition ends the wait for it."""

from dataclasses import replace

from tests.support.heard import Ears
from tests.support.owned_group import CLIENT, TOPIC
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
from tests.support.work_done import Work, work_of
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import ClientIdentity, Topic

KEY = (CLIENT.client_id, CLIENT.client_host)


def _member() -> Ears:
    ears = Ears()
    ears.pass_by(join("a"), joined("a", 1, leader="a", members=("a",)))
    ears.pass_by(sync("a", 1, {"a": (0, 1)}), synced(0, 1))
    del ears.log.events[:]
    return ears


def test_fetching_ends_with_the_last_partition() -> None:
    """Each is told once; then nobody is waited for."""
    ears = _member()
    assert KEY in ears.follower.writer.awaiting
    ears.follower.fetched(CLIENT, named(0, 5), False, 1)
    ears.follower.fetched(CLIENT, named(0), False, 2)
    ears.follower.fetched(CLIENT, named(0, 1), False, 3)
    assert ears.log.lines() == ["partitions-fetched t-0", "partitions-fetched t-1", "ends fetching"]
    assert ears.follower.writer.awaiting == {}


def test_fetch_of_another_client_says_nothing() -> None:
    """Members are told apart by client id and host."""
    ears = _member()
    ears.follower.fetched(ClientIdentity(client_id="other", client_host=CLIENT.client_host), named(0, 1), False, 1)
    assert ears.log.lines() == []


def test_named_partitions_are_not_compared_with_what_others_wait_for() -> None:
    """Thousands of members may run under one client id and host, and all fetch after a rebalance."""

    def fetch_beside(count: int) -> Work:
        ears, names = Ears(), [f"m{number}" for number in range(count)]
        for number, name in enumerate(names):
            ears.pass_by(join(name), joined(name, 1, leader="m0", members=tuple(names) if name == "m0" else ()))
            ears.pass_by(sync(name, 1, {name: (number,)}), synced(number))
        return work_of(lambda: ears.follower.fetched(CLIENT, named(0), False, 1))

    fetch_beside(4)
    assert fetch_beside(400).lines == fetch_beside(4).lines


def test_running_session_need_not_name_what_comes_back() -> None:
    """KIP-227: an eager member that has the same partitions again asks for them without a word."""
    ears = _member()
    ears.follower.fetched(CLIENT, named(0, 1), False, 1)
    ears.pass_by(beat("a", 1), beaten(ErrorCode.REBALANCE_IN_PROGRESS))
    ears.pass_by(join("a"), joined("a", 2, leader="a", members=("a",)))
    ears.pass_by(sync("a", 2, {"a": (0, 2)}), synced(0, 2))
    del ears.log.events[:]
    ears.follower.fetched(CLIENT, named(), True, 2)
    assert ears.log.lines() == ["partitions-fetched t-0"]


def test_member_that_is_gone_is_not_waited_for() -> None:
    """Its phase ends with it."""
    ears = _member()
    ears.pass_by(leave("a"), left("a"))
    assert "ends fetching" in ears.log.lines()
    assert ears.follower.writer.awaiting == {}


def test_member_that_goes_by_another_name_is_awaited_by_that() -> None:
    """A client's id or address may change from one heartbeat to the next: no wait stays with the former one, whose
    Fetches would then be taken for those of a member that is gone.
    """
    ears = Ears()
    ears.topics.change([Topic(TOPIC_ID, TOPIC, 2)], [])
    ears.pass_by(report("a", 0), reported(1, (0, 1)))
    assert set(ears.follower.writer.awaiting) == {KEY}
    renamed = ClientIdentity(client_id="renamed", client_host=CLIENT.client_host)
    ears.answer(ears.ask(report("a", 1), client=renamed), reported(1))
    assert set(ears.follower.writer.awaiting) == {("renamed", CLIENT.client_host)}
    ears.follower.fetched(CLIENT, named(0), True, 1)
    assert "partitions-fetched t-0" not in ears.log.lines()
    ears.answer(ears.ask(report("a", -1), client=renamed), reported(-1))
    assert ears.follower.writer.awaiting == {}
    ears.follower.fetched(CLIENT, named(0, 1), True, 2)


def test_member_that_enters_again_under_its_id_starts_anew() -> None:
    """What its first life had not fetched is not waited for, and a Fetch of then finds nobody missing."""
    ears = _member()
    writer = ears.follower.writer
    (group,) = ears.follower.groups.values()
    (former,) = group.members.values()
    again = replace(former, assigned=frozenset(), unfetched=frozenset())
    writer.revive(group, again, 1)
    assert writer.awaiting == {}
    writer.assign(group, former, former.assigned, 2)
    del group.members[former.member_id]
    ears.follower.fetched(CLIENT, named(0, 1), False, 3)
    assert writer.awaiting == {}
