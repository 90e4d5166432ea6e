"""Watching the embedded groups shows every turn, and nobody watching costs nothing."""

from bridge.coordinators.embedded.coordinator import Unwatched
from bridge.engine.outcome import Outcome
from bridge.engine.records import GroupCreated
from bridge.engine.state import Shard
from tests.support.owned_group import GROUP, ClassicClient, OwnedGroup
from translators.dialects.coordinator import DepartReason
from translators.dialects.ids import MemberId, MemberRef


class Notes(Unwatched):
    def __init__(self, shard: Shard) -> None:
        self.turns: list[Outcome] = []
        self.departed: list[tuple[MemberRef, DepartReason]] = []
        self.known: list[bool] = []
        self._shard = shard

    def advanced(self, outcome: Outcome) -> None:
        self.turns.append(outcome)

    def departs(self, key: MemberRef, reason: DepartReason) -> None:
        self.departed.append((key, reason))
        self.known.append(is_known(self._shard, key))


def is_known(shard: Shard, key: MemberRef) -> bool:
    """Whether the engine has such a member."""
    group = shard.groups.get(key.group_id)
    return group is not None and key.member_id in group.members


def _watched() -> tuple[OwnedGroup, Notes]:
    group = OwnedGroup()
    notes = Notes(group.owner.shard)
    group.owner.watch(notes)
    return group, notes


def test_engine_turn_is_shown_with_its_records() -> None:
    """Whoever watches hears of a group from its first record on."""
    group, notes = _watched()
    ClassicClient(group).join()
    assert any(isinstance(record, GroupCreated) for turn in notes.turns for record in turn.records)


def test_reason_is_told_before_the_engine_forgets_the_member() -> None:
    """A translated member's session is its machine's: the engine only hears a farewell."""
    group, notes = _watched()
    client = ClassicClient(group)
    client.join()
    group.wait(60_000)
    key = MemberRef(GROUP, client.member_id)
    assert notes.departed == [(key, DepartReason.SESSION_EXPIRED)]
    assert (notes.known, is_known(group.owner.shard, key)) == ([True], False)


def test_nobody_watching_hears_nothing() -> None:
    """The default takes everything and keeps nothing."""
    nobody = Unwatched()
    nobody.advanced(Outcome())
    nobody.departs(MemberRef(GROUP, MemberId("m")), DepartReason.LEFT)
    assert vars(nobody) == {}
