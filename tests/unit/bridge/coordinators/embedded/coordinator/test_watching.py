"""Watching the embedded groups shows every turn, and nobody watching costs nothing."""

from bridge.coordinators.embedded.coordinator import Unwatched
from bridge.engine.outcome import Outcome
from bridge.engine.records import GroupCreated
from tests.support.owned_group import GROUP, ClassicClient, OwnedGroup
from translators.dialects.coordinator import DepartReason
from translators.dialects.ids import MemberId, MemberRef


class Notes(Unwatched):
    def __init__(self) -> None:
        self.turns: list[Outcome] = []
        self.departed: list[tuple[MemberRef, DepartReason]] = []

    def advanced(self, outcome: Outcome) -> None:
        self.turns.append(outcome)

    def departs(self, key: MemberRef, reason: DepartReason) -> None:
        self.departed.append((key, reason))


def _watched() -> tuple[OwnedGroup, Notes]:
    group, notes = OwnedGroup(), Notes()
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
    assert notes.departed == [(MemberRef(GROUP, client.member_id), DepartReason.SESSION_EXPIRED)]


def test_nobody_watching_hears_nothing() -> None:
    """The default takes everything and keeps nothing."""
    nobody = Unwatched()
    nobody.advanced(Outcome())
    nobody.departs(MemberRef(GROUP, MemberId("m")), DepartReason.LEFT)
    assert vars(nobody) == {}
