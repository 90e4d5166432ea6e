"""Machines by member: seats, deadlines and what is parked where."""

from dataclasses import replace

from bridge.coordinators.machines import NOBODY, Machines, Stage, is_present, is_settled
from tests.support.embedded_world import join_request
from tests.support.owned_group import CLIENT, GROUP, TOPIC
from translators.classic_member.events import Answered, JoinReceived, LeaveReceived, SyncReceived
from translators.classic_member.states import MemberLimits
from translators.dialects.classic import SyncGroup
from translators.dialects.coordinator import CoordinatorCalled, Granted
from translators.dialects.ids import GroupId, InstanceId, MemberId, MemberRef, RequestRef, TopicPartition, Via, via_of

KEY, SEAT = MemberRef(GROUP, MemberId("m")), InstanceId("s")
FIRST, SECOND = RequestRef(0, 1, 1), RequestRef(0, 2, 1)


def joined(ref: RequestRef = FIRST) -> Machines:
    """One static member whose JoinGroup is parked."""
    machines = Machines(MemberLimits())
    request = replace(join_request("m"), instance_id=SEAT)
    machines.feed(KEY, JoinReceived(ref, request, KEY.member_id), 0)
    machines.meet(KEY, CLIENT, via_of(ref))
    return machines


def parked_members(machines: Machines) -> int:
    """How many members are remembered for connections that their JoinGroups may be parked on."""
    return sum(map(len, machines._parked.values()))


def test_absent_member_takes_no_place() -> None:
    """Refused requests leave nothing behind."""
    machines = Machines(MemberLimits())
    machines.feed(KEY, LeaveReceived(), 0)
    assert (len(machines), machines.get(KEY), machines.next_deadline_ms()) == (0, None, None)
    assert machines.client_of(KEY) == NOBODY
    assert not is_present(None)


def test_seat_is_known_while_its_member_is_present() -> None:
    """A leaver sits nowhere any more; its machine goes when its farewell is answered."""
    machines = joined()
    assert machines.seat_of(GROUP, SEAT) == "m"
    assert is_present(machines.get(KEY))
    machines.feed(KEY, Answered(Granted(member_epoch=1, assigned=frozenset())), 0)
    machines.feed(KEY, LeaveReceived(), 0)
    assert machines.seat_of(GROUP, SEAT) is None
    assert not is_present(machines.get(KEY))
    machines.feed(KEY, Answered(Granted(member_epoch=-1)), 0)
    assert (len(machines), machines.client_of(KEY)) == (0, NOBODY)


def test_whoever_wants_to_know_hears_of_what_a_member_has() -> None:
    """When it is to have something else, when its client takes that up, and when it is gone; not of heartbeats."""
    machines, heard = joined(), list[MemberRef]()
    machines.on_change = heard.append
    machines.feed(KEY, Answered(Granted(member_epoch=1, assigned=frozenset())), 0)
    assert set(heard) == {KEY}
    heard.clear()
    sync = SyncGroup(group_id=GROUP, generation=1, member_id=KEY.member_id, instance_id=SEAT)
    machines.feed(KEY, SyncReceived(SECOND, sync), 0)
    assert set(heard) == {KEY}
    heard.clear()
    assert machines.beat(KEY, 1, 5_000)
    machines.feed(KEY, CoordinatorCalled(), 5_000)
    assert heard == []
    machines.drop(KEY)
    assert heard == [KEY]


def test_join_that_takes_the_hold_over_is_parked_on_its_own_connection() -> None:
    """The older one was answered; losing its connection concerns nobody."""
    machines = joined()
    request = replace(join_request("m"), instance_id=SEAT)
    assert machines.is_parked(FIRST)
    machines.feed(KEY, JoinReceived(SECOND, request, KEY.member_id), 1)
    assert (machines.is_parked(FIRST), machines.is_parked(SECOND)) == (False, True)
    assert machines.take_parked(FIRST.connection) == []
    assert machines.take_parked(SECOND.connection) == [(KEY, SECOND)]


def test_nothing_is_kept_for_a_connection_of_whom_came_and_went_by_it() -> None:
    """A client that joined and left under new names, 32 kB each, by one connection had all of them kept."""
    machines = Machines(MemberLimits())
    for number in range(100):
        key = MemberRef(GROUP, MemberId(f"m{number}"))
        machines.feed(key, JoinReceived(FIRST, join_request(key.member_id), key.member_id), 0)
        assert machines.is_parked(FIRST)
        if number % 2:
            machines.drop(key)
            continue
        machines.feed(key, Answered(Granted(member_epoch=1, assigned=frozenset())), 0)
        machines.feed(key, LeaveReceived(), 0)
    assert not machines.is_parked(FIRST)
    assert parked_members(machines) == 0


