"""Clients that do what their protocol asks of them until the group is quiet, and what the group then is.

It knows how each kind of client answers each code, and must not know which coordinator it talks to.
"""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from tests.conformance.random.members import Member
from tests.conformance.random.playing import Asked, RandomPlay, Raw, RawSeen, errors
from tests.conformance.random.probing import Probing
from tests.conformance.random.scenes import names_in
from tests.conformance.random.sequences import FAILED, LEFT, Move, Probe, Settle
from tests.support.conformance import protocol
from tests.support.conformance.calls import beat, chb, join, leave_all, rejoin, sync
from tests.support.conformance.schema import Value
from tests.support.conformance.steps import TOPICS, Assignment, Call, Owned, Part
from translators.dialects.errors import ErrorCode as E

ROUNDS_MAX, QUIET_ROUNDS, ROUND_PAUSE_S, PATTERNS_S = 100, 3, 0.15, 13.0
DISMISSAL_ROUNDS, OLD_S = QUIET_ROUNDS, 0.3
FAILURES_MAX, RESTART_ROUNDS = 5, 6
"""How often a client is started again that the coordinator failed, and how many rounds that takes: meanwhile all others
can join, which a conversion that fails keeps from it (K3.6).
"""
AT_REST = {"Stable", "Empty", "Dead"}
AGAIN = {E.REBALANCE_IN_PROGRESS, E.ILLEGAL_GENERATION, E.COORDINATOR_NOT_AVAILABLE, E.NOT_COORDINATOR}
FORGOTTEN = {E.UNKNOWN_MEMBER_ID, E.FENCED_MEMBER_EPOCH, E.GROUP_ID_NOT_FOUND}


@dataclass(slots=True, kw_only=True)
class Client:
    """One member as its library would play it: what it does next, and the code that ended it."""

    member: Member
    phase: str = "beat"
    ended: str = ""
    waits: bool = False
    rests: int = 0
    failures: int = 0
    protocol: str = "range"
    assigned: Mapping[str, Mapping[str, list[int]]] = field(default_factory=dict)


