"""One client connection as a plain object: what it sent is cut and decided on, and every answer finds its place."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import NamedTuple

from bridge.migration.route import Road, Router, has_joined
from bridge.session.bridge_login import BridgeLogin, BridgeLogins
from bridge.session.broker_answers import AnswerCutter
from bridge.session.close_reasons import CloseReason
from bridge.session.contracts import Hear, Passing, PassingRequest
from bridge.session.fatal_answers import LIVED_THROUGH, Ended, ending_in, ending_in_frame, ends, member_of
from bridge.session.group_requests import (
    NOTHING_KNOWN,
    DividedRequest,
    GroupRequest,
    GroupRequests,
    KnownGroups,
    Misread,
    Passes,
    Taken,
    Unplaced,
    Untranslated,
)
from bridge.session.limits import LARGE_BODY_BYTES, Limits, kept_bytes
from bridge.session.login import Login
from bridge.session.old_commits import OldCommits
from bridge.session.outbox import SMALL_REQUEST_BYTES, Outbox, Slot
from bridge.session.remembered_answers import Remembered
from bridge.session.requests import OF_OFFSETS, Head, Rejected, RequestCutter, held_whole, produce_is_answered
from bridge.session.split_requests import Merge
from bridge.wire.api_versions import ApiVersionsAnswer, api_versions_reply, read_client_software
from bridge.wire.apis import ApiKey, Treatment, api_name, treatment
from bridge.wire.codec.registry import SUPPORTED, Reply, Request, decode_reply, encode_reply, group_ids
from bridge.wire.endpoints import carries_addresses
from bridge.wire.errors import MalformedFrame
from bridge.wire.fetch import asks_for_records, with_max_bytes
from bridge.wire.frames import LENGTH_BYTES, RequestHeader
from bridge.wire.group_names import (
    group_of,
    is_let_in,
    is_of_other_kind,
    keeps_member,
    kind_of,
    refuse_other_kind,
)
from bridge.wire.heartbeat import heartbeat_reply
from bridge.wire.sasl import read_username
from bridge.wire.versions import VersionTable, speaks
from translators.dialects.classic import HeartbeatReply, JoinGroupReply
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import ClientIdentity, GroupId, MemberId

OF_LOGIN = frozenset((ApiKey.SASL_HANDSHAKE, ApiKey.SASL_AUTHENTICATE))
SPARE_PART = 4
"""Of what is held of an answer, one such part is kept for all in it that is no record."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Offered:
    """What one broker speaks, and what clients of its listener are offered of it."""

    broker: VersionTable
    answer: ApiVersionsAnswer
    remembered: Remembered | None = None
    """What stands in for the broker's other answers, as long as none has been heard."""


ReportKind = Callable[[GroupId, str], None]
"""Hears that a broker let somebody into a group that is none of consumers, with the kind that it is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """What holds for all connections of a proxy."""

    limits: Limits
    router: Router
    node: int = 0
    known_groups: KnownGroups = NOTHING_KNOWN
    report_kind: ReportKind = lambda _group_id, _kind: None
    logins: BridgeLogins | None = None
    """Clients log in at the bridge; None: at brokers, or nowhere."""
    old_commits: OldCommits = field(default_factory=OldCommits)


FindEnding = Callable[[bytes | memoryview], Ended | None]
"""Says of a broker's answer, as far as it is there, whether it ends its client."""


class Relayed(NamedTuple):
    """The request goes to the broker and its answer comes back unread; no slot when there will be no answer."""

    slot: Slot | None
    find_ending: FindEnding | None = None


class LoggingIn(NamedTuple):
    """A step of a login, which goes to the broker once everything before it is answered, as brokers take them."""

    slot: Slot


class Rewritten(NamedTuple):
    """The request goes to the broker, whose answer is held and its addresses replaced; with `hear` it is shown to that
    and stays as it is. `data` is sent in place of the head's.
    """

    slot: Slot
    hear: Hear | None = None
    data: bytes | None = None
    find_ending: FindEnding | None = None


