"""Which spans a rebalance becomes: ids, times, attributes and links, as values.

Ids follow from the rebalance's id, so that any process can link to a rebalance it has
never seen, and a log exported twice makes the same traces.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from hashlib import sha256
from operator import itemgetter

from bridge.telemetry.otel import names
from bridge.telemetry.rebalances.rebalance import MemberStory, Rebalance, Stretch
from bridge.telemetry.schema.terms import Outcome, Phase

Attribute = str | int | float | tuple[str, ...]
Attributes = Mapping[str, Attribute]
SECOND_US = 1_000_000
PARTITIONS_MAX = 128
"""Partitions that an attribute names at most; the event log names all."""
TRACES_KEPT_MAX = 16
SPAN_NAMES = {
    Phase.JOINING: names.JOIN_WAIT,
    Phase.SYNCING: names.SYNC,
    Phase.REVOKING: names.REVOKE,
    Phase.AWAITING_RELEASE: names.RELEASE_WAIT,
    Phase.FETCHING: names.FIRST_FETCH,
}


@dataclass(frozen=True, slots=True)
class SpanId:
    """A span anywhere: 128 bits of trace, 64 of span, never 0."""

    trace: int
    span: int


@dataclass(frozen=True, slots=True)
class LinkPlan:
    """A link to another span, and why."""

    to: SpanId
    why: str


@dataclass(frozen=True, slots=True)
class EventPlan:
    """A moment on a span, wall-clock microseconds."""

    name: str
    at_us: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SpanPlan:
    """One span, wall-clock microseconds; `parent` None for the root."""

    id: SpanId
    parent: SpanId | None
    name: str
    begin_us: int
    end_us: int
    attributes: Attributes
    links: tuple[LinkPlan, ...] = ()
    events: tuple[EventPlan, ...] = ()
    is_error: bool = False


Releases = Mapping[str, tuple[int, tuple[LinkPlan, ...]]]
"""By member: its place among those that a rebalance touched, and links to where it gave partitions up."""


def root_id(rebalance_id: str) -> SpanId:
    """The root span of a rebalance."""
    return _id(rebalance_id, "")


def plan_spans(rebalance: Rebalance) -> list[SpanPlan]:
    """The spans of one rebalance, the root first; times within one span never run backwards."""
    touched = rebalance.touched
    spans: list[SpanPlan] = []
    releases = {member.member_id: _releases(rebalance, place, member) for place, member in enumerate(touched)}
    for member in touched:
        spans += _member_spans(rebalance, member, releases)
    if rebalance.untouched_count:
        spans.append(_untouched(rebalance))
    return [_root(rebalance, spans), *spans]


def _id(rebalance_id: str, path: str) -> SpanId:
    span = int.from_bytes(sha256(f"{rebalance_id}\n{path}".encode(errors="replace")).digest()[:8]) or 1
    return SpanId(_trace(rebalance_id), span)


@lru_cache(TRACES_KEPT_MAX)
def _trace(rebalance_id: str) -> int:
    return int.from_bytes(sha256(rebalance_id.encode(errors="replace")).digest()[:16]) or 1


def _root(rebalance: Rebalance, spans: Sequence[SpanPlan]) -> SpanPlan:
    """It covers what is below it: a first Fetch comes when the group is at rest already.

    How long the rebalance itself took is an attribute.
    """
    explained = rebalance.explained
    outcome = "open" if rebalance.outcome is None else rebalance.outcome.value
    attributes: dict[str, Attribute] = {
        names.SYSTEM: "kafka",
        names.GROUP: rebalance.group_id,
        names.GROUP_EPOCH: rebalance.epoch,
        names.GROUP_ROAD: rebalance.road.value,
        names.REBALANCE_ID: rebalance.rebalance_id,
        names.CAUSE: explained.cause.value,
        names.SENTENCE: explained.sentence,
        names.EVIDENCE: explained.evidence,
        names.OUTCOME: outcome,
        names.DISTURBED: rebalance.disturbed_count,
        names.CRITICAL: explained.critical_member,
        names.WAITED: explained.waited_us / SECOND_US,
        names.TOOK: rebalance.duration_us / SECOND_US,
        names.ASSIGNOR: rebalance.assignor,
        names.MOVED: rebalance.moved,
        names.FORCED: rebalance.forced_minimum,
        names.MEMBER_COUNT: rebalance.member_count,
    }
    return SpanPlan(
        id=root_id(rebalance.rebalance_id),
        parent=None,
        name=names.REBALANCE,
        begin_us=min((rebalance.began_wall_us, *(span.begin_us for span in spans))),
        end_us=max((rebalance.ended_wall_us, *(span.end_us for span in spans))),
        attributes=_known(attributes),
        links=tuple(_root_links(rebalance)),
        is_error=rebalance.outcome in (None, Outcome.INTERRUPTED),
    )


def _root_links(rebalance: Rebalance) -> Iterator[LinkPlan]:
    touched = {member.member_id for member in rebalance.touched}
    for member_id in rebalance.explained.caused_by:
        if member_id in touched:
            yield LinkPlan(_id(rebalance.rebalance_id, member_id), "cause")
    if rebalance.supersedes:
        yield LinkPlan(root_id(rebalance.supersedes), "supersedes")
    if rebalance.superseded_by:
        yield LinkPlan(root_id(rebalance.superseded_by), "superseded-by")


def _member_spans(rebalance: Rebalance, member: MemberStory, releases: Releases) -> Iterator[SpanPlan]:
    origin_us = rebalance.began_wall_us
    parent = _id(rebalance.rebalance_id, member.member_id)
    children = list(_children(rebalance, member, parent, releases))
    moments = [moment for moment in (member.told_us, member.commit_on_revoke_us) if moment is not None]
    begin_us = min((0, *moments)) + origin_us
    end_us = max((0, *moments)) + origin_us
    yield SpanPlan(
        id=parent,
        parent=root_id(rebalance.rebalance_id),
        name=names.MEMBER,
        begin_us=min((child.begin_us for child in children), default=begin_us),
        end_us=max((end_us, *(child.end_us for child in children))),
        attributes=_known(_member_attributes(member)),
        events=tuple(_moments(member, origin_us)),
    )
    yield from children


def _member_attributes(member: MemberStory) -> dict[str, Attribute]:
    return {
        names.MEMBER_ID: member.member_id,
        names.INSTANCE: member.instance_id or "",
        names.CLIENT: member.client_id,
        names.PROTOCOL: member.protocol.value,
        names.LIBRARY: f"{member.library} {member.library_version}".strip(),
        names.MEMBER_EPOCH: member.member_epoch,
        names.GENERATION: member.generation,
        names.REVOKED: member.lost[:PARTITIONS_MAX],
        names.ASSIGNED: member.gained[:PARTITIONS_MAX],
        names.STALL: member.stall_us / SECOND_US,
        names.DEPARTURE: "" if member.departure is None else member.departure.value,
    }


def _moments(member: MemberStory, origin_us: int) -> Iterator[EventPlan]:
    if member.told_us is not None:
        yield EventPlan(names.TOLD, origin_us + member.told_us)
    if member.commit_on_revoke_us is not None:
        yield EventPlan(names.COMMITTED, origin_us + member.commit_on_revoke_us)


def _children(rebalance: Rebalance, member: MemberStory, parent: SpanId, releases: Releases) -> Iterator[SpanPlan]:
    for number, stretch in enumerate(member.stretches):
        links = _release_links(releases, stretch) if stretch.waits_on else ()
        yield _stretch_span(rebalance, f"{member.member_id}\n{number}", stretch, parent, links)
    if member.first_commit_us is not None:
        begin_us = min(member.first_fetch_us or 0, member.first_commit_us)
        yield SpanPlan(
            id=_id(rebalance.rebalance_id, f"{member.member_id}\ncommit"),
            parent=parent,
            name=names.FIRST_COMMIT,
            begin_us=rebalance.began_wall_us + begin_us,
            end_us=rebalance.began_wall_us + member.first_commit_us,
            attributes={},
        )


def _stretch_span(
    rebalance: Rebalance, path: str, stretch: Stretch, parent: SpanId, links: tuple[LinkPlan, ...]
) -> SpanPlan:
    origin_us = rebalance.began_wall_us
    return SpanPlan(
        id=_id(rebalance.rebalance_id, path),
        parent=parent,
        name=SPAN_NAMES[stretch.phase],
        begin_us=origin_us + stretch.begin_us,
        end_us=origin_us + stretch.end_us,
        attributes=_known({names.WAITED_FOR: stretch.waits_on}),
        links=links,
    )


def _releases(rebalance: Rebalance, place: int, member: MemberStory) -> tuple[int, tuple[LinkPlan, ...]]:
    """Links to the spans in which a member gave partitions up, and its place among all."""
    return place, tuple(
        LinkPlan(_id(rebalance.rebalance_id, f"{member.member_id}\n{number}"), "released-by")
        for number, stretch in enumerate(member.stretches)
        if stretch.phase is Phase.REVOKING
    )


def _release_links(releases: Releases, stretch: Stretch) -> tuple[LinkPlan, ...]:
    """To the spans in which the holders gave partitions up, in the order of the members."""
    holders = [releases[member_id] for member_id in set(stretch.waits_on) if member_id in releases]
    return tuple(link for _, links in sorted(holders, key=itemgetter(0)) for link in links)


def _untouched(rebalance: Rebalance) -> SpanPlan:
    return SpanPlan(
        id=_id(rebalance.rebalance_id, "\nuntouched"),
        parent=root_id(rebalance.rebalance_id),
        name=names.UNTOUCHED,
        begin_us=rebalance.began_wall_us,
        end_us=rebalance.ended_wall_us,
        attributes={names.MEMBER_COUNT: rebalance.untouched_count},
    )


def _known(attributes: Mapping[str, Attribute]) -> dict[str, Attribute]:
    """Without what is not known: empty texts and lists, and counts of -1."""
    return {name: value for name, value in attributes.items() if value not in ("", (), -1)}