class Settling:
    """All clients of one side."""

    def __init__(self, play: RandomPlay, members: Sequence[Member]) -> None:
        self._play = play
        self._clients = {
            one.name: Client(member=one, phase="join" if one.name in play.unsynced else "beat") for one in members
        }
        self._sent: dict[int, Call] = {}
        self._number = 0
        self._old: Sequence[Asked] = ()
        self._dismissed: set[str] = set()
        self._failed: dict[str, str] = {}
        self._last: dict[str, str] = {}

    def run(self) -> dict[str, Value]:
        """Let them act in turns until nothing changes any more.

        Gives whether it became quiet, the requests that nobody answered, how each client ended, what the group was for
        whom the coordinator failed, and the group. What was sent before is given up, or with pipelined requests waited
        for beside: those left without an answer.
        """
        if self._play.pipelined:
            self._old = self._play.set_aside()
        else:
            self._play.give_up_waiting()
        quiet = 0
        not_before = time.monotonic() + self._least_s()
        for number in range(ROUNDS_MAX):
            had_strangers = number % DISMISSAL_ROUNDS == 0 and self._dismiss_strangers()
            turns = [self._turn(one) for one in self._clients.values()]
            quiet = 0 if any(turns) or self._waiting() or had_strangers else quiet + 1
            if quiet >= QUIET_ROUNDS and time.monotonic() >= not_before and self._group()["state"] in AT_REST:
                break
            time.sleep(ROUND_PAUSE_S)
        unanswered: list[Value] = list(self._waiting())
        self._take_old()
        left: list[Value] = [step for asked in self._old for step in asked.steps]
        self._play.give_up_waiting()
        ended = {name: one.ended for name, one in self._clients.items()}
        group = self._group()
        is_quiet = quiet >= QUIET_ROUNDS and group["state"] in AT_REST
        failed: dict[str, Value] = {FAILED: dict(self._failed)} if self._failed else {}
        return {"quiet": is_quiet, "unanswered": unanswered, LEFT: left, "ended": ended, **failed, **group}

    def _take_old(self) -> None:
        """Answers to what was sent before, for as long as more come."""
        while self._old and self._play.take_ready(OLD_S):
            pass

    def _least_s(self) -> float:
        """Kafka looks at patterns of a group again after ten seconds at the earliest."""
        has_pattern = any("subscribed_topic_regex" in one.member.fields for one in self._clients.values())
        return PATTERNS_S if has_pattern else 0.0

    def _waiting(self) -> list[str]:
        own = [number for asked in self._play.waiting for number in asked.steps if number < 0]
        return [f"{self._sent[number].api} of {self._sent[number].who}" for number in own]

    def _dismiss_strangers(self) -> bool:
        """Who no client stands behind any more is removed, as an admin would, and so are ids that were promised.

        Gives whether there was one in the group.
        """
        known = {self._id_of(one.member) for one in self._clients.values()}
        promised = set(self._play.told.words) - self._dismissed
        # Whoever waits for its first answer is no stranger, though nobody can tell.
        inside = set() if self._waiting() else set(self._member_ids()) - known
        strangers = sorted({*inside, *(promised - known)})
        if strangers:
            self._dismissed.update(strangers)
            self._play.ask_aside("LeaveGroup", 5, leave_all("admin", *((one, None) for one in strangers)).fields)
        return bool(inside)

    def _id_of(self, member: Member) -> str:
        return f"member-{member.name}" if member.native else self._play.told.members.get(member.name, "")

    def _member_ids(self) -> list[str]:
        return [str(row["member_id"]) for view in self._views() for row in _rows(view["members"])]

    def _views(self) -> tuple[Mapping[str, Value], Mapping[str, Value]]:
        """The group as DescribeGroups and as ConsumerGroupDescribe has it."""
        classic, consumer = self._play.views()
        return _rows(classic["groups"])[0], _rows(consumer["groups"])[0]

    def _turn(self, client: Client) -> bool:
        """One client does its next thing; whether anything changed."""
        if client.ended:
            return False
        if client.rests:
            client.rests -= 1
            return True
        changed = self._take(client)
        if client.waits or client.ended:
            return changed
        call = self._next_call(client)
        self._send(client, call)
        return self._take(client, within_s=0.4) or changed

    def _next_call(self, client: Client) -> Call:
        member = client.member
        if member.native:
            usual: dict[str, Part] = {**member.fields, "topic_partitions": Owned(who=member.name)}
            if client.phase == "join" or member.name not in self._play.told.members:
                return chb(member.name, 0, **member.fields)
            return chb(member.name, f"#{member.name}", **usual)
        if client.phase == "sync":
            assign: dict[str, Part] = {who: Assignment(partitions=share) for who, share in client.assigned.items()}
            fields: dict[str, Part] = {**member.static(), "protocol_name": client.protocol}
            return sync(member.name, member.sync, assign=assign, **fields)
        if client.phase == "join" or member.name not in self._play.told.members:
            make = rejoin if member.name in self._play.told.members else join
            return make(member.name, member.join, **member.fields)
        return beat(member.name, member.beat, **member.static())

    def _send(self, client: Client, call: Call) -> None:
        self._number -= 1
        self._sent[self._number] = call
        client.waits = True
        self._play.send(self._number, call)

    def _take(self, client: Client, within_s: float = 0.0) -> bool:
        """Take answers, of anybody, and act on them."""
        give_up = time.monotonic() + within_s
        changed = False
        while True:
            for raw in self._play.take_ready(max(0.0, give_up - time.monotonic())):
                changed = self._hear(raw) or changed
            if not client.waits or time.monotonic() >= give_up:
                return changed

    def _hear(self, raw: Raw) -> bool:
        call = self._sent.get(raw.asked)
        if call is None:
            return False
        client = self._clients[call.who]
        client.waits = False
        if not raw.api:
            client.ended = "closed"
            return True
        code = E(next(iter(errors(raw.answer)), 0))
        if code is E.NONE:
            return self._go_on(client, call, raw.answer)
        return self._stumble(client, code)

    def _go_on(self, client: Client, call: Call, answer: Mapping[str, Value]) -> bool:
        if call.api == "ConsumerGroupHeartbeat":
            joined, client.phase = client.phase == "join", "beat"
            return joined or (answer["assignment"] is not None and self._differs(client.member.name, answer))
        if call.api == "JoinGroup":
            client.phase = "sync"
            client.protocol = str(answer["protocol_name"])
            sizes = {**TOPICS, **self._play.grown} if answer["leader"] == answer["member_id"] else {}
            client.assigned = dealt_by_leader(answer, sizes)
            return True
        client.phase = "beat"
        return call.api == "SyncGroup"

    def _differs(self, who: str, answer: Mapping[str, Value]) -> bool:
        before = self._last.get(who)
        self._last[who] = str(answer["assignment"])
        return before != self._last[who]

    def _stumble(self, client: Client, code: E) -> bool:
        if code in FORGOTTEN and not (client.member.native and code is E.GROUP_ID_NOT_FOUND and client.phase == "join"):
            client.phase = "join"
            if not client.member.native:
                self._play.told.members.pop(client.member.name, None)
        elif code in AGAIN or code is E.MEMBER_ID_REQUIRED:
            client.phase = "join"
        elif code is E.UNKNOWN_SERVER_ERROR and client.member.native and client.failures < FAILURES_MAX:
            self._start_again(client)
        else:
            client.ended = code.name
        return True

    def _start_again(self, client: Client) -> None:
        """A failure of the coordinator ends a client of this kind, and whoever runs that starts it again in a while."""
        self._failed.setdefault(client.member.name, self._hindrance())
        client.failures += 1
        client.phase, client.rests = "join", RESTART_ROUNDS

    def _hindrance(self) -> str:
        """Who is in the group and does not offer the protocol that it had last: with that no conversion succeeds."""
        inside = {str(row["client_id"]) for view in self._views() for row in _rows(view["members"])}
        classics = [one.member for one in self._clients.values() if not one.member.native]
        chosen = self._play.chosen
        lacking = [
            one.name for one in classics if f"client-{one.name}" in inside and chosen not in names_in(one.fields)
        ]
        return f"{' '.join(lacking) or 'nobody'} lacks {chosen}"

    def _group(self) -> dict[str, Value]:
        """What must be equal: kind, state, who is in, how much each has, what nobody or more than one has."""
        classic, consumer = self._views()
        is_consumer = consumer["error"] == E.NONE
        owned = _owned_by_consumer(consumer) if is_consumer else _owned_by_classic(classic)
        words = {self._id_of(one.member): name for name, one in self._clients.items()}
        shares = {words.get(member, "?"): partitions for member, partitions in owned.items()}
        everything = [one for partitions in shares.values() for one in partitions]
        return {
            "kind": "consumer" if is_consumer else "classic",
            "state": (consumer if is_consumer else classic)["state"],
            "shares": {who: len(partitions) for who, partitions in sorted(shares.items())},
            "owned": sorted({one.replace(self._play.group, "$g") for one in everything}),
            "owned twice": sorted({one for one in everything if everything.count(one) > 1}),
            "told otherwise": sorted(
                who for who, partitions in shares.items() if sorted(partitions) != self._told(who)
            ),
        }

    def _told(self, who: str) -> list[str]:
        owned = self._play.told.owned.get(who, {})
        return sorted(
            f"{topic.replace(self._play.group, '$g')} {number}" for topic, own in owned.items() for number in own
        )