class Answered(NamedTuple):
    """The answer is in its slot already; `ended` says that it ends its client."""

    slot: Slot
    ended: Ended | None = None


class Submitted(NamedTuple):
    """Whoever serves the road is to be asked."""

    slot: Slot
    road: Road
    request: Request


class Divided(NamedTuple):
    """Each part of a request is to be asked on its road; the answers are merged."""

    slot: Slot
    merge: Merge


class NameTaken(NamedTuple):
    """Somebody comes for a share or streams group under the name of a group that the bridge has, and is to be refused:
    with what is told once it is known whether he may READ the group, as by brokers, which look at that first.
    """

    slot: Slot
    header: RequestHeader
    group_id: GroupId


Decision = Relayed | Rewritten | LoggingIn | Answered | Submitted | Divided | Unplaced | NameTaken | Rejected


class ClientSession:
    """Bytes of one client in, decisions and ordered answers out."""

    __slots__ = (
        "_groups",
        "_holds",
        "_old_commits",
        "_passing",
        "_principal",
        "_report_kind",
        "_router",
        "announcement",
        "answers",
        "bridge_login",
        "broker_id",
        "connection",
        "identity",
        "is_let_in",
        "limits",
        "login",
        "outbox",
        "requests",
        "says_it_authenticates",
    )

    def __init__(self, rules: Rules, connection: int, client_host: str, passing: Passing) -> None:
        self.connection = connection
        self.bridge_login = None if rules.logins is None else BridgeLogin(rules.logins)
        holds = held_whole if rules.logins is None else _held_for_login
        self.requests = RequestCutter(rules.limits, holds, self._reads_fetch)
        self.outbox = Outbox(rules.node, connection)
        self.answers = AnswerCutter(rules.limits.rewritten_answer_bytes_max)
        self.identity = ClientIdentity(client_id="", client_host=client_host)
        self.says_it_authenticates = False
        self.login = Login()
        self.is_let_in = True
        """Whether the client is bounded as one that is somebody; see `hold_back`."""
        self.broker_id: int | None = None
        """The broker whose listener the client came in by, None for the bootstrap listener."""
        self.announcement = b""
        """What brokers are told of the client in front of its connections to them."""
        self.limits = rules.limits
        self._router = rules.router
        self._principal = ""
        limits = rules.limits
        self._groups = GroupRequests(rules.router, limits.elements_max, limits.names_max, rules.known_groups)
        self._report_kind = rules.report_kind
        self._passing = passing
        self._old_commits = rules.old_commits
        self._holds = rules.known_groups.holds

    def hold_back(self) -> None:
        """Until `let_in` nobody knows who the client is, and little is read of what it sends."""
        limits = self.limits
        self.is_let_in = False
        self.requests.frame_bytes_max = min(limits.unauthenticated_frame_bytes_max, limits.frame_bytes_max)

    def let_in(self) -> None:
        """The client has logged in, or need not."""
        self.is_let_in = True
        self.requests.frame_bytes_max = self.limits.frame_bytes_max

    @property
    def bytes_held(self) -> int:
        """Bytes in the buffers of this session."""
        outbox = self.outbox
        return self.requests.bytes_held + outbox.bytes_held + outbox.request_bytes + self.answers.bytes_held

    @property
    def bytes_collected(self) -> int:
        """Those of frames that are still coming and are held until they are whole, and of what was read of others for
        their turn: while too much is held, they are let in one after the other.
        """
        return self.requests.bytes_held + self.answers.bytes_held + self.outbox.read_bytes

    @property
    def is_full(self) -> bool:
        """Whether nothing more should be read from the client before some answers have left."""
        limits = self.limits
        return len(self.outbox) >= limits.inflight_requests_max or self.outbox.bytes_held > limits.inflight_bytes_max

    @property
    def is_quiet(self) -> bool:
        """Whether no request is half read and none is unanswered."""
        return self.requests.is_at_boundary and not self.outbox

    def is_slow_to_read(self, head: Head, offered: Offered) -> bool:
        """Whether this is for `read`, which then takes so long that others have to be served meanwhile."""
        header = head.header
        is_large = header.frame_bytes >= LARGE_BODY_BYTES and not head.left
        return is_large and header.api_key in SUPPORTED and _refused(header, offered.answer.versions) is None

    def read(self, head: Head) -> GroupRequest:
        """What a group request says, as far as its road asks for; changes nothing, so that any thread may do it."""
        return self._groups.read(head.header, head.data)

    def read_placed(self, head: Head) -> GroupRequest:
        """The same once it was found out where its groups live, as far as that can be."""
        return self._groups.read(head.header, head.data, is_placed=True)

    def refusal(self, head: Head, code: ErrorCode) -> bytes | Rejected:
        """The answer that refuses a group request; any thread may make it, as with `read`."""
        try:
            return self._groups.refusal(head.header, head.data, code)
        except MalformedFrame as error:
            return Rejected(CloseReason.MALFORMED_REQUEST, str(error))

    def refuse(self, head: Head, refusal: bytes | Rejected) -> Decision:
        """Answer a group request so."""
        if isinstance(refusal, Rejected):
            return refusal
        slot = self._reserve(head.header)
        self.outbox.fill(slot, refusal)
        return Answered(slot)

    def claim(self, head: Head) -> None:
        """The client may READ the group that it joins: if it is the first to do so, it decides where that goes."""
        self._groups.claim(head.header, head.data, self._principal)

    def decide(
        self, head: Head, offered: Offered, found: GroupRequest | None = None, *, is_placed: bool = False
    ) -> Decision:
        """What becomes of a request; its answer's place is taken in the outbox, unless it is to be decided on once its
        groups are placed, or claimed. `found` is what `read` gave, if it was asked before.
        """
        header = head.header
        if header.client_id is not None and header.client_id != self.identity.client_id:
            self._introduce(header.client_id)
        if self.login.is_over and header.api_key not in OF_LOGIN:
            # A broker would close, also at what nobody has to ask it.
            return Rejected(CloseReason.LOGIN_RAN_OUT, f"client {header.client_id!r}")
        if header.api_key == ApiKey.API_VERSIONS:
            return self._api_versions(head, offered.answer)
        login = self.bridge_login
        # Not a call more for those who log in elsewhere.
        decided = _refused(header, offered.answer.versions) or (None if login is None else self._log_in(login, header))
        if decided is not None:
            return decided
        if treatment(header.api_key) is Treatment.ANSWERED:
            return self._group_request(head, offered, found, is_placed=is_placed)
        if header.api_key == ApiKey.PRODUCE and not produce_is_answered(header, head.data):
            return Relayed(None)
        if header.api_key == ApiKey.FETCH and not head.left and self._reads_fetch():
            self._passing.fetched(header, head.data, self.identity)
        if is_of_other_kind(header.api_key):
            return self._other_kind(head)
        if carries_addresses(header.api_key, header.api_version):
            return self._from_memory(head, offered.remembered) or self._rewritten(head)
        return self._login_at_broker(head) if header.api_key in OF_LOGIN else Relayed(self._reserve_stream(header))

    def _login_at_broker(self, head: Head) -> LoggingIn:
        self.says_it_authenticates = True
        self._note_principal(head)
        return LoggingIn(self._reserve(head.header))

    def version_to_ask(self, slot: Slot | None, api_key: int, offered: Offered) -> int | None:
        """The client's own version where it asked the same api and the broker speaks it, else the highest common one.

        None when the broker has no version of the api that can be written here.
        """
        lowest, highest = SUPPORTED[api_key]
        if slot is not None and slot.api_key == api_key:
            # What is older than all that can be written is said again in the first that can.
            own = max(slot.api_version, lowest)
            if speaks(offered.broker, api_key, own):
                return own
        spoken = offered.broker.get(api_key)
        if spoken is None or spoken.lowest > highest or spoken.highest < lowest:
            return None
        return min(highest, spoken.highest)

    def encode(self, slot: Slot, reply: Reply) -> bytes:
        """The frame of a reply for the version and correlation id of the slot's request."""
        if slot.api_key == ApiKey.HEARTBEAT and isinstance(reply, HeartbeatReply):
            return heartbeat_reply(slot.api_version, slot.correlation_id, reply.error)
        return encode_reply(slot.api_key, slot.api_version, slot.correlation_id, reply)

    def _from_memory(self, head: Head, remembered: Remembered | None) -> Decision | None:
        header = head.header
        if remembered is None or head.left:
            return None
        try:
            answer = remembered.answer(header, head.data, self.limits.elements_max)
        except MalformedFrame as error:
            return Rejected(CloseReason.MALFORMED_REQUEST, str(error))
        if answer is None:
            return None
        slot = self._reserve(header)
        self.outbox.fill(slot, answer)
        return Answered(slot)

    def _rewritten(self, head: Head) -> Decision:
        header, data = head.header, None
        if asks_for_records(header.api_key, header.api_version):
            # Java asks for 50 MiB; a larger answer than can be held would close the connection, again and again.
            most = self.limits.rewritten_answer_bytes_max
            data = with_max_bytes(header, head.data, most - most // SPARE_PART)
        return Rewritten(self._reserve(header), data=data)

    def _reserve(self, header: RequestHeader) -> Slot:
        return self.outbox.reserve(header.api_key, header.api_version, header.correlation_id)

    def _reserve_stream(self, header: RequestHeader) -> Slot:
        return self.outbox.reserve_stream(header.api_key, header.api_version, header.correlation_id)

    def _note_principal(self, head: Head) -> None:
        """Remember the name of a login; whether it is true the broker says, and ends the connection if it is not."""
        if self._router.asks_for_clients and head.header.api_key == ApiKey.SASL_AUTHENTICATE and not head.left:
            try:
                self._principal = read_username(head.header, head.data) or self._principal
            except MalformedFrame:
                return

    def name(self, principal: str) -> None:
        """The bridge logs in for the client under this name, or has let it in by it."""
        self._principal = principal

    @property
    def principal(self) -> str:
        """Who the client is, as far as the bridge was told; whether that is true is for who let it in."""
        return self._principal

    def _log_in(self, login: BridgeLogin, header: RequestHeader) -> LoggingIn | Rejected | None:
        """Where clients are let in by the bridge itself: a step of that, or an end to what comes before it."""
        if header.api_key in OF_LOGIN:
            return LoggingIn(self._reserve(header))
        if login.is_in:
            return None
        return Rejected(CloseReason.NOT_LOGGED_IN, f"{api_name(header.api_key)} of client {header.client_id!r}")

    def _introduce(self, client_id: str) -> None:
        known = self.identity
        self.identity = ClientIdentity(
            client_id=client_id,
            client_host=known.client_host,
            software_name=known.software_name,
            software_version=known.software_version,
        )

    def _api_versions(self, head: Head, answer: ApiVersionsAnswer) -> Decision:
        header = head.header
        slot = self._reserve(header)
        if header.api_version <= answer.versions[ApiKey.API_VERSIONS].highest:
            try:
                software = read_client_software(header.api_version, bytes(head.data), header.body_offset)
            except MalformedFrame as error:
                return Rejected(CloseReason.MALFORMED_REQUEST, str(error))
            if header.api_version >= 3 and not software.is_valid:
                answer = ApiVersionsAnswer(error_code=ErrorCode.INVALID_REQUEST)
            known = self.identity
            self.identity = ClientIdentity(
                client_id=known.client_id,
                client_host=known.client_host,
                software_name=software.name,
                software_version=software.version,
            )
        self.outbox.fill(slot, api_versions_reply(header.api_version, header.correlation_id, answer))
        return Answered(slot)

    def _group_request(self, head: Head, offered: Offered, found: GroupRequest | None, *, is_placed: bool) -> Decision:
        if head.left:
            # Too large to be held: it asks for the settings of more than groups.
            if self._router.serves(Road.EMBEDDED):
                self._passing.passed_unread(head.header, self.identity)
            return Relayed(self._reserve_stream(head.header))
        if self._router.asks_for_clients and not is_placed:
            # Whoever has not logged in, or may not READ the group, decides nothing for those who may.
            group_id = self._groups.unclaimed(head.header, head.data)
            if group_id is not None:
                return Unplaced((group_id,), is_unclaimed=True)
        found = found or self.read(head)
        header = head.header
        if isinstance(found, Misread):
            reason = CloseReason.TOO_MANY_ELEMENTS if found.is_too_much else CloseReason.MALFORMED_REQUEST
            return Rejected(reason, found.detail)
        if isinstance(found, Unplaced):
            return found
        if isinstance(found, (Taken, DividedRequest)):
            return self._take(header, found)
        return self._pass(head, offered, found)

    def _take(self, header: RequestHeader, found: Taken | DividedRequest) -> Submitted | Divided:
        slot, kept = self._reserve(header), header.frame_bytes
        if header.api_key in OF_OFFSETS:
            kept = kept_bytes(kept, found.request if isinstance(found, Taken) else found.merge.request)
            self._old_commits.note(header.api_key, header.api_version, self.identity)
        if kept >= SMALL_REQUEST_BYTES:
            self.outbox.keep_request(slot, kept)
        if isinstance(found, DividedRequest):
            self.outbox.hold_upstream(slot)
            return Divided(slot, found.merge)
        if found.may_ask:
            self.outbox.hold_upstream(slot)
        return Submitted(slot, found.road, found.request)

    def _pass(self, head: Head, offered: Offered, found: Passes) -> Decision:
        header = head.header
        for group_id in found.group_ids:
            self._passing.passed(header, group_id, self.identity)
        if not speaks(offered.broker, header.api_key, header.api_version):
            return self._unsupported(head)
        slot = self._reserve(header)
        request = PassingRequest(header, head.data, found.group_ids)
        hear = self._passing.overhear(slot.ref, request, self.identity, self.broker_id)
        if found.untranslated is not None:
            hear = self._let_pass(header, found.group_ids[0], found.untranslated, hear)
        if found.kind is not None:
            hear = self._hear_kind(header, found.group_ids[0], found.kind, hear)
        find_ending = self._finds_ending(head, found.group_ids)
        if header.frame_bytes >= SMALL_REQUEST_BYTES and (hear is not None or find_ending is not None):
            # Until the broker has answered: of JoinGroups of 60 kB that it does not, a client sends hundreds.
            self.outbox.keep_request(slot, request.kept_bytes)
        if hear is not None:
            return Rewritten(slot, hear, find_ending=find_ending)
        slot.streams = True
        return Relayed(slot, find_ending)

    def _finds_ending(self, head: Head, group_ids: tuple[GroupId, ...]) -> FindEnding | None:
        """Whoever's client is ended by a broker is to be found in the log, too."""
        header = head.header
        if header.api_key not in LIVED_THROUGH or len(group_ids) != 1 or head.left:
            return None
        if header.frame_bytes >= LARGE_BODY_BYTES:
            return None
        return partial(self._find_ending, header, bytes(head.data), group_ids[0])

    def _find_ending(
        self, header: RequestHeader, request: bytes, group_id: GroupId, answer: bytes | memoryview
    ) -> Ended | None:
        code = ending_in_frame(header.api_key, header.api_version, answer)
        if code is None:
            return None
        return Ended(Road.PASS, header.api_key, code, group_id, self._groups.member_of(header, request))

    def find_ending(self, slot: Slot, road: Road, reply: Reply) -> Ended | None:
        """The same of an answer that was made here, to a request of one member."""
        asked = slot.asked
        code = None if asked is None else ending_in(slot.api_key, slot.api_version, reply)
        if asked is None or code is None:
            return None
        named = group_ids(asked)
        return Ended(road, slot.api_key, code, named[0] if named else GroupId(""), member_of(asked))

    def _hear_kind(self, header: RequestHeader, group_id: GroupId, kind: str, hear: Hear | None) -> Hear:
        """A group is of a kind that nobody but the broker coordinates as soon as that lets somebody in."""

        def hear_kind(frame: bytes) -> None:
            if hear is not None:
                hear(frame)
            if joined_as(header.api_version, frame):
                self._report_kind(group_id, kind)

        return hear_kind

    def _let_pass(
        self, header: RequestHeader, group_id: GroupId, member: Untranslated, hear: Hear | None
    ) -> Hear | None:
        """From now on the member takes road `pass`, unless its broker refuses it; who has no id yet is told one."""
        self._passing.untranslated(group_id, self.identity, member.reason)
        if member.member_id and not self._router.let_pass(group_id, member.member_id):
            return hear

        def hear_id(frame: bytes) -> None:
            if hear is not None:
                hear(frame)
            member_id = joined_as(header.api_version, frame)
            if member_id:
                self._router.let_pass(group_id, member_id)
            else:
                self._router.denied(group_id, member.member_id)

        return hear_id

    def _other_kind(self, head: Head) -> Decision:
        """A share or streams group is the broker's whatever its rule, unless the bridge has the name: one name is one
        group.
        """
        header = head.header
        if head.left:
            return Relayed(self._reserve_stream(header))
        try:
            group_id = group_of(header, head.data)
        except MalformedFrame as error:
            return Rejected(CloseReason.MALFORMED_REQUEST, str(error))
        if not self._holds(group_id):
            find_ending = self._finds_ending(head, (group_id,))
            if self._router.road(group_id) is Road.PASS or not keeps_member(header.api_key):
                return Relayed(self._reserve_stream(header), find_ending)
            hear = partial(self._hear_other_kind, header, group_id)
            return Rewritten(self._reserve(header), hear, find_ending=find_ending)
        return NameTaken(self._reserve(header), header, group_id)

    def refuse_name(self, taken: NameTaken, code: ErrorCode) -> Ended | None:
        """Answer who came under a name that is taken; gives whom that ends."""
        header = taken.header
        self.outbox.fill(taken.slot, refuse_other_kind(header, taken.group_id, code))
        if not ends(header.api_key, header.api_version, code):
            return None
        return Ended(Road.EMBEDDED, header.api_key, code, taken.group_id, None)

    def _hear_other_kind(self, header: RequestHeader, group_id: GroupId, frame: bytes) -> None:
        if is_let_in(header, frame):
            self._report_kind(group_id, kind_of(header.api_key))

    def _reads_fetch(self) -> bool:
        return self._passing.awaits_fetch(self.identity)

    def _unsupported(self, head: Head) -> Decision:
        header = head.header
        try:
            refusal = self._groups.unsupported(header, head.data)
        except MalformedFrame as error:
            return Rejected(CloseReason.MALFORMED_REQUEST, str(error))
        if refusal is None:
            return _not_offered(header, None)
        slot = self._reserve(header)
        self.outbox.fill(slot, refusal)
        return Answered(slot)


def joined_as(version: int, frame: bytes) -> MemberId | None:
    """The id that a broker's answer to JoinGroup gives to a member, be it for the next try; None if it gives none."""
    try:
        _, reply = decode_reply(ApiKey.JOIN_GROUP, version, memoryview(frame)[LENGTH_BYTES:])
    except MalformedFrame:
        return None
    return reply.member_id if isinstance(reply, JoinGroupReply) and has_joined(reply) else None


def _held_for_login(api_key: int) -> bool:
    """Where the bridge answers logins it reads them, too."""
    return api_key in OF_LOGIN or held_whole(api_key)


def _refused(header: RequestHeader, offered: VersionTable) -> Rejected | None:
    if header.api_key not in offered:
        return Rejected(
            CloseReason.UNKNOWN_API, f"{api_name(header.api_key)} v{header.api_version} of client {header.client_id!r}"
        )
    versions = offered[header.api_key]
    if header.api_version in versions:
        return None
    return _not_offered(header, f"{versions.lowest} to {versions.highest}")


def _not_offered(header: RequestHeader, versions: str | None) -> Rejected:
    detail = f"{api_name(header.api_key)} v{header.api_version} of client {header.client_id!r}, offered {versions}"
    return Rejected(CloseReason.UNSUPPORTED_VERSION, detail)
