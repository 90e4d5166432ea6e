"""Guesses about what somebody meant: the names they give exist, and no login is in them."""

import pytest

from bridge.config.causes import (
    FOREIGN_KEYS,
    cause_of_address,
    cause_of_choice,
    cause_of_kind,
    cause_of_name,
    cause_of_variable,
    is_of_kubernetes,
)
from bridge.config.keys import KEYS


def test_names_of_others_lead_to_keys_that_there_are() -> None:
    """A key that is renamed has to be renamed here."""
    assert {one for named in FOREIGN_KEYS.values() for one in named} <= set(KEYS)


@pytest.mark.parametrize("text", ["kafka://ada:pw@k:1", "ada:pw@k:1", "kafka://ada:p/w@k:1/x?pw", "a b@pw:1"])
def test_logins_are_not_repeated(text: str) -> None:
    """What stands before a host may be a password."""
    assert "pw" not in cause_of_address(text)
    assert "p/w" not in cause_of_address(text)


def test_values_that_can_be_guessed() -> None:
    """Numbers with units, by what the key counts; words that YAML takes for something else."""
    time, size, word = KEYS["limits.idle.ms"], KEYS["journal.bytes.max"], KEYS["listen"]
    assert cause_of_kind(time, "2m").endswith("write 120000")
    assert cause_of_kind(size, "2m").endswith("write 2097152")
    assert "write the number alone" in cause_of_kind(KEYS["group.max.size"], "2m")
    assert "quotes" in cause_of_kind(word, 1.5)
    assert cause_of_kind(KEYS["upstream.tls"], "maybe") == ""


def test_choices_names_and_variables_that_are_near() -> None:
    """And none where nothing is."""
    assert cause_of_choice(("pass", "embedded"), "Pas").endswith("`pass`")
    assert cause_of_choice(("pass", "embedded"), "x") == ""
    assert cause_of_name("Listen", KEYS).endswith("`listen`")
    assert "EPOCHBRIDGE_ADMIN," in cause_of_variable("EPOCHBRIDGE_ADMN", {"EPOCHBRIDGE_ADMIN"}, "EPOCHBRIDGE_")
    assert "nothing reads it" in cause_of_variable("EPOCHBRIDGE_X", {"EPOCHBRIDGE_ADMIN"}, "EPOCHBRIDGE_")


def test_variables_of_services_are_told_by_their_form() -> None:
    """A port that somebody wrote is a number, one of Kubernetes a URL."""
    assert is_of_kubernetes("EPOCHBRIDGE_PORT", "tcp://10.0.0.1:9192")
    assert not is_of_kubernetes("EPOCHBRIDGE_LISTEN_PORT", "9192")
    assert not is_of_kubernetes("EPOCHBRIDGE_PORT_9192_TCP_X", "1")
