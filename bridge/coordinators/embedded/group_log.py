"""What the engine's notices mean to whoever reads the log, and how many groups changed their kind or could not."""

import logging
from collections import Counter, OrderedDict

from bridge.engine.commands import GroupType
from bridge.engine.outcome import (
    AssignorFailed,
    ConversionFailed,
    DowngradeDue,
    GenerationBegun,
    GroupDowngraded,
    GroupEmptied,
    GroupGivenUp,
    GroupUpgraded,
    MemberRemoved,
    NotConverted,
    Notice,
    PartitionsFreed,
    RebalanceBegun,
    RebalanceCompleted,
    RegularExpressionWanted,
    TargetChanged,
    Unready,
)
from bridge.engine.state import Shard
from bridge.log_lines import EMBEDDED, LogFields
from translators.dialects.counts import counted
from translators.dialects.ids import GroupId
from translators.dialects.kept_names import kept_name

LOG = logging.getLogger("epochbridge.coordinators")
DONE = "done"
REPEAT_MS = 60_000
"""How long the same reason for the same group is not logged again: refused clients come back every few moments."""
REMEMBERED_MAX = 10_000


class GroupLog:
    """Lines about groups; `conversions` counts by the kind that a group became or was to become, and by outcome."""

    def __init__(self, shard: Shard) -> None:
        self._shard = shard
        self.conversions: Counter[tuple[str, str]] = Counter()
        self._told: OrderedDict[tuple[str, GroupType, Unready], int] = OrderedDict()

    def hear(self, notice: Notice, now_ms: int) -> None:
        """Note what a turn has to say."""
        match notice:
            case GroupEmptied(group_id):
                LOG.info("group %r is empty", group_id, extra=group_fields(self._shard, group_id))
            case MemberRemoved():
                fields = removed_fields(self._shard, notice)
                words = (notice.group_id, notice.member_id, notice.cause.value)
                LOG.info("group %r lost member %r: %s", *words, extra=fields)
            case AssignorFailed(group_id, assignor, reason):
                fields = group_fields(self._shard, group_id)
                LOG.error("EB-GROUP-003: assignor %r failed for group %r: %s", assignor, group_id, reason, extra=fields)
            case GroupUpgraded(group_id=group_id, cause=cause):
                self._note_done(group_id, GroupType.CONSUMER, cause.value, len(notice.seats) + len(notice.newcomers))
            case GroupGivenUp(group_id):
                LOG.info("group %r has another coordinator now", group_id, extra=group_fields(self._shard, group_id))
            case GroupDowngraded(group_id, cause):
                self._note_done(group_id, GroupType.CLASSIC, cause.value, None)
            case ConversionFailed(refusal):
                self.note_refusal(refusal, now_ms)
            case TargetChanged() | PartitionsFreed() | DowngradeDue() | RegularExpressionWanted():
                # The event log tells of what happens all the time, and of how far a rebalance is.
                pass
            case RebalanceBegun() | GenerationBegun() | RebalanceCompleted():
                pass

    def note_refusal(self, refusal: NotConverted, now_ms: int) -> None:
        """A group stays what it is."""
        self.conversions[refusal.to.value, refusal.reason.value] += 1
        key = (kept_name(refusal.group_id), refusal.to, refusal.reason)
        told_ms = self._told.get(key)
        if told_ms is not None and now_ms - told_ms < REPEAT_MS:
            return
        self._told[key] = now_ms
        if len(self._told) > REMEMBERED_MAX:
            self._told.popitem(last=False)
        LOG.warning(
            "EB-GROUP-006: group %r does not become a %s group: %s",
            *(refusal.group_id, refusal.to.value, refusal.text),
            extra=group_fields(self._shard, refusal.group_id),
        )

    def _note_done(self, group_id: GroupId, to: GroupType, cause: str, members: int | None) -> None:
        self.conversions[to.value, DONE] += 1
        shown = "" if members is None else f" with {counted(members, 'classic member')}"
        fields = group_fields(self._shard, group_id)
        LOG.info("group %r is a %s group now%s: %s", group_id, to.value, shown, cause, extra=fields)


def group_fields(shard: Shard, group_id: GroupId) -> LogFields:
    """What a line about an embedded group says of it beside its words."""
    fields = LogFields(group_id=group_id, road=EMBEDDED)
    group, classic = shard.groups.get(group_id), shard.classic_groups.get(group_id)
    if group is not None:
        fields["group_epoch"] = group.epoch
    if classic is not None:
        fields["generation"] = classic.roster.generation
    return fields


def removed_fields(shard: Shard, removed: MemberRemoved) -> LogFields:
    """What a line says of a member that is gone; 0 and less are no epochs or generations that it was in."""
    fields = group_fields(shard, removed.group_id)
    fields |= LogFields(member_id=removed.member_id, instance_id=removed.instance_id, client_id=removed.client_id)
    if removed.member_epoch >= 0:
        fields["member_epoch"] = removed.member_epoch
    if removed.generation >= 0:
        fields["generation"] = removed.generation
    return fields
