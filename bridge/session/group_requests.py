"""Reads group requests as far as their road asks for: not at all, the group's name, or the whole message."""

from collections.abc import Callable
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from functools import cache, partial
from typing import NamedTuple

from bridge.migration.route import Road, Router, find_obstacle, is_of_consumer_group
from bridge.session.fatal_answers import member_of
from bridge.session.limits import ELEMENTS_MAX, LARGE_BODY_BYTES, NAMES_MAX
from bridge.session.split_requests import Merge, pieces_of, split
from bridge.wire.apis import CONFIG_APIS, ApiKey, api_name
from bridge.wire.codec.registry import (
    SUPPORTED,
    Request,
    decode_request,
    encode_reply,
    error_reply,
    group_ids,
    is_read,
    peek_group_id,
)
from bridge.wire.errors import MalformedFrame, TooManyElements
from bridge.wire.frames import RequestHeader
from bridge.wire.group_names import groups_in_settings
from bridge.wire.heartbeat import read_heartbeat
from translators.dialects.admin import ListGroups
from translators.dialects.classic import JoinGroup
from translators.dialects.configs import GROUP, ListConfigResources
from translators.dialects.consumer import ConsumerGroupHeartbeat
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import JOIN_EPOCH, GroupId, MemberId, TopicIdPartition, TopicName
from translators.dialects.offsets import OffsetFetch

MAY_ASK = frozenset(
    (
        ApiKey.OFFSET_COMMIT,
        ApiKey.OFFSET_FETCH,
        ApiKey.TXN_OFFSET_COMMIT,
        ApiKey.OFFSET_DELETE,
        ApiKey.DESCRIBE_GROUPS,
        ApiKey.LIST_GROUPS,
        ApiKey.DELETE_GROUPS,
        ApiKey.CONSUMER_GROUP_DESCRIBE,
        *CONFIG_APIS,
    )
)
"""Apis whose answer for a group that is not passed on may need the broker."""

AT_BROKER = frozenset((Road.MAPPED, Road.MOVING))
"""Roads on which any request may go to the client's broker in the end: its answer to a later one, which it gives first,
could not leave before that, and nothing behind it could be read.
"""

OF_CLASSIC_MEMBERS = frozenset(
    (
        ApiKey.JOIN_GROUP,
        ApiKey.SYNC_GROUP,
        ApiKey.HEARTBEAT,
        ApiKey.LEAVE_GROUP,
        ApiKey.OFFSET_COMMIT,
        ApiKey.TXN_OFFSET_COMMIT,
        ApiKey.OFFSET_FETCH,
    )
)
"""Apis by which a classic client says who it is: on road `upstream` the broker knows it otherwise; all else passes."""

NAMES_ONLY = frozenset(
    (ApiKey.LEAVE_GROUP, ApiKey.DESCRIBE_GROUPS, ApiKey.DELETE_GROUPS, ApiKey.CONSUMER_GROUP_DESCRIBE)
)
"""Apis whose requests are a list of members or groups: cheap to send, and dear to answer one by one."""


ASKS_OF_MEMBERS = frozenset((*OF_CLASSIC_MEMBERS, ApiKey.CONSUMER_GROUP_HEARTBEAT))
"""Apis whose answer depends on where the group lives; what admins ask is answered by whoever has it."""


_IN_ZOOKEEPER = frozenset((ApiKey.OFFSET_COMMIT, ApiKey.OFFSET_FETCH))
"""Apis whose version 0 is about offsets in ZooKeeper, of which no group knows; a broker without one refuses it."""

JOINS = frozenset((ApiKey.JOIN_GROUP, ApiKey.CONSUMER_GROUP_HEARTBEAT))
"""Apis by which somebody may be the first of a group."""

UNPLACED_MAX = 100
"""How many groups of one request are looked up; further ones go by their rules."""


class Untranslated(NamedTuple):
    """A JoinGroup that goes to the broker because nobody can translate its member, which has no id yet if `member_id`
    is empty.
    """

    member_id: MemberId
    reason: str


