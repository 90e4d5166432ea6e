"""What is said in the log of ends: of connections that the bridge closes, and of answers that end a client for good."""

import logging

from bridge.log_lines import Line, LogFields, RateLimitedLog, bare, cause_by_names, origin_of
from bridge.net.clock import now_ms
from bridge.net.shared import LOG, Shared, connection_fields
from bridge.net.tls_socket import ONLY_KEYS
from bridge.net.transport import Transport
from bridge.session.client_session import ClientSession, FindEnding
from bridge.session.close_reasons import ORDINARY, CloseReason
from bridge.session.fatal_answers import REMEDIES, Ended
from bridge.session.requests import Rejected
from bridge.supervision import Task
from bridge.wire.apis import api_name
from translators.dialects.errors import Refusal, quote
from translators.dialects.ids import GroupId
from translators.dialects.places import place_of

BUG_CHARS_MAX = 300


class Endings:
    """Those of one connection."""

    __slots__ = ("_session", "_shared")

    def __init__(self, shared: Shared, session: ClientSession) -> None:
        self._shared, self._session = shared, session

    def tell_bug(self, task: Task, problem: Exception) -> str:
        """Count it, and tell it once a minute for each place that raises; gives it in short."""
        self._shared.failures.count(task)
        line = Line(
            logging.ERROR,
            "%s: connection %d failed (%s)",
            (CloseReason.BUG.code, self._session.connection, task.name),
            connection_fields(self._session),
            bare(problem),
        )
        self._shared.log.write(now_ms(), (CloseReason.BUG, task.name, *origin_of(problem)), line)
        return f"{bare(problem)!r:.{BUG_CHARS_MAX}}"

    def watch(self, find_ending: FindEnding, answer: bytes | memoryview) -> None:
        """Look at a broker's answer, as far as it is there."""
        self.report(find_ending(answer))

    def report(self, ended: Ended | None) -> None:
        """Somebody has to start the client again, and may not know why it stopped."""
        if ended is None:
            return
        self._shared.counters.count_ending(ended)
        fields = connection_fields(self._session) | LogFields(road=ended.road.value, group_id=ended.group_id)
        if ended.member_id:
            fields["member_id"] = ended.member_id
        client_id = quote(self._session.identity.client_id)
        words = quote(ended.group_id), quote(ended.member_id or ""), client_id, api_name(ended.api_key), ended.code.name
        told = "EB-NET-051: group %r: member %r of client %r was answered %s with %s, which ends it for good: %s"
        line = Line(logging.WARNING, told, (*words, REMEDIES[ended.code]), fields)
        host, kind = self._session.identity.client_host, (ended.api_key, ended.code)
        self._shared.log.write(now_ms(), cause_by_names(kind, host, ended.group_id, client_id), line)


def tell_unplaced(shared: Shared, session: ClientSession, group_id: GroupId, refusal: Refusal) -> None:
    """It can't be found out where a group lives, and its client was told to come again."""
    fields = connection_fields(session) | LogFields(group_id=group_id)
    line = Line(logging.WARNING, "%s", (refusal.reason,), fields)
    cause = cause_by_names("place", session.identity.client_host, group_id)
    shared.log.write(now_ms(), cause, line)


def reason_of(client: Transport) -> CloseReason:
    """Why a connection ends on which the client's side gives nothing more."""
    return CloseReason.EMPTY_RECORDS if client.fault == ONLY_KEYS else CloseReason.CLIENT_GONE


def tell_refusal(log: RateLimitedLog, rejected: Rejected, host: str) -> None:
    """One line about why a client is not served; one a minute for each reason and address, of IPv6 its network."""
    reason = rejected.reason
    if reason in ORDINARY and not LOG.isEnabledFor(logging.DEBUG):
        return
    line = Line(
        logging.DEBUG if reason in ORDINARY else logging.WARNING,
        "%s: a connection of %s was closed: %s%s",
        (reason.code, host, reason.sentence, f"; seen: {rejected.detail}" if rejected.detail else ""),
        LogFields(client_host=host),
    )
    log.write(now_ms(), (reason, place_of(host)), line)


def tell_end(log: RateLimitedLog, session: ClientSession, reason: CloseReason, detail: str) -> None:
    """One line about why a connection ended; one a minute for each reason and address, of IPv6 its network."""
    client = session.identity
    if reason in ORDINARY and not LOG.isEnabledFor(logging.DEBUG):
        return
    line = Line(
        logging.DEBUG if reason in ORDINARY else logging.WARNING,
        "%s: connection %d of %s (client id %r) closed: %s%s",
        (
            reason.code,
            session.connection,
            client.client_host,
            client.client_id,
            reason.sentence,
            f"; seen: {detail}" if detail else "",
        ),
        fields=connection_fields(session),
    )
    log.write(now_ms(), (reason, place_of(client.client_host)), line)