def test_deadline_taken_out_and_lost_is_noted_again() -> None:
    """After a turn that failed nobody lives for ever."""
    machines = joined()
    due_ms = machines.next_deadline_ms()
    assert due_ms is not None
    assert machines.take_due(due_ms) == [KEY]
    assert machines.next_deadline_ms() is None
    machines.note_all_deadlines()
    assert machines.next_deadline_ms() == due_ms


def test_calm_heartbeat_moves_the_session_on_and_needs_no_new_deadline_entry() -> None:
    """Nothing of it has to survive; the deadline is looked at when the old one is due, and then stands later."""
    machines = joined()
    machines.feed(KEY, Answered(Granted(member_epoch=1, assigned=frozenset())), 0)
    assert not machines.beat(KEY, 1, 0)
    sync = SyncGroup(group_id=GROUP, generation=1, member_id=KEY.member_id, instance_id=SEAT)
    machines.feed(KEY, SyncReceived(SECOND, sync), 0)
    machines.watch()
    assert machines.beat(KEY, 1, 5_000)
    assert not machines.beat(KEY, 2, 5_000)
    assert not machines.beat(MemberRef(GROUP, MemberId("nobody")), 1, 5_000)
    assert not machines.take_changed()
    assert machines.take_due(10_000) == []
    assert machines.next_deadline_ms() == 15_000


class Compared(str):
    """A name that counts how often it is compared with another."""

    __slots__ = ()
    seen = 0
    __hash__ = str.__hash__

    def __eq__(self, other: object) -> bool:
        """Compare, and count."""
        Compared.seen += 1
        return str.__eq__(self, str(other))


def test_members_of_a_group_cost_what_there_are_in_it() -> None:
    """A census asks for each group on road upstream: of a thousand all members of all were looked at for each, and
    nobody was served meanwhile.
    """
    machines = Machines(MemberLimits())
    names = [GroupId(Compared(f"g{number}")) for number in range(40)]
    for name in names:
        for member_id in ("a", "b"):
            request = replace(join_request(member_id), group_id=name)
            machines.feed(MemberRef(name, MemberId(member_id)), JoinReceived(FIRST, request, KEY.member_id), 0)
    Compared.seen = 0
    assert [set(machines.members_of(name)) for name in names] == [{"a", "b"}] * len(names)
    assert Compared.seen <= 4 * len(names)
    gone = names.pop()
    for member_id in ("a", "b"):
        machines.drop(MemberRef(gone, MemberId(member_id)))
    assert (machines.members_of(gone), machines.groups()) == ({}, frozenset(names))


def test_members_of_one_group() -> None:
    """For admins."""
    assert set(joined().members_of(GROUP)) == {"m"}


def at_work(*members: str) -> Machines:
    """Members that work with an assignment, each on a connection of its own."""
    machines = Machines(MemberLimits())
    for number, name in enumerate(members, 1):
        key = MemberRef(GROUP, MemberId(name))
        machines.feed(key, JoinReceived(RequestRef(0, number, 1), join_request(name), key.member_id), 0)
        machines.meet(key, CLIENT, Via(0, number))
        machines.feed(key, Answered(Granted(member_epoch=1, assigned=frozenset())), 0)
        sync = SyncGroup(group_id=GROUP, generation=1, member_id=key.member_id, instance_id=None)
        machines.feed(key, SyncReceived(RequestRef(0, number, 2), sync), 0)
    return machines


def test_nobody_remembers_who_changed_until_somebody_watches() -> None:
    """Without a journal nobody ever takes them; then each is told once."""
    machines = at_work("a", "b")
    assert not machines.take_changed()
    machines.watch()
    machines.feed(MemberRef(GROUP, MemberId("a")), CoordinatorCalled(), 0)
    machines.drop(MemberRef(GROUP, MemberId("b")))
    assert set(machines.take_changed()) >= {MemberRef(GROUP, MemberId("b"))}
    assert not machines.take_changed()


def test_member_that_was_called_is_not_at_rest() -> None:
    """It joins again because it was told to; who joins by itself has seen something."""
    machines, key = at_work("a"), MemberRef(GROUP, MemberId("a"))
    assert machines.is_at_rest(key)
    machines.feed(key, CoordinatorCalled(), 0)
    answer = Granted(member_epoch=2, assigned=frozenset({TopicPartition(TOPIC, 0)}))
    machines.feed(key, Answered(answer), 0)
    assert not machines.is_at_rest(key)
    assert not machines.is_at_rest(MemberRef(GROUP, MemberId("nobody")))


