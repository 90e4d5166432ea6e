"""Cutting what a broker answers."""

from hypothesis import given
from hypothesis import strategies as st

from bridge.session.broker_answers import AnswerCutter, Confused, Expected, Streamed, Whole
from bridge.session.outbox import Outbox
from bridge.wire.apis import ApiKey
from bridge.wire.frames import response_frame

FRAMES = [response_frame(ApiKey.FETCH, 11, number, b"%d" % number * number * 9) for number in range(6)]


def ignore(frame: bytes | None) -> None:
    """Take an answer and do nothing."""


def expecting(held: set[int], held_max: int = 1000) -> AnswerCutter:
    """A cutter that expects all FRAMES, some of them held."""
    cutter, outbox = AnswerCutter(held_max), Outbox(0, 1)
    for number in range(len(FRAMES)):
        slot = None if number in held else outbox.reserve_stream(ApiKey.FETCH, 11, number)
        cutter.expect(Expected(number, slot, ignore if number in held else None))
    return cutter


@given(st.sets(st.integers(0, 5)), st.sets(st.integers(1, 200), max_size=30))
def test_any_chunking_gives_the_same_answers(held: set[int], cuts: set[int]) -> None:
    """Held answers come whole, streamed ones unread in pieces; no byte is lost, doubled or moved."""
    stream = b"".join(FRAMES)
    ends = sorted(cut for cut in cuts if cut < len(stream))
    cutter, got, passing = expecting(held), list[bytes](), b""
    for start, end in zip([0, *ends], [*ends, len(stream)], strict=True):
        view, position = memoryview(stream[start:end]), 0
        while (piece := cutter.cut(view, position)) is not None:
            position = cutter.position
            assert not isinstance(piece, Confused)
            if isinstance(piece, Whole):
                got.append(piece.frame)
                continue
            passing += piece.data
            if piece.left == 0:
                got.append(passing)
                passing = b""
    assert got == FRAMES
    assert (cutter.bytes_held, cutter.bytes_to_pass_on, cutter.next_expected) == (0, 0, None)


@given(st.sets(st.integers(0, 5)), st.integers(1, 6), st.integers(-5, 5), st.sampled_from([4, 20, 1000]))
def test_answer_alone_is_what_is_cut_of_it(held: set[int], count: int, more: int, held_max: int) -> None:
    """One whole answer that is held is cut in one; for anything else nothing has happened."""
    stream = b"".join(FRAMES)
    view = memoryview(stream[: max(0, len(b"".join(FRAMES[:count])) + more)])
    alone, cut = expecting(held, held_max), expecting(held, held_max)
    found, one = alone.cut_alone(view), cut.cut(view, 0)
    is_alone = isinstance(one, Whole) and one.frame == bytes(view)
    assert found == (ignore if is_alone else None)
    if found is None:
        assert alone.cut(view, 0) == one
    assert (alone.next_expected, alone.bytes_held) == (cut.next_expected, cut.bytes_held)


def test_answer_that_began_is_not_alone() -> None:
    """What came before belongs to it."""
    cutter = expecting({0})
    assert cutter.cut(memoryview(FRAMES[0][:3]), 0) is None
    assert cutter.cut_alone(memoryview(FRAMES[0])) is None


def test_wrong_correlation_id_and_unasked_bytes_are_confusion() -> None:
    """An answer that was not asked for ends the connection instead of reaching the wrong request."""
    assert isinstance(expecting(set()).cut(memoryview(FRAMES[1]), 0), Confused)
    assert isinstance(AnswerCutter(10).cut(memoryview(b"x"), 0), Confused)


def test_held_answer_over_its_limit_is_refused_by_its_length() -> None:
    """What must be held whole has a bound; what streams has none."""
    last = len(FRAMES[5]) - 4
    for held_max, too_large in ((last, False), (last - 1, True)):
        cutter = AnswerCutter(held_max)
        cutter.expect(Expected(5, None, ignore))
        piece = cutter.cut(memoryview(FRAMES[5]), 0)
        assert (isinstance(piece, Confused) and piece.too_large) is too_large


def test_answer_that_is_spliced_ends_like_any_other() -> None:
    """Bytes that went by outside count."""
    cutter = expecting(set())
    piece = cutter.cut(memoryview(FRAMES[0])[:8], 0)
    assert piece == Streamed(memoryview(FRAMES[0])[:8], 0)
    piece = cutter.cut(memoryview(FRAMES[1])[:8], 0)
    assert piece == Streamed(memoryview(FRAMES[1])[:8], len(FRAMES[1]) - 8)
    cutter.pass_on(len(FRAMES[1]) - 8)
    due = cutter.next_expected
    assert due is not None
    assert due.correlation_id == 2


def test_giving_up_names_everything_that_was_due() -> None:
    """When the broker is lost everybody who waits hears of it."""
    cutter = expecting({1, 3})
    assert [due.correlation_id for due in cutter.give_up()] == [0, 1, 2, 3, 4, 5]
    assert cutter.next_expected is None
