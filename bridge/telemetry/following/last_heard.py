"""When members were heard last: a process that is frozen sends nothing, and its connection stays all the same.

A request counts for the members that its connection speaks for, a Fetch, which names no group, for the one member that
is known by its client id and host.
"""

from dataclasses import dataclass

from bridge.telemetry.following.joins import NO_PARTITIONS, Inputs, Partitions
from bridge.telemetry.following.tracks import MemberTrack
from bridge.telemetry.schema.terms import Protocol

US_PER_MS = 1_000
BEATS_PER_SESSION = 3
"""Clients send at least so many heartbeats a session: Kafka advises that, and each library's defaults keep to it."""
BEAT_US_MAX = 5_000_000
"""Kafka's longest default between two heartbeats, that of the consumer protocol."""
NEVER = -1
SESSIONS_MAX = 1_000
"""Clients of members that are gone, of which is known what their fetch sessions may name."""
POLL_WORDS = "poll timeout"
"""What Java's client says as it leaves for that reason (LeaveGroup 5, KIP-800)."""
LATE_US = 1_000_000
"""So much later than it is due comes no heartbeat of a client that is at work, nor a Fetch after the one before."""


@dataclass(slots=True)
class _Fetcher:
    """How many members are known by a client id and host, and when a Fetch came from there."""

    members: int = 0
    fetched_us: int = NEVER


