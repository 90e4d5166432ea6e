"""Members that are not heard any more, because their connection is gone or their process is frozen: they use nothing
from then on, and some day nobody counts on them any more.
"""

from collections.abc import Mapping

from bridge.telemetry.following.fact_writer import FactWriter
from bridge.telemetry.following.joins import Partitions
from bridge.telemetry.following.last_heard import US_PER_MS
from bridge.telemetry.following.tracks import GroupTrack, MemberTrack
from bridge.telemetry.schema.terms import Departure, Road
from translators.dialects.ids import GroupId, MemberId

CONSUMER_SESSION_MS = 45_000
"""Kafka's default of `group.consumer.session.timeout.ms`: on road `pass` no answer tells it."""
OVERTAKEN_US = 1_000_000
"""By how much at most answers to others may overtake one that says what a member has done: its request is younger."""
SPOKEN_FOR_MAX = 64
"""When a connection has spoken for so many members, those that are gone are forgotten, and again at twice the rest."""

Key = tuple[GroupId, MemberId]


class SilenceFollower:
    """Which connection speaks for which members, and whose is lost."""

    def __init__(self, writer: FactWriter, groups: Mapping[GroupId, GroupTrack]) -> None:
        self._writer = writer
        self._groups = groups
        self._spoken_for: dict[int, set[Key]] = {}
        self._full_at: dict[int, int] = {}
        self._silent: dict[GroupId, set[MemberId]] = {}

    def heard(self, connection: int, group: GroupTrack, member_id: MemberId) -> None:
        """A request of a member came over this connection."""
        member = group.members.get(member_id)
        # A heartbeat is heard with its answer, which may come when its connection is gone: that is no sign of life.
        if member is None or member.presence.connection == connection:
            return
        key = (group.group_id, member_id)
        if member.connection is not None:
            self._spoken_for.get(member.connection, set()).discard(key)
        member.be_heard(connection)
        self._speak(key)
        spoken_for = self._spoken_for.setdefault(connection, set())
        spoken_for.add(key)
        if len(spoken_for) > self._full_at.get(connection, SPOKEN_FOR_MAX):
            known = {one for one in spoken_for if self._member(one) is not None}
            self._spoken_for[connection] = known
            self._full_at[connection] = max(SPOKEN_FOR_MAX, 2 * len(known))

    def spoken_for(self, connection: int) -> int:
        """How many members a connection is known to have spoken for."""
        return len(self._spoken_for.get(connection, ()))

    def lost(self, connection: int, at_us: int) -> None:
        """A connection is gone; whoever spoke over it may come back over another one."""
        self._full_at.pop(connection, None)
        spoke_us = self._writer.last_heard.spoke_us(connection)
        self._writer.last_heard.close(connection)
        for key in self._spoken_for.pop(connection, ()):
            group, member = self._groups.get(key[0]), self._member(key)
            if group is None or member is None:
                continue
            # Only where each heartbeat is heard it means something that none was.
            is_heard = group.road is Road.PASSING
            since_us = self._writer.last_heard.silent_since(member, at_us, spoke_us) if is_heard else at_us
            if member.fall_silent(connection, since_us):
                self._silent.setdefault(key[0], set()).add(key[1])

    def taken(self, group: GroupTrack, taker: MemberTrack, partitions: Partitions, at_us: int) -> None:
        """The coordinator gives these to a member: a silent one that still had some is none any more, an away one won't
        find them again.

        Who has a connection is frozen if it was not even told to give them up, and the coordinator lost patience.
        """
        if group.road is Road.EMBEDDED:
            return
        for away in [one for one in group.away.values() if one.assigned & partitions]:
            self._writer.replace_away(group, away.member_id, at_us)
        for member_id in tuple(self._silent.get(group.group_id, ())):
            member = group.members.get(member_id)
            if member is not None and member_id != taker.member_id and member.assigned & partitions:
                self._close((group.group_id, member_id), group, member, at_us)
        for holder_id in {group.last_holders.get(partition) for partition in partitions} - {None, taker.member_id}:
            holder = None if holder_id is None else group.members.get(holder_id)
            if holder is not None and self._is_frozen(holder, partitions, at_us):
                self._close((group.group_id, holder.member_id), group, holder, at_us)

    def _is_frozen(self, holder: MemberTrack, partitions: Partitions, at_us: int) -> bool:
        spoke_us = self._writer.last_heard.spoke_us(holder.connection)
        is_quiet = spoke_us is not None and at_us - spoke_us > OVERTAKEN_US
        return is_quiet and bool((holder.assigned - holder.told) & partitions)

    def expire(self, at_us: int) -> tuple[GroupTrack, ...]:
        """Members of road `pass` that were gone or away for a session are no more; gives their groups."""
        touched: dict[GroupId, GroupTrack] = {}
        for key in [(group_id, member_id) for group_id, silent in self._silent.items() for member_id in silent]:
            group, member = self._groups.get(key[0]), self._member(key)
            since_us = None if member is None else member.unheard_since_us
            if group is None or member is None or since_us is None:
                self._speak(key)
            elif group.road is not Road.EMBEDDED and at_us - since_us >= _session_us(member):
                self._close(key, group, member, at_us)
                touched[group.group_id] = group
        for group in [one for one in self._groups.values() if one.away and one.road is not Road.EMBEDDED]:
            for away in [one for one in group.away.values() if at_us - (one.unheard_since_us or 0) >= _session_us(one)]:
                self._writer.replace_away(group, away.member_id, at_us)
                touched[group.group_id] = group
        return tuple(touched.values())

    def _close(self, key: Key, group: GroupTrack, member: MemberTrack, at_us: int) -> None:
        self._speak(key)
        self._writer.leave(group, member, Departure.SESSION_EXPIRED, at_us)
        self._writer.look(group, at_us)

    def _speak(self, key: Key) -> None:
        """A member is silent no more: it is heard again, or is none any more."""
        silent = self._silent.get(key[0])
        if silent is not None:
            silent.discard(key[1])
            if not silent:
                del self._silent[key[0]]

    def _member(self, key: Key) -> MemberTrack | None:
        group = self._groups.get(key[0])
        return None if group is None else group.members.get(key[1])


def _session_us(member: MemberTrack) -> int:
    told_ms = member.inputs.session_timeout_ms
    return (told_ms if told_ms > 0 else CONSUMER_SESSION_MS) * US_PER_MS
