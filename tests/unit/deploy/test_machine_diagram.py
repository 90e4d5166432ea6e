"""A table of transitions as a state diagram."""

from bridge.migration.moves.giveback import CameToRest, Stage
from bridge.migration.moves.one_by_one import Stopped
from deploy.machine_diagram import draw, draw_stages
from translators.classic_member.events import HeartbeatReceived, JoinReceived, SyncReceived
from translators.classic_member.states import TRANSITIONS, Absent, PreparingRebalance
from translators.machine import Transitions


def test_arrow_shares_its_label() -> None:
    """Events along one arrow are one line, in alphabetical order."""
    table: Transitions = {
        (Absent, SyncReceived): frozenset({Absent}),
        (Absent, HeartbeatReceived): frozenset({Absent}),
        (Absent, JoinReceived): frozenset({Absent, PreparingRebalance}),
    }
    assert draw(table, Absent) == (
        "stateDiagram-v2\n"
        "    [*] --> Absent\n"
        "    Absent --> Absent: HeartbeatReceived, JoinReceived, SyncReceived\n"
        "    Absent --> PreparingRebalance: JoinReceived\n"
    )


def test_stages_are_drawn_by_their_names() -> None:
    """Where a table's states are no classes."""
    table = {
        (Stage.WAITING, Stopped): frozenset({Stage.WAITING, Stage.STAYS}),
        (Stage.WAITING, CameToRest): frozenset({Stage.JOINING}),
    }
    assert draw_stages(table, Stage.WAITING) == (
        "stateDiagram-v2\n"
        "    [*] --> waiting\n"
        "    waiting --> joining: CameToRest\n"
        "    waiting --> stays: Stopped\n"
        "    waiting --> waiting: Stopped\n"
    )


def test_every_declared_arrow_is_drawn() -> None:
    """The diagram of the member machine shows every pair of states that the table connects."""
    drawn = draw(TRANSITIONS, Absent).splitlines()[2:]
    arrows = {(state.__name__, target.__name__) for (state, _), targets in TRANSITIONS.items() for target in targets}
    assert {tuple(line.split(":")[0].split(" --> ")) for line in map(str.strip, drawn)} == arrows
