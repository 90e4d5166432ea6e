"""What one connection's client may do with groups that brokers don't see: asked on its own connection to its broker.

The first request for a group waits for the answer; when that is old, it is asked for again beside what goes on.
"""

import logging
from collections.abc import Callable, Hashable
from collections.abc import Set as AbstractSet
from functools import partial
from typing import NamedTuple

import trio

from bridge.log_lines import Line, LogFields, cause_by_names
from bridge.net.broker_side import BrokerSide, ClientSide, Cluster
from bridge.net.client_questions import OWN_CORRELATION_ID, ClientQuestions, LoginProof
from bridge.net.clock import now_ms
from bridge.net.shared import Asked, Shared
from bridge.session.broker_answers import Expected
from bridge.session.client_session import Divided, Submitted
from bridge.session.grants import FREE, TOPICS_MAX, Grant, Holder
from bridge.session.group_requests import Unplaced
from bridge.session.limits import READ_ELEMENT_BYTES
from bridge.session.outbox import SMALL_REQUEST_BYTES, Slot
from bridge.session.proven_login import Identity, ProvenLogin, identity_by
from bridge.session.requests import Head
from bridge.session.rights import (
    OPERATIONS_SINCE,
    OPERATIONS_UNTIL,
    Guarded,
    goes_on_unheard,
    guarded_in,
    operations_question,
    read_by_heartbeat,
    read_by_operations,
    read_question,
    refusal_of_transaction,
    topics_of,
    transaction_question,
    without_topics,
)
from bridge.wire.apis import ApiKey
from bridge.wire.codec.registry import Reply, Request
from bridge.wire.errors import MalformedFrame
from bridge.wire.metadata import NAMED_SINCE, NAMED_UNTIL, named_topics_request, read_topic_errors
from bridge.wire.proxy_protocol import LOCAL_HEADER
from translators.dialects.classic import JoinGroup, SyncGroup
from translators.dialects.consumer import ConsumerGroupHeartbeat, ConsumerGroupHeartbeatReply
from translators.dialects.errors import ErrorCode, quote
from translators.dialects.ids import GroupId, TopicName
from translators.dialects.kept_names import NAME_CHARS_MAX, kept_name
from translators.dialects.offsets import TxnOffsetCommit

EVERYBODY = "everybody"
"""Who all connections are to the brokers of a cluster without a login: they come from the bridge's own address, unless
brokers are told each client's (`upstream.proxy-protocol`), by which an authorizer tells them apart.
"""
_NOT_KNOWN = ErrorCode.COORDINATOR_NOT_AVAILABLE


class RightsAnswer(NamedTuple):
    """What a broker said: whether the group may be read, and which topics that were asked about are not to be seen;
    None: it said nothing.
    """

    reads: bool | None
    unseen: frozenset[TopicName] = frozenset()


NOTHING_HEARD = RightsAnswer(reads=None)
Take = Callable[[RightsAnswer], None]


OWN_WORD_MS, OWN_WORD_AFTER = 480_000, 8
"""So long a connection that shares answers with others goes without an answer of its own, at most so many times the
time after which a right is asked for again: two minutes less than Kafka's `connections.max.idle.ms`. Heartbeats don't
reach its broker, which would close it for that, or would say that the login is over. It is most of what rights cost.
"""
OTHERS_WAIT_MS = 2_000
"""So long a request waits for what is asked on another connection of whoever brokers take for the same: 1,500 newcomers
of a group opened 950 connections to its broker for one answer, which took a second as long as all of them came. No
longer, for that client may read no answers, or its broker give none.
"""
GROUPS_MAX = 1_000
"""Of so many groups something is kept for one connection; beyond that it is all asked for again."""


