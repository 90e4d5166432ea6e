"""What is known of a cluster's entrance, and what changes that."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bridge.net.broker_connection import LoginRefused
from bridge.net.cluster_memory import PROVES, Entrance, Finding, after, handshake_finding, refusal_finding
from bridge.wire.sasl import HandshakeAnswer
from translators.dialects.errors import ErrorCode

FAILURES = frozenset(
    {
        Finding.NAMED_NO_BROKERS,
        Finding.FAILED_OUR_LOGIN,
        Finding.HAD_NO_LOGIN,
        Finding.KNOWS_NO_SASL,
        Finding.CLOSED,
        Finding.SILENT,
        Finding.UNREADABLE,
        Finding.UNREACHABLE,
    }
)
OPENS = frozenset({Finding.ANSWERED_A_STRANGER})
CLOSES = frozenset({Finding.LET_US_IN, Finding.REFUSED_OUR_LOGIN, Finding.TALKED_OF_SASL})


def test_every_finding_is_a_failure_or_a_proof() -> None:
    """One that somebody adds has to be put somewhere."""
    assert frozenset(Finding) == FAILURES | OPENS | CLOSES
    assert frozenset(PROVES) == OPENS | CLOSES


@pytest.mark.parametrize("known", Entrance)
@pytest.mark.parametrize("finding", Finding)
def test_table(known: Entrance, finding: Finding) -> None:
    """Every state against everything that can be found."""
    if finding in FAILURES:
        assert after(known, finding) is known
    else:
        assert after(known, finding) is (Entrance.OPEN if finding in OPENS else Entrance.LOGIN)


@given(known=st.sampled_from(Entrance), findings=st.lists(st.sampled_from(sorted(FAILURES))))
def test_failures_alone_prove_nothing(known: Entrance, findings: list[Finding]) -> None:
    """However many there are: what was proved stays, and what is not known stays unknown."""
    now = known
    for finding in findings:
        now = after(now, finding)
    assert now is known


@given(findings=st.lists(st.sampled_from(Finding)))
def test_last_proof_counts(findings: list[Finding]) -> None:
    """Whatever failed before or after it."""
    now = Entrance.UNKNOWN
    for finding in findings:
        now = after(now, finding)
    proofs = [finding for finding in findings if finding not in FAILURES]
    assert now is (after(Entrance.UNKNOWN, proofs[-1]) if proofs else Entrance.UNKNOWN)


@pytest.mark.parametrize(
    ("error", "mechanisms", "finding"),
    [
        (ErrorCode.NONE, ("PLAIN",), Finding.TALKED_OF_SASL),
        (ErrorCode.UNSUPPORTED_SASL_MECHANISM, ("SCRAM-SHA-512",), Finding.TALKED_OF_SASL),
        (ErrorCode.UNSUPPORTED_SASL_MECHANISM, (), Finding.KNOWS_NO_SASL),
        (ErrorCode.ILLEGAL_SASL_STATE, (), Finding.KNOWS_NO_SASL),
    ],
)
def test_listener_with_sasl_names_mechanisms(error: ErrorCode, mechanisms: tuple[str, ...], finding: Finding) -> None:
    """One without says ILLEGAL_SASL_STATE."""
    assert handshake_finding(HandshakeAnswer(error, mechanisms)) is finding


def test_only_the_brokers_word_on_a_login_is_proof() -> None:
    """An answer that can't be read may be anybody's."""
    assert refusal_finding(LoginRefused("no", is_brokers_word=True)) is Finding.REFUSED_OUR_LOGIN
    assert refusal_finding(LoginRefused("what?")) is Finding.FAILED_OUR_LOGIN