class Passes(NamedTuple):
    """All groups of the request are on road `pass`; those that were worth reading."""

    group_ids: tuple[GroupId, ...]
    untranslated: Untranslated | None = None
    kind: str | None = None
    """What its only group is as soon as the broker lets the client in, None for what its road says: it is none that the
    bridge could coordinate.
    """


class Unplaced(NamedTuple):
    """Where these groups live has to be found out before the request can be read.

    One that `is_unclaimed` goes where its first client has it go, if that may READ it; then it is to be read anew.
    """

    group_ids: tuple[GroupId, ...]
    is_unclaimed: bool = False


class Taken(NamedTuple):
    """Whoever serves `road` answers `request`; `may_ask` says that this may need the client's broker."""

    road: Road
    request: Request
    may_ask: bool


class DividedRequest(NamedTuple):
    """The request named groups or members of several roads; the answers to `merge.parts` make its answer."""

    merge: Merge


class Misread(NamedTuple):
    """The request can't be read, or is more than is read of one."""

    detail: str
    is_too_much: bool = False


GroupRequest = Passes | Taken | DividedRequest | Misread | Unplaced


Translates = Callable[[GroupId, MemberId], bool]
"""Whether a member of that id is translated already: then its machine answers whatever it says."""


def nobody(group_id: GroupId, member_id: MemberId) -> bool:
    """No member is translated."""
    del group_id, member_id
    return False


def _no_topics(
    group_id: GroupId, member_id: MemberId, assignment: AbstractSet[TopicIdPartition]
) -> AbstractSet[TopicName]:
    del group_id, member_id, assignment
    return frozenset()


@dataclass(frozen=True, slots=True)
class KnownGroups:
    """What those behind the session know of where groups and members live."""

    translates: Translates = nobody
    """Whether there is a member of that name, whose group a broker coordinates."""
    is_known: Callable[[GroupId], bool] = lambda _: True
    """Whether it is known where the group lives."""
    has_members: Callable[[GroupId], bool] = lambda _: False
    """Whether the bridge's own coordinator has members of that group."""
    holds: Callable[[GroupId], bool] = lambda _: False
    """Whether the bridge's own coordinator has a group of that name, with members or without."""
    subscribed: Callable[[GroupId, MemberId], AbstractSet[TopicName]] = lambda _group_id, _member_id: frozenset()
    """The topics by name that the bridge's own coordinator has such a member subscribed to."""
    matched: Callable[[GroupId, MemberId, AbstractSet[TopicIdPartition]], AbstractSet[TopicName]] = _no_topics
    """The topics of an assignment that such a member has by its pattern alone."""


NOTHING_KNOWN = KnownGroups()


