"""Which questions are given up, and when."""

from bridge.coordinators.upstream.questions import SILENT_AGAIN_MS, SILENT_MS, OpenQuestions, Question
from tests.support.owned_group import GROUP
from translators.dialects.coordinator import DepartReason, Farewell
from translators.dialects.ids import MemberId, MemberRef, Via

NOW = 1_000


def question(name: str, due_ms: int) -> Question:
    """One of this member."""
    ref = MemberRef(GROUP, MemberId(name))
    farewell = Farewell(
        group_id=GROUP, member_id=ref.member_id, member_epoch=-1, instance_id=None, reason=DepartReason.LEFT
    )
    return Question(ref, ref, Via(0, 1), farewell, due_ms)


def ask(names: str) -> OpenQuestions:
    """One of each member, a millisecond apart."""
    questions = OpenQuestions()
    for at, name in enumerate(names):
        one = question(name, NOW + at + SILENT_MS)
        questions[one.ref] = one
    return questions


def given_up(questions: OpenQuestions, now_ms: int) -> str:
    """Whose are given up by now."""
    return "".join(one.member.member_id for one in questions.take_silent(now_ms))


def test_questions_are_given_up_when_they_have_waited_long_enough() -> None:
    """In their order, each once; who was answered meanwhile is not."""
    questions = ask("abc")
    del questions[MemberRef(GROUP, MemberId("b"))]
    assert (given_up(questions, NOW + SILENT_MS - 1), questions.next_due_ms()) == ("", NOW + SILENT_MS)
    assert given_up(questions, NOW + SILENT_MS) == "a"
    assert given_up(questions, NOW + SILENT_MS + 2) == "c"
    assert (questions.next_due_ms(), len(questions)) == (None, 0)


def test_one_asked_again_is_given_up_sooner_than_those_before_it() -> None:
    """Its member waited long enough for the question before."""
    questions = ask("ab")
    again = question("c", NOW + SILENT_AGAIN_MS)
    questions.begin_again(again)
    assert questions.next_due_ms() == NOW + SILENT_AGAIN_MS
    assert given_up(questions, NOW + SILENT_AGAIN_MS) == "c"
    assert questions.next_due_ms() == NOW + SILENT_MS


def test_of_one_that_was_answered_nothing_is_left() -> None:
    """Nor of all, when they are forgotten."""
    questions = ask("a")
    for name in "bc":
        questions.begin_again(question(name, NOW + SILENT_AGAIN_MS))
    del questions[MemberRef(GROUP, MemberId("b"))]
    assert given_up(questions, NOW + SILENT_AGAIN_MS) == "c"
    questions.begin_again(question("d", NOW + SILENT_AGAIN_MS))
    questions.clear()
    assert (len(questions), len(vars(questions)["_again"]), questions.next_due_ms()) == (0, 0, None)
