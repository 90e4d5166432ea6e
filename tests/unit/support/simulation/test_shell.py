"""The shell around the bridge under test."""

import pytest

from bridge.engine.settings import EngineSettings
from tests.support.scripted_subject import ScriptedSubject
from tests.support.simulation.shell import IDS_PER_LIFE, Shell
from tests.support.simulation.subject import OnCommitted, Surroundings
from tests.support.simulation.timeline import Timeline
from tests.unit.support.simulation.test_cluster import COMMIT
from translators.dialects.classic import Heartbeat
from translators.dialects.ids import ClientIdentity, GroupId, MemberId, RequestRef
from translators.dialects.messages import GroupReply
from translators.dialects.offsets import OffsetCommit, OffsetFetch

CLIENT = ClientIdentity(client_id="c", client_host="/h")
BEAT = Heartbeat(GroupId("g"), 1, MemberId("m"), None)
REF = RequestRef(0, 1, 0)


class Bench:
    """A shell with scripted subjects, the last of which is `subject`, and a broker that answers by hand."""

    def __init__(self) -> None:
        self.timeline = Timeline()
        self.subjects: list[ScriptedSubject] = []
        self.broker: list[OnCommitted] = []
        surroundings = Surroundings(
            settings=EngineSettings(),
            no_assignment_before_ms=0,
            first_id=0,
            now_ms=lambda: self.timeline.now_ms,
            answer=self._answer,
            ask_broker=self._ask,
        )
        self.shell = Shell(self.timeline, self._make, surroundings, 1)

    @property
    def subject(self) -> ScriptedSubject:
        """The newest."""
        return self.subjects[-1]

    def _make(self, surroundings: Surroundings) -> ScriptedSubject:
        self.subjects.append(ScriptedSubject(surroundings))
        return self.subjects[-1]

    def _ask(self, ref: RequestRef, request: OffsetCommit, answer: OnCommitted) -> None:
        assert (ref, request) == (REF, COMMIT)
        self.broker.append(answer)

    def _answer(self, ref: RequestRef, reply: GroupReply) -> None:
        raise AssertionError(f"{ref} answered {reply}")


def test_arrivals_that_wait_make_one_turn() -> None:
    """Whatever is queued is one batch."""
    bench = Bench()
    for _ in range(3):
        bench.shell.arrive(REF, CLIENT, BEAT)
    bench.timeline.run_until(10)
    assert [len(turn) for turn in bench.subject.turns] == [3]


def test_commit_and_loss_see_what_came_before_them_done() -> None:
    """Order on a connection holds across batches."""
    bench = Bench()
    bench.shell.arrive(REF, CLIENT, BEAT)
    bench.shell.arrive(REF, CLIENT, COMMIT)
    bench.shell.arrive(REF, CLIENT, BEAT)
    bench.shell.lose_connection(1)
    bench.timeline.run_until(10)
    assert bench.subject.heard == ["turn", "commit", "turn", "lost 1"]


def test_deadline_passes_at_its_time_also_when_it_moves_forward() -> None:
    """One timer, never late."""
    bench = Bench()
    bench.subject.deadline_ms = 500
    bench.shell.plan()
    bench.subject.deadline_ms = 200
    bench.shell.plan()
    bench.timeline.run_until(1_000)
    assert bench.subject.heard == ["deadline 200"]


def test_restart_forgets_what_was_queued_or_under_way() -> None:
    """Another subject, with fresh ids, that waits; answers to the old one are lost (decision 9)."""
    bench = Bench()
    bench.shell.arrive(REF, CLIENT, COMMIT)
    bench.shell.arrive(REF, CLIENT, BEAT)
    bench.timeline.run_until(0)
    old, turns = bench.subject, len(bench.subject.turns)
    bench.shell.restart(600)
    bench.broker[0](None)
    bench.timeline.run_until(10)
    assert (len(old.turns), old.broker_answers) == (turns, [])
    assert bench.subject is not old
    assert bench.subject.surroundings.no_assignment_before_ms == 600
    assert bench.subject.surroundings.first_id == IDS_PER_LIFE


def test_broker_s_answer_reaches_the_subject_that_asked() -> None:
    """A lost connection is None."""
    bench = Bench()
    bench.shell.arrive(REF, CLIENT, COMMIT)
    bench.broker[0](None)
    assert bench.subject.broker_answers == [None]


def test_request_that_no_client_sends_is_a_bug() -> None:
    """The world speaks of members and commits only."""
    with pytest.raises(TypeError, match="no client of this world sends"):
        Bench().shell.arrive(REF, CLIENT, OffsetFetch(groups=()))
