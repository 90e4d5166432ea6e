"""Refusals and what they quote."""

from translators.dialects.errors import QUOTE_CHARS_MAX, REASON_CHARS_MAX, ErrorCode, Refusal, code_of, quote

KAFKA_STRING_BYTES_MAX = 32_767


def test_name_of_ordinary_length_is_quoted_as_it_is() -> None:
    """Kafka's own sentences quote names whole."""
    assert quote("orders" * 41) == "orders" * 41
    assert len("orders" * 41) <= QUOTE_CHARS_MAX


def test_long_name_is_cut_and_says_how_long_it_was() -> None:
    """A client may give itself a name of 32,767 bytes."""
    assert quote("n" * 32_767) == "n" * QUOTE_CHARS_MAX + "… (32767 characters)"


def test_reason_fits_into_an_answer_whatever_it_quotes() -> None:
    """In characters of four bytes, too."""
    reason = Refusal(ErrorCode.INVALID_REQUEST, "\U0001f980" * 10_000).reason
    assert reason.startswith("\U0001f980" * REASON_CHARS_MAX)
    assert len(reason.encode()) <= KAFKA_STRING_BYTES_MAX
    assert Refusal(ErrorCode.NONE, "short").reason == "short"


def test_code_that_is_not_in_here_is_an_error_of_the_server() -> None:
    """Brokers have more of them, and newer ones."""
    assert [code_of(code.value) for code in ErrorCode] == list(ErrorCode)
    assert code_of(9_999) is ErrorCode.UNKNOWN_SERVER_ERROR