class SettlingPlay(RandomPlay):
    """A sequence on one side whose clients may be let go on by themselves."""

    def _seen(self, number: int, move: Move) -> RawSeen:
        match move:
            case Settle():
                settled = Settling(self, move.members).run()
            case Probe():
                settled = {"probes": Probing(self, move.members).run()}
            case _:
                return super()._seen(number, move)
        return RawSeen(answers=(), classic=NOTHING, consumer=NOTHING, settled=settled)


NOTHING: Mapping[str, Value] = {"groups": []}


def _owned_by_consumer(group: Mapping[str, Value]) -> dict[str, list[str]]:
    owned: dict[str, list[str]] = {}
    for row in _rows(group["members"]):
        assignment = row["assignment"]
        assert isinstance(assignment, Mapping)
        owned[str(row["member_id"])] = _names(_rows(assignment["topic_partitions"]), "topic_name")
    return owned


def _owned_by_classic(group: Mapping[str, Value]) -> dict[str, list[str]]:
    owned: dict[str, list[str]] = {}
    for row in _rows(group["members"]):
        data = row["assignment"]
        assert isinstance(data, bytes)
        decoded = protocol.decode(protocol.ASSIGNMENT, data)
        owned[str(row["member_id"])] = [] if decoded is None else _names(_rows(decoded["partitions"]), "topic")
    return owned


def _names(rows: Sequence[Mapping[str, Value]], key: str) -> list[str]:
    names = []
    for row in rows:
        numbers = row["partitions"]
        assert isinstance(numbers, list)
        names += [f"{row[key]!s} {number}" for number in numbers]
    return names


def _rows(value: Value) -> list[Mapping[str, Value]]:
    assert isinstance(value, list)
    return [row for row in value if isinstance(row, Mapping)]


def dealt_by_leader(answer: Mapping[str, Value], sizes: Mapping[str, int]) -> dict[str, dict[str, list[int]]]:
    """What a leader assigns: each of these topics dealt out in ranges among those who want it."""
    wants: dict[str, list[str]] = {}
    for row in _rows(answer["members"]):
        data = row["metadata"]
        assert isinstance(data, bytes)
        decoded = protocol.decode(protocol.SUBSCRIPTION, data)
        topics = [] if decoded is None else decoded["topics"]
        assert isinstance(topics, list)
        for topic in topics:
            wants.setdefault(str(topic), []).append(str(row["member_id"]))
    shares: dict[str, dict[str, list[int]]] = {str(row["member_id"]): {} for row in _rows(answer["members"])}
    for topic, members in wants.items():
        for partition in range(sizes.get(topic, 0)):
            shares[sorted(members)[partition % len(members)]].setdefault(topic, []).append(partition)
    return shares