def busy(machines: Machines) -> tuple[bool, bool]:
    """Whether somebody has to join, and whether somebody has to sync."""
    return machines.any_in(GROUP, Stage.JOINING), machines.any_in(GROUP, Stage.COMPLETING)


def test_stages_of_a_rebalance_are_known_without_a_look_at_members() -> None:
    """Who joins, has been told it, works, and is called for what it has to give up; who is gone is in none."""
    machines, sync = joined(), SyncGroup(group_id=GROUP, generation=1, member_id=KEY.member_id, instance_id=SEAT)
    assert busy(machines) == (True, False)
    machines.feed(KEY, Answered(Granted(member_epoch=1, assigned=frozenset({TopicPartition(TOPIC, 0)}))), 0)
    assert busy(machines) == (False, True)
    machines.feed(KEY, SyncReceived(SECOND, sync), 0)
    assert busy(machines) == (False, False)
    machines.feed(KEY, CoordinatorCalled(), 0)
    machines.feed(KEY, Answered(Granted(member_epoch=2, assigned=frozenset())), 0)
    assert busy(machines) == (True, False)
    machines.drop(KEY)
    assert busy(machines) == (False, False)


def rest(machines: Machines) -> tuple[bool, bool]:
    """Whether all members of the group have what they should, by what is kept of it and by a look at each."""
    return machines.is_settled(GROUP), all(map(is_settled, machines.members_of(GROUP).values()))


def test_whether_a_group_is_settled_is_known_without_a_look_at_members() -> None:
    """It is not while anybody joins, syncs, is to give something up, or leaves."""
    machines, sync = joined(), SyncGroup(group_id=GROUP, generation=1, member_id=KEY.member_id, instance_id=SEAT)
    machines.begin(MemberRef(GROUP, MemberId("other")), at_work("b").members_of(GROUP)[MemberId("b")])
    seen = [rest(machines)]
    both = frozenset({TopicPartition(TOPIC, 0), TopicPartition(TOPIC, 1)})
    steps = (
        Answered(Granted(member_epoch=1, assigned=both)),
        SyncReceived(SECOND, sync),
        CoordinatorCalled(),
        Answered(Granted(member_epoch=2, assigned=frozenset({TopicPartition(TOPIC, 0)}))),
        LeaveReceived(),
    )
    for event in steps:
        machines.feed(KEY, event, 0)
        seen.append(rest(machines))
    machines.drop(KEY)
    seen.append(rest(machines))
    assert seen == [(one, one) for one in (False, False, True, True, False, False, True)]
    assert list(machines.sizes()) == [(GROUP, 1)]
    machines.clear()
    assert (list(machines.sizes()), machines._unsettled) == ([], {})


def test_cleared_machines_know_nobody_and_tell_who_weighs_them() -> None:
    """Seats, clients, deadlines and what is parked are those of nobody."""
    machines, gone = joined(), list[MemberRef]()
    machines.on_profile = gone.append
    machines.clear()
    assert (len(machines), machines.seat_of(GROUP, SEAT), machines.client_of(KEY)) == (0, None, NOBODY)
    assert gone == [KEY]
    assert not machines.is_parked(FIRST)
    assert machines.take_parked(FIRST.connection) == []
    assert machines.take_due(10**9) == []


def test_group_that_is_dropped_leaves_what_its_members_leave_one_by_one() -> None:
    """Seats, stages, parked joins, who is unsettled and who spoke: of this group nothing, of others all."""

    def left(*, at_once: bool) -> tuple[dict[str, object], list[MemberRef]]:
        machines = Machines(MemberLimits())
        machines.watch()
        heard: list[MemberRef] = []
        keys = [MemberRef(GroupId(group), MemberId(member)) for group in (GROUP, "other") for member in ("m", "n", "o")]
        for number, key in enumerate(keys):
            ref = RequestRef(0, number % 2, number)
            request = replace(join_request(key.member_id), group_id=key.group_id, instance_id=InstanceId(key.member_id))
            machines.feed(key, JoinReceived(ref, request, key.member_id), 0)
            machines.meet(key, CLIENT, via_of(ref))
            if key.member_id != "m":
                machines.feed(key, Answered(Granted(member_epoch=1, assigned=frozenset())), 0)
        machines.take_changed()
        machines.on_profile = heard.append
        if at_once:
            assert [key for key, _, speaker in machines.drop_group(GROUP) if speaker[0] == CLIENT] == keys[:3]
        else:
            for key in keys[:3]:
                machines.drop(key)
        return {
            name: value for name, value in vars(machines).items() if name not in {"_deadlines", "on_profile"}
        }, heard

    assert left(at_once=True) == left(at_once=False)
    assert Machines(MemberLimits()).drop_group(GROUP) == []
