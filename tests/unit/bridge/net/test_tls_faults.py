"""Sentences for what goes wrong in TLS; with real sockets in `tls/`."""

import ssl

from bridge.net.tls_faults import explain_broker, tell_ending


def test_end_without_a_word_has_no_reason() -> None:
    """A reset, or an alert that nobody knows: nothing is made up."""
    assert tell_ending(ConnectionResetError()) == ""
    assert tell_ending(ssl.SSLError(1, "[SSL: SOMETHING_NEW] something new")) == ""


def test_host_that_can_not_be_asked_for_is_told() -> None:
    """TLS takes no name that begins with a dot."""
    assert explain_broker(".kafka", ".kafka:1", ValueError("no")).startswith("EB-NET-045: '.kafka' can't be asked for")