class LastHeard:
    """What was heard last of connections, and of the clients of members that are followed."""

    def __init__(self) -> None:
        self._spoken: dict[int, int] = {}
        self._silences: dict[int, tuple[int, int]] = {}
        """The last time that a connection said nothing for longer than a moment: since when, until when."""
        self._fetchers: dict[tuple[str, str], _Fetcher] = {}
        self._sessions: dict[tuple[str, str], Partitions] = {}

    # ------------------------------------------------------------------ connections

    def spoke(self, connection: int, at_us: int) -> None:
        """A request came by this connection."""
        before_us = self._spoken.get(connection, at_us)
        if at_us - before_us > LATE_US:
            self._silences[connection] = before_us, at_us
        self._spoken[connection] = at_us

    def close(self, connection: int) -> None:
        """A connection is gone."""
        self._spoken.pop(connection, None)
        self._silences.pop(connection, None)

    def spoke_us(self, connection: int | None) -> int | None:
        """When a request came by this connection last, None if none did."""
        return None if connection is None else self._spoken.get(connection)

    def spoke_before_us(self, member: MemberTrack, at_us: int) -> int | None:
        """When a member was heard last that has been put out by `at_us`.

        One that was frozen hears of it by its next request: it was heard last before the silence that this one ended.
        """
        silence = None if member.connection is None else self._silences.get(member.connection)
        if silence is not None and at_us - silence[1] <= beat_us(member) < silence[1] - silence[0]:
            return silence[0]
        return self.spoke_us(member.connection)

    # ------------------------------------------------------------------ clients

    def enter(self, inputs: Inputs) -> None:
        """A member is known by this client."""
        self._fetchers.setdefault((inputs.client_id, inputs.client_host), _Fetcher()).members += 1

    def leave(self, inputs: Inputs) -> None:
        """A member is not known by this client any more."""
        key = (inputs.client_id, inputs.client_host)
        fetcher = self._fetchers.get(key)
        if fetcher is not None:
            fetcher.members -= 1
            if fetcher.members <= 0:
                del self._fetchers[key]

    def keep_session(self, inputs: Inputs, partitions: Partitions) -> None:
        """A member that had these is gone; its client may live on, and its fetch sessions with it (KIP-227)."""
        key = (inputs.client_id, inputs.client_host)
        self._sessions.pop(key, None)
        self._sessions[key] = partitions
        if len(self._sessions) > SESSIONS_MAX:
            del self._sessions[next(iter(self._sessions))]

    def session_of(self, inputs: Inputs) -> Partitions:
        """What the fetch sessions of a new member's client may name from before; nothing if others share its name."""
        key = (inputs.client_id, inputs.client_host)
        fetcher = self._fetchers.get(key)
        kept = self._sessions.pop(key, NO_PARTITIONS)
        return kept if fetcher is not None and fetcher.members == 1 else NO_PARTITIONS

    def fetched(self, client_id: str, client_host: str, at_us: int) -> None:
        """A Fetch comes from there; it counts while a member is known by that name."""
        fetcher = self._fetchers.get((client_id, client_host))
        if fetcher is not None:
            fetcher.fetched_us = at_us

    def fetched_us(self, inputs: Inputs) -> int | None:
        """When this client fetched last; None if it did not, or if several members share its name."""
        fetcher = self._fetchers.get((inputs.client_id, inputs.client_host))
        is_its_own = fetcher is not None and fetcher.members == 1 and fetcher.fetched_us != NEVER
        return fetcher.fetched_us if fetcher is not None and is_its_own else None

    # ------------------------------------------------------------------ members

    def used_us(self, member: MemberTrack, spoke_us: int | None) -> int | None:
        """When a member may have used what it had for the last time, if it was heard at `spoke_us` by its group.

        A Fetch that comes long after its last heartbeat is another process's with the same name: clients of one host
        are often called alike, and one that was put out fetches until it hears that.
        """
        fetched_us = self.fetched_us(member.inputs)
        if spoke_us is None or fetched_us is None:
            return fetched_us if spoke_us is None else spoke_us
        return max(spoke_us, fetched_us) if fetched_us - spoke_us <= beat_us(member) else spoke_us

    def has_stopped_polling(self, member: MemberTrack, at_us: int) -> bool:
        """Whether a client that leaves does so because its application did not poll for `max.poll.interval.ms`.

        It says so, or it says nothing and has not fetched for that long while its heartbeats went on: Java's client and
        kafka-python fetch only as they are polled, and give that interval for their rebalance timeout. librdkafka
        fetches by itself until that time is over; then its member of the consumer protocol says nothing at all until it
        is polled (`was_put_off`), and its classic one leaves as it leaves for any reason. Who says another reason had
        perhaps paused all partitions.
        """
        if member.parting_words:
            return POLL_WORDS in member.parting_words.lower()
        fetched_us, interval_us = self.fetched_us(member.inputs), _poll_interval_us(member)
        # A poll may take a while until it fetches.
        is_timed = fetched_us is not None and interval_us > 0 and bool(member.assigned - member.unfetched)
        is_late = is_timed and fetched_us is not None and 10 * (at_us - fetched_us) >= 9 * interval_us
        return is_late or self.was_put_off(member, at_us)

    def was_put_off(self, member: MemberTrack, at_us: int) -> bool:
        """Whether a member of the consumer protocol that leaves has sent neither heartbeats nor Fetches right before.

        So does librdkafka where its application is late; with the next poll it leaves and joins again by its id. A
        process that was frozen fetches before it leaves, and one that works beats. On road `embedded` heartbeats go by
        unheard. Whoever is known for less than `max.poll.interval.ms` before it fell silent was perhaps polled in that
        time, as it joined.
        """
        silence = None if member.connection is None else self._silences.get(member.connection)
        fetched_us = self.fetched_us(member.inputs)
        if member.protocol is not Protocol.CONSUMER or silence is None or fetched_us is None:
            return False
        since_us, until_us = silence
        is_late = until_us - since_us > (member.interval_ms * US_PER_MS or BEAT_US_MAX) + LATE_US
        # The leave was what ended the silence; its answer takes a moment.
        has_used = bool(member.assigned - member.unfetched)
        interval_us = _poll_interval_us(member)
        is_long_there = 0 < interval_us <= max(since_us, fetched_us) - member.since_us
        has_just_left = at_us - until_us <= BEAT_US_MAX and until_us - fetched_us > LATE_US
        return has_used and is_late and is_long_there and has_just_left

    def polled_us(self, member: MemberTrack, at_us: int) -> int | None:
        """When the application of a member that has stopped polling can have taken something for the last time."""
        fetched_us = self.fetched_us(member.inputs)
        if fetched_us is None or member.connection is None or not self.was_put_off(member, at_us):
            return fetched_us
        since_us, _ = self._silences[member.connection]
        # librdkafka went on beating and fetching for as long as it may be left alone.
        return max(since_us, fetched_us) - _poll_interval_us(member)

    def silent_since(self, member: MemberTrack, lost_us: int, spoke_us: int | None) -> int:
        """Since when a member has used nothing whose connection went at `lost_us`.

        One that was at work would have been heard of within a heartbeat before that: if not, it was frozen by then. One
        that was heard later had another connection.
        """
        used_us = self.used_us(member, spoke_us)
        is_as_lost = used_us is None or 0 <= lost_us - used_us <= beat_us(member)
        return lost_us if used_us is None or is_as_lost else used_us


def _poll_interval_us(member: MemberTrack) -> int:
    """`max.poll.interval.ms`, which clients give for their rebalance timeout."""
    return member.inputs.rebalance_timeout_ms * US_PER_MS


def is_run_out(member: MemberTrack, at_us: int) -> bool:
    """Whether a member whose connection is gone was last heard so long ago that its coordinator has given it up."""
    since_us, session_ms = member.unheard_since_us, member.inputs.session_timeout_ms
    if since_us is None or session_ms <= 0:
        return False
    # Its last heartbeat may have come that long before its connection went.
    return at_us - since_us >= session_ms * US_PER_MS - beat_us(member)


def beat_us(member: MemberTrack) -> int:
    """How long at most a member that is at work lets pass between two heartbeats."""
    session_ms = member.inputs.session_timeout_ms
    return min(BEAT_US_MAX, session_ms * US_PER_MS // BEATS_PER_SESSION) if session_ms > 0 else BEAT_US_MAX