class GroupRequests:
    """Reads the group requests of one connection."""

    __slots__ = (
        "_elements_max",
        "_known_groups",
        "_names_max",
        "_router",
    )

    def __init__(
        self,
        router: Router,
        elements_max: int = ELEMENTS_MAX,
        names_max: int = NAMES_MAX,
        known_groups: KnownGroups = NOTHING_KNOWN,
    ) -> None:
        self._router = router
        self._known_groups = known_groups
        self._elements_max = elements_max
        self._names_max = min(names_max, elements_max)

    def read(self, header: RequestHeader, data: bytes | memoryview, *, is_placed: bool = False) -> GroupRequest:
        """Find the road of a request; `data` is one whole request. With `is_placed` it was found out where its groups
        live, as far as that can be.
        """
        key, version, start = header.api_key, header.api_version, header.body_offset
        if version == 0 and key in _IN_ZOOKEEPER:
            return Passes(())
        try:
            group_id = peek_group_id(key, version, data[start:], start)
            if group_id is None or group_id in self._router.moved:
                return self._read_batch(header, data, is_placed=is_placed)
            road = self._road(key, group_id)
            stays = group_id in self._router.staying
            if road is Road.PASS and not stays:
                return Passes((group_id,))
            if group_id and not is_placed and self._is_to_be_placed(header, data, group_id, stays=stays):
                return Unplaced((group_id,))
            if road is Road.PASS:
                return Passes((group_id,))
            if key == ApiKey.HEARTBEAT:
                return Taken(road, read_heartbeat(version, bytes(data), start), may_ask=road in AT_BROKER)
            return self._taken(road, self._decode(header, data), header)
        except TooManyElements as error:
            if key in CONFIG_APIS and not self._names_ours(header, data):
                # A cluster may have more topics than names are read, and one request ask for all of them.
                return Passes(())
            return Misread(str(error), is_too_much=True)
        except MalformedFrame as error:
            return Misread(str(error))

    def unclaimed(self, header: RequestHeader, data: bytes | memoryview) -> GroupId | None:
        """The group that somebody is the first to join, where it matters who that is."""
        if header.api_key not in JOINS:
            return None
        try:
            group_id = peek_group_id(header.api_key, header.api_version, data[header.body_offset :], header.body_offset)
        except MalformedFrame:
            return None
        if not group_id or self._router.place(group_id) is not None or self._known_groups.has_members(group_id):
            return None
        return group_id if self._router.may_claim(group_id) else None

    def claim(self, header: RequestHeader, data: bytes | memoryview, principal: str) -> None:
        """Whoever sent this is the first to join, and may: where its group goes is decided, unless it is by now."""
        group_id = self.unclaimed(header, data)
        if group_id is not None:
            self._router.claim(group_id, header.client_id or "", principal)

    def _is_to_be_placed(
        self, header: RequestHeader, data: bytes | memoryview, group_id: GroupId, *, stays: bool
    ) -> bool:
        """A group that stays where no rule sends it may be empty when somebody joins who could go by the rule."""
        key = header.api_key
        if not stays:
            return key in ASKS_OF_MEMBERS and not self._known_groups.is_known(group_id)
        if key not in JOINS:
            return False
        request = self._decode(header, data)
        if isinstance(request, JoinGroup):
            return is_of_consumer_group(request)
        return isinstance(request, ConsumerGroupHeartbeat) and request.member_epoch == JOIN_EPOCH

    def member_of(self, header: RequestHeader, data: bytes) -> MemberId | None:
        """Who sent a request, as far as one that can be read says it."""
        try:
            return member_of(self._decode(header, data)) if header.api_key in SUPPORTED else None
        except MalformedFrame:
            return None

    def refusal(self, header: RequestHeader, data: bytes | memoryview, code: ErrorCode) -> bytes:
        """The answer that refuses a request as a whole. Raises MalformedFrame."""
        refusal = error_reply(self._decode(header, data), code)
        return encode_reply(header.api_key, header.api_version, header.correlation_id, refusal)

    def unsupported(self, header: RequestHeader, data: bytes | memoryview) -> bytes | None:
        """The UNSUPPORTED_VERSION answer to a request of a `pass` group that the broker can't read; None: none fits."""
        key, version = header.api_key, header.api_version
        if not is_read(key, version):
            return None
        return self.refusal(header, data, ErrorCode.UNSUPPORTED_VERSION)

    def _read_batch(
        self, header: RequestHeader, data: bytes | memoryview, *, is_placed: bool
    ) -> Passes | Taken | DividedRequest | Unplaced:
        """Requests that name several groups or none, or members that part; nothing is decoded while all pass."""
        if not self._router.takes_groups() or _passes_unread(header):
            return Passes(())
        request = self._decode(header, data)
        if isinstance(request, (ListGroups, ListConfigResources)) and not self._router.serves(Road.EMBEDDED):
            return Passes(())
        if isinstance(request, ListConfigResources) and request.types and GROUP not in request.types:
            return Passes(())
        if isinstance(request, OffsetFetch) and not is_placed:
            unknown = tuple(one for one in group_ids(request) if one and self._is_unknown(header.api_key, one))
            if unknown:
                return Unplaced(unknown[:UNPLACED_MAX])
        # A member may be moved before its part is answered: the answers are merged as the request was cut.
        road_of = cache(partial(self._road, header.api_key))
        parts = split(request, road_of)
        if len(parts) > 1 or (Road.MOVING in parts and len(pieces_of(parts)) > 1):
            return DividedRequest(Merge(request, parts, road_of))
        for road, part in parts.items():
            if road is not Road.PASS:
                return self._taken(road, part, header)
        # Who asks for a group's settings does not say that there is a group.
        return Passes(() if header.api_key in CONFIG_APIS else group_ids(request))

    def _taken(self, road: Road, request: Request, header: RequestHeader) -> Passes | Taken:
        """Who joins a group that is none of consumers goes to the broker, as if there was no rule, but for a name that
        is taken here; and so does who can't be translated, on road `upstream`.
        """
        is_of_other = isinstance(request, JoinGroup) and not is_of_consumer_group(request)
        if isinstance(request, JoinGroup) and is_of_other and not self._is_taken(road, request.group_id):
            return Passes((request.group_id,), kind=request.protocol_type)
        if road is Road.UPSTREAM and isinstance(request, JoinGroup):
            obstacle = find_obstacle(request)
            if obstacle is not None and not self._known_groups.translates(request.group_id, request.member_id):
                return Passes((request.group_id,), Untranslated(request.member_id, obstacle))
        if isinstance(request, JoinGroup):
            self._read_ahead(request, header)
        return Taken(road, request, header.api_key in MAY_ASK or road in AT_BROKER)

    def _read_ahead(self, request: JoinGroup, header: RequestHeader) -> None:
        """A long subscription is read here, where nobody waits, and bounded as every other list of a request is.

        Raises TooManyElements. Whoever owns so many partitions could not commit them in one request either.
        """
        said_bytes = sum(len(one.metadata) for one in request.protocols)
        if said_bytes < min(LARGE_BODY_BYTES, self._elements_max) or not is_of_consumer_group(request):
            return
        count = request.read_ahead()
        if count > self._elements_max:
            reason = f"of topics and partitions it names {count}, at most {self._elements_max} are read"
            version, start = header.api_version, header.body_offset
            raise TooManyElements(api_name(header.api_key), version, "protocols.metadata", start, reason)

    def _is_taken(self, road: Road, group_id: GroupId) -> bool:
        """Whether a group is here, so that its next generation is, too: an emptied one goes on counting, whoever comes
        (K1.15).
        """
        known = self._known_groups
        return known.has_members(group_id) or (road is Road.EMBEDDED and known.holds(group_id))

    def _is_unknown(self, api_key: int, group_id: GroupId) -> bool:
        return self._road(api_key, group_id) is not Road.PASS and not self._known_groups.is_known(group_id)

    def _road(self, api_key: int, group_id: GroupId, member_id: MemberId | None = None) -> Road:
        """Where a broker coordinates, what KIP-848 clients and admins ask is the broker's to answer."""
        road = self._router.road(group_id, member_id)
        is_at_broker = road is Road.UPSTREAM or road is Road.MAPPED
        return Road.PASS if is_at_broker and api_key not in OF_CLASSIC_MEMBERS else road

    def _names_ours(self, header: RequestHeader, data: bytes | memoryview) -> bool:
        """Whether a request about settings names a group whose settings are not the broker's."""
        if header.api_key == ApiKey.LIST_CONFIG_RESOURCES:
            return False
        try:
            named = groups_in_settings(header, data)
        except MalformedFrame:
            # What can't be read goes to the broker, which refuses it in its own words.
            return False
        return any(self._road(header.api_key, group_id) is not Road.PASS for group_id in named)

    def _decode(self, header: RequestHeader, data: bytes | memoryview) -> Request:
        start = header.body_offset
        most = self._names_max if header.api_key in NAMES_ONLY else self._elements_max
        return decode_request(header.api_key, header.api_version, data[start:], start, most)


def _passes_unread(header: RequestHeader) -> bool:
    """Whether this is a version of before groups had settings, which is not read here."""
    return header.api_key in CONFIG_APIS and header.api_version < SUPPORTED[header.api_key].lowest
