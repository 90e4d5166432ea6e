"""What a broker has told of a member, and what of that is still to come."""

from collections.abc import Hashable
from dataclasses import dataclass, replace
from typing import NamedTuple

from bridge.coordinators.upstream.group_news import Target, Untold
from translators.dialects.coordinator import Granted
from translators.dialects.ids import JOIN_EPOCH, TopicPartition

Partitions = frozenset[TopicPartition]


class Awaited(NamedTuple):
    """What others have yet to let go of for a member, by what it is to have from an epoch on."""

    epoch: int
    partitions: Partitions


@dataclass(slots=True)
class HeardMember:
    """What was heard of a member with the answers to its questions; None where it was not."""

    principal: Hashable | None = None
    """Whom the broker took its client for, as far as that can be said."""
    granted: Partitions | None = None
    """What it was told last that it may have."""
    owned: Partitions | None = None
    """What it was said to have, when that was heard last."""
    awaits: Awaited | None = None

    def with_pending(self, answer: Granted, target: Target | Untold, asked_epoch: int) -> Granted:
        """The answer to a question asked at an epoch, with what others have yet to let go of where that is known: by
        the broker's description, or by an earlier one while nothing has changed.
        """
        awaited, self.awaits = self.awaits, None
        granted = self.granted if answer.assigned is None else answer.assigned
        if isinstance(target, frozenset) and granted is not None:
            pending = target - granted
        elif target is Untold.TO_COME and asked_epoch == JOIN_EPOCH:
            return replace(answer, is_to_come=True)
        elif answer.assigned is None and awaited is not None and awaited.epoch == answer.member_epoch:
            pending = awaited.partitions
        else:
            return answer
        if pending:
            self.awaits = Awaited(answer.member_epoch, pending)
        return replace(answer, pending=pending)


def may_gain(heard: HeardMember | None, asked_epoch: int, told_epoch: int, assigned: Partitions | None) -> bool:
    """Whether there may be more to come for a member that was told this, None being what it was told before: it has
    more than it might have until now, or nothing, as a newcomer or at a new epoch. Of one that was taken over, or was
    in the journal, it is not known.
    """
    if asked_epoch == JOIN_EPOCH:
        return assigned is not None and not assigned
    if asked_epoch < JOIN_EPOCH or heard is None or heard.granted is None:
        return False
    if assigned is None:
        return not heard.granted and told_epoch != asked_epoch
    return not assigned <= heard.granted