class ClientRights:
    """The rights of one connection's client."""

    __slots__ = (
        "_asking",
        "_broker",
        "_client",
        "_cluster",
        "_kept",
        "_login",
        "_questions",
        "_session",
        "_shared",
        "_word_due_ms",
        "proof",
    )

    def __init__(
        self, shared: Shared, cluster: Cluster, client: ClientSide, broker: BrokerSide, questions: ClientQuestions
    ) -> None:
        self.proof = LoginProof(cluster, broker, client)
        self._shared = shared
        self._cluster = cluster
        self._client = client
        self._session = client.session
        self._broker = broker
        self._questions = questions
        self._kept: set[GroupId] | None = None
        """Groups of which something may be kept under this connection's number."""
        self._asking: dict[GroupId, _Inquiry] | None = None
        """Of which groups the broker is being asked just now on this connection."""
        self._login: ProvenLogin | None = None
        """Where the client logs in by itself, whom the broker takes it for."""
        self._word_due_ms = self._next_word_ms(now_ms())

    def follow_login(self, head: Head) -> None:
        """A request of SASL is on its way to the broker."""
        if self._login is None:
            self._login = ProvenLogin(self._shared.identity_key)
        self._login.say(head.header, head.data, is_whole=not head.left)

    def hear_login(self, version: int, frame: bytes) -> None:
        """The broker has answered a SaslAuthenticate."""
        if self._login is not None:
            self._login.hear(version, frame)
            self._word_due_ms = self._next_word_ms(now_ms())

    def keep_up(self, now: int) -> None:
        """Have the broker say now and then that it still takes the client for somebody, where others' answers count."""
        if now < self._word_due_ms:
            return
        self._word_due_ms = self._next_word_ms(now)
        shares = not self._cluster.is_open and self._principal() != self._session.connection
        # Where the bridge has to log in anew for a client, the next question does that.
        if shares and now < self._cluster.login_ends_ms:
            self.proof.renew(lambda: None)

    @property
    def wait_max_ms(self) -> int:
        """How long a request waits for what a broker is asked of it."""
        return self._session.limits.upstream_wait_max_ms

    def _next_word_ms(self, now: int) -> int:
        return now + min(OWN_WORD_MS, OWN_WORD_AFTER * self._session.limits.grant_ms)

    def find_nowait(self, decision: Submitted | Divided) -> Grant | None:
        """The grant by which a request may be carried out as it is; None: `judge` it first. One that is due is asked
        for again beside.
        """
        if not self.proof.is_given:
            return None
        request = guarded_part(decision)
        if request is None:
            return FREE
        if decision.slot.api_key == ApiKey.JOIN_GROUP:
            # Before the next connection's: a hundred that come at once are not all let in as if they took nothing.
            self._read(decision.slot, request)
        return self._find(request)

    def _find(self, request: Guarded) -> Grant | None:
        now = now_ms()
        holder = self._holder(request.group_id)
        grant = self._shared.grants.find(holder, now)
        if grant is None or not topics_of(request) <= grant.topics:
            return None
        if now >= grant.due_ms:
            if request.group_id not in (self._asking or ()):
                # Others of the same identity go on by the same grant, and one of them may have begun to ask.
                asked = self._shared.asked.get(holder)
                if asked is None or now >= asked.at_ms + OTHERS_WAIT_MS:
                    self._inquire(request.group_id, holder, grant.topics, lambda _: None)
            # Of 150 members that beat every 3 s fifty took the long way in a second in which a broker was asked.
            grant.go_on(now)
        return grant

    async def judge(self, decision: Submitted | Divided) -> Submitted | Divided | ErrorCode:
        """The request as it may be carried out, or the code that refuses it: a verdict is always a broker's own."""
        request = guarded_part(decision)
        self._weigh(decision.slot, request)
        await self.proof.wait_for()
        if isinstance(request, SyncGroup) and request.lacks_protocol:
            # Brokers look at that before they look at rights (K1.47).
            return ErrorCode.INCONSISTENT_GROUP_PROTOCOL
        self._read(decision.slot, request)
        judged = request if request is None else await self._judge(request)
        if isinstance(request, TxnOffsetCommit) and judged is ErrorCode.GROUP_AUTHORIZATION_FAILED:
            judged = await self._judge_transaction(request)
        if judged is None or judged is request or isinstance(judged, ErrorCode):
            return judged if isinstance(judged, ErrorCode) else decision
        if isinstance(request, JoinGroup):
            # Another goes on in its place, and nobody will say of this one that it is decided.
            request.forget()
        return decision._replace(request=judged) if isinstance(decision, Submitted) else decision

    def _read(self, slot: Slot, request: Guarded | None) -> None:
        """Read what a JoinGroup subscribes to, which the broker is asked about."""
        if isinstance(request, JoinGroup):
            topics_of(request)
            self._weigh(slot, request)

    def _weigh(self, slot: Slot, request: Guarded | None) -> None:
        """Let what was read of a JoinGroup count until it is decided, when it is forgotten: it takes up to 40 times the
        bytes of its frame, and a broker that answers nothing about rights keeps each for ten seconds.
        """
        read_bytes = READ_ELEMENT_BYTES * request.elements_read if isinstance(request, JoinGroup) else 0
        if read_bytes < SMALL_REQUEST_BYTES or slot.read_bytes or not isinstance(request, JoinGroup):
            return
        self._session.outbox.keep_read(slot, read_bytes)
        self._client.note_held()
        request.when_forgotten(partial(self._lighten, slot))

    def _lighten(self, slot: Slot) -> None:
        self._session.outbox.keep_read(slot, 0)
        self._client.note_held()
        self._client.change()

    async def _judge_transaction(self, request: TxnOffsetCommit) -> ErrorCode:
        """Why its sender, who may not READ the group, is refused: Kafka looks at the transactional id before that."""
        heard, codes = trio.Event(), [ErrorCode.GROUP_AUTHORIZATION_FAILED]

        def hear(reply: Reply | None) -> None:
            codes[0] = refusal_of_transaction(reply)
            heard.set()

        self._questions.ask(None, transaction_question(request), hear, None)
        with trio.move_on_after(self.wait_max_ms / 1000):
            await heard.wait()
        return codes[0]

    async def _judge(self, request: Guarded) -> Guarded | ErrorCode:
        holder, names = self._holder(request.group_id), topics_of(request)
        asking = (self._asking or {}).get(request.group_id)
        is_unheard = asking is not None and not await asking.is_answered()
        # It may be another connection's question that was answered meanwhile, of whoever brokers take for the same.
        if self._find(request) is not None:
            return request
        if is_unheard:
            return self._verdict(request, NOTHING_HEARD, names)
        grant = self._shared.grants.find(holder, now_ms())
        known = frozenset() if grant is None else grant.topics
        if self._cluster.is_open and not self._cluster.is_reachable:
            # To wait for a broker that is not there would hold up the heartbeats behind a join on its connection.
            return self._verdict(request, NOTHING_HEARD, names)
        if await self._is_told_to_another(holder, names) and self._find(request) is not None:
            return request
        findings = list[RightsAnswer]()
        asked = known | names if len(known) + len(names) <= TOPICS_MAX else names
        is_answered = await self._inquire(request.group_id, holder, asked, findings.append).is_answered()
        if not is_answered and self._find(request) is not None:
            return request
        return self._verdict(request, findings[0] if is_answered else NOTHING_HEARD, names)

    async def _is_told_to_another(self, holder: Holder, names: frozenset[TopicName]) -> bool:
        """Whether a broker was being asked the same on another connection, and has answered in time."""
        asked = self._shared.asked.get(holder)
        if asked is None or not names <= asked.names:
            return False
        # Half of all its time is left for its own question.
        wait_ms = min(OTHERS_WAIT_MS, self.wait_max_ms // 2)
        with trio.move_on_after(max(0, asked.at_ms + wait_ms - now_ms()) / 1000):
            await asked.heard.wait()
        return asked.heard.is_set()

    async def claim(self, head: Head, group_id: GroupId) -> tuple[GroupId, ...]:
        """Have who may READ a group decide, by being the first to join, where it goes; gives what is to be placed then.

        Where no broker says that he may, the group goes where it would without him, and he is refused there.
        """
        question = read_question(group_id)
        await self._judge(question)
        if self._find(question) is not None:
            self._session.claim(head)
        found = self._session.read(head)
        return found.group_ids if isinstance(found, Unplaced) else ()

    async def judge_name(self, group_id: GroupId) -> ErrorCode:
        """Why somebody is refused who comes for a group of another kind under a name that is taken: who may not READ
        that is told so, and nothing of the name.
        """
        await self.proof.wait_for()
        judged = await self._judge(read_question(group_id))
        return judged if isinstance(judged, ErrorCode) else ErrorCode.GROUP_ID_NOT_FOUND

    def forget(self) -> None:
        """The connection is over, or its client logs in anew; what others of its identity share is still theirs."""
        for group_id in self._kept or ():
            self._shared.grants.take(Holder(self._session.connection, group_id))
        # What is still to be answered was asked for whoever was in before.
        for inquiry in (self._asking or {}).values():
            self._let_others_ask(inquiry)
        self._kept = self._asking = None

    def _let_others_ask(self, inquiry: "_Inquiry") -> None:
        if self._shared.asked.get(inquiry.holder) is inquiry.asked:
            del self._shared.asked[inquiry.holder]

    def _verdict(self, request: Guarded, found: RightsAnswer, names: frozenset[TopicName]) -> Guarded | ErrorCode:
        if found.reads is None:
            goes_on = self._cluster.is_open and goes_on_unheard(request, self._seen(request))
            return request if goes_on else _NOT_KNOWN
        if not found.reads:
            return ErrorCode.GROUP_AUTHORIZATION_FAILED
        unseen = names & found.unseen
        if not unseen:
            return request
        if isinstance(request, JoinGroup):
            self._tell_unseen(request, unseen)
            return without_topics(request, unseen)
        return ErrorCode.TOPIC_AUTHORIZATION_FAILED

    def _seen(self, request: Guarded) -> AbstractSet[TopicName]:
        """The topics that its sender was found to see, in this life of the bridge or, as its member, in one before: a
        Java client says its whole subscription again once its connection was lost, and is given nothing by that.
        """
        seen: AbstractSet[TopicName] = self._shared.grants.seen(self._holder(request.group_id))
        if isinstance(request, ConsumerGroupHeartbeat):
            seen |= self._shared.rules.known_groups.subscribed(request.group_id, request.member_id)
        return seen

    def _tell_unseen(self, request: JoinGroup, unseen: frozenset[TopicName]) -> None:
        client = self._session.identity
        line = Line(
            logging.WARNING,
            "EB-GROUP-024: client %r of group %r subscribes to %d topics that it may not see, %r among them, and gets"
            " no partitions of them; give its principal the right DESCRIBE on them, or let it not subscribe to them",
            (quote(client.client_id), quote(request.group_id), len(unseen), quote(min(unseen))),
            LogFields(group_id=request.group_id, client_id=client.client_id, client_host=client.client_host),
        )
        cause = cause_by_names("unseen", client.client_host, request.group_id, client.client_id)
        self._shared.log.write(now_ms(), cause, line)

    def look_at_assignment(self, request: Request | None, reply: Reply) -> None:
        """Have it told, beside what goes on, where a member was given topics by its pattern that it may not see.

        A pattern is resolved once for all who have it. Java's consumer asks for the names of what it is given, and
        reads nothing at all any more where its broker does not tell it one (IllegalStateException, 4.3.1).
        """
        if not isinstance(reply, ConsumerGroupHeartbeatReply) or not reply.assignment:
            return
        if not isinstance(request, ConsumerGroupHeartbeat):
            return
        member_id = reply.member_id or request.member_id
        names = self._shared.rules.known_groups.matched(request.group_id, member_id, reply.assignment)
        asked = frozenset(sorted(names - self._shared.grants.seen(self._holder(request.group_id)))[:TOPICS_MAX])
        if asked:
            self.ask_topics(asked, partial(self._tell_matched, request.group_id))

    def _tell_matched(self, group_id: GroupId, version: int, answer: bytes | None) -> None:
        unseen = _read_topics(version, answer).unseen
        if not unseen:
            return
        client = self._session.identity
        line = Line(
            logging.WARNING,
            "EB-GROUP-028: client %r of group %r has partitions by its pattern of %d topics that it may not see, %r"
            " among them; Java's consumers read nothing at all then: give its principal the right DESCRIBE on all that"
            " the pattern matches, or narrow that",
            (quote(client.client_id), quote(group_id), len(unseen), quote(min(unseen))),
            LogFields(group_id=group_id, client_id=client.client_id, client_host=client.client_host),
        )
        cause = cause_by_names("matched", client.client_host, group_id, client.client_id)
        self._shared.log.write(now_ms(), cause, line)

    def _holder(self, group_id: GroupId) -> Holder:
        # Grants are kept by the hundred thousand, and a name may have 32 kB.
        is_short = len(group_id) <= NAME_CHARS_MAX
        return Holder(self._principal(), group_id if is_short else GroupId(kept_name(group_id)))

    @property
    def principal(self) -> Hashable | None:
        """Equal for connections whose clients their broker takes for the same one; None: nobody here can say."""
        principal = self._principal()
        return None if principal == self._session.connection else principal

    def _principal(self) -> Hashable:
        """Whom brokers take this client for: the number of its connection where that is nobody else.

        On an open cluster it is told by the host that brokers see, for they see no more; on others also by its login,
        and by the broker: the bridge may come to each from another address, and a bootstrap listener leads to any.
        """
        session = self._session
        announcement = session.announcement
        # Of a client that was gone before it could be announced nobody is told, and what it hears is nobody else's.
        if announcement == LOCAL_HEADER:
            return session.connection
        if self._cluster.is_open:
            return session.identity.client_host if announcement else EVERYBODY
        identity, broker_id = self._identity(), self._broker.broker_id
        if identity is None or broker_id is None:
            return session.connection
        return identity, session.identity.client_host if announcement else "", broker_id

    def _identity(self) -> Identity | None:
        """As whom the client, or the bridge for it, has logged in at the broker; None: nobody here can say."""
        login, proof = self._login, self._cluster.login_proof
        if proof is None:
            return None if login is None else login.identity
        # Who logs in on top of the bridge is somebody whom a new connection to the broker would not know.
        return identity_by(self._shared.identity_key, proof) if login is None else None

    # -------- questions

    def _inquire(self, group_id: GroupId, holder: Holder, names: frozenset[TopicName], take: Take) -> "_Inquiry":
        """Ask what a holder may with a group, and keep it, unless all was forgotten meanwhile."""
        inquiry = _Inquiry(self, group_id, holder, names, take)
        self._asking = self._asking or {}
        self._asking[group_id] = inquiry
        self._shared.asked[holder] = inquiry.asked
        version = min(self._questions.highest_version(ApiKey.DESCRIBE_GROUPS) or 0, OPERATIONS_UNTIL)
        if version < OPERATIONS_SINCE:
            self.ask_read(group_id, inquiry.take_reads)
        else:
            self._questions.ask(None, operations_question(group_id), inquiry.take_operations, version)
        return inquiry

    def heard(self, inquiry: "_Inquiry", found: RightsAnswer, *, is_kept: bool) -> None:
        """An inquiry has come to its end; `is_kept`: what it found is known already."""
        self._let_others_ask(inquiry)
        holder = inquiry.holder
        if self._asking is None or self._asking.get(inquiry.group_id) is not inquiry:
            return
        del self._asking[inquiry.group_id]
        is_old = found.reads and now_ms() - inquiry.asked.at_ms >= self._session.limits.grant_ms
        # Who reads no answers holds up its broker's: nobody knows when that was said. And it was said of
        # somebody else where the bridge has logged in anew for this client meanwhile.
        if not is_kept and not is_old and self._principal() == holder.principal:
            self._keep(holder, inquiry.asked.names, found)

    def is_known(self, inquiry: "_Inquiry") -> bool:
        """Whether another connection of the holder has heard since this inquiry began that all its topics are seen."""
        grant = self._shared.grants.find(inquiry.holder, now_ms())
        return grant is not None and grant.given_ms >= inquiry.asked.at_ms and inquiry.asked.names <= grant.topics

    def ask_read(self, group_id: GroupId, go_on: Callable[[bool | None], None]) -> None:
        """Ask by a Heartbeat of nobody whether the group may be read."""
        if self._questions.highest_version(ApiKey.HEARTBEAT) is None:
            go_on(self.where_nobody_judges())
            return
        self._questions.ask(None, read_question(group_id), lambda reply: go_on(read_by_heartbeat(reply)), None)

    def ask_topics(self, names: frozenset[TopicName], take: Callable[[int, bytes | None], None]) -> bool:
        """Ask which topics are seen, in a version that `take` hears with the answer; False: the broker has none."""
        version = min(self._questions.highest_version(ApiKey.METADATA) or 0, NAMED_UNTIL)
        if version < NAMED_SINCE:
            return False
        frame = named_topics_request(version, OWN_CORRELATION_ID, self._session.identity.client_id, sorted(names))
        self._broker.ask(Expected(OWN_CORRELATION_ID, None, partial(take, version)), frame)
        return True

    def where_nobody_judges(self) -> bool | None:
        """Whether a right is there that the broker has no API to ask for: where nobody logs in, as there are no
        groups. Of a broker whose versions are not known, or too old to count, that can't be said.
        """
        is_known = self._cluster.offered_nowait(self._broker.broker_id) is not None
        return True if self._cluster.is_open and is_known else None

    def _keep(self, holder: Holder, names: frozenset[TopicName], found: RightsAnswer) -> None:
        grants = self._shared.grants
        if found.reads:
            if holder.principal == self._session.connection:
                if self._kept is not None and len(self._kept) >= GROUPS_MAX:
                    self.forget()
                self._kept = self._kept or set()
                self._kept.add(holder.group_id)
            grants.give(holder, names - found.unseen, now_ms())
        elif found.reads is not None:
            grants.take(holder)


class _Inquiry:
    """What a broker is asked of one holder, each question when the one before is answered, and how long requests wait
    for the answer: a frozen broker gives none, and its connection stays.
    """

    __slots__ = ("_rights", "_take", "asked", "group_id", "holder", "until_ms")

    def __init__(
        self,
        rights: ClientRights,
        group_id: GroupId,
        holder: Holder,
        names: frozenset[TopicName],
        take: Take,
    ) -> None:
        self.group_id = group_id
        self.holder = holder
        self.asked = Asked(names, now_ms(), trio.Event())
        self.until_ms = self.asked.at_ms + rights.wait_max_ms
        self._rights = rights
        self._take = take

    async def is_answered(self) -> bool:
        """Wait for the answer as long as one may; it may still come later, and counts from then on."""
        with trio.move_on_after(max(0, self.until_ms - now_ms()) / 1000):
            await self.asked.heard.wait()
        return self.asked.heard.is_set()

    def take_operations(self, reply: Reply | None) -> None:
        """What of the group is allowed."""
        reads = read_by_operations(reply)
        if reads is None and reply is not None:
            self._rights.ask_read(self.group_id, self.take_reads)
        else:
            self.take_reads(reads)

    def take_reads(self, reads: bool | None) -> None:
        """Whether the group may be read; then its topics are asked for."""
        if not reads or not self.asked.names:
            self._end(RightsAnswer(reads))
        elif not self._rights.ask_topics(self.asked.names, self._take_topics):
            self._end(RightsAnswer(self._rights.where_nobody_judges()))

    def _take_topics(self, version: int, answer: bytes | None) -> None:
        """1,000 newcomers of a group ask side by side, and each answer names thousands of partitions: what brokers said
        to another connection of the same holder since this one asked is as good, and is not read again.
        """
        if answer is not None and self._rights.is_known(self):
            self._end(RightsAnswer(reads=True), is_kept=True)
        else:
            self._end(_read_topics(version, answer))

    def _end(self, found: RightsAnswer, *, is_kept: bool = False) -> None:
        self._rights.heard(self, found, is_kept=is_kept)
        self._take(found)
        self.asked.heard.set()


def _read_topics(version: int, answer: bytes | None) -> RightsAnswer:
    """Of whoever may read the group; a topic that is not there may be seen once it is."""
    if answer is None:
        return RightsAnswer(None)
    try:
        codes = read_topic_errors(version, answer)
    except MalformedFrame:
        return RightsAnswer(None)
    denied = ErrorCode.TOPIC_AUTHORIZATION_FAILED
    return RightsAnswer(reads=True, unseen=frozenset(name for name, code in codes.items() if code == denied))


def guarded_part(decision: Submitted | Divided) -> Guarded | None:
    """What of a request needs a right that no broker will look at."""
    if isinstance(decision, Submitted):
        return guarded_in(decision.road, decision.request)
    parts = (guarded_in(road, part) for road, part in decision.merge.parts.items())
    return next((part for part in parts if part is not None), None)
