"""Two runs of a suite are compared, and its variables told where it runs."""

from pathlib import Path

from tests.suites.outcome import Place, differences


def test_differences_name_what_ended_otherwise_or_not_at_all() -> None:
    """A test that a crash kept from ending is a difference too."""
    assert differences({"A": "PASS", "B": "PASS", "C": "SKIP"}, {"A": "PASS", "B": "FAIL"}) == {
        "B": ("PASS", "FAIL"),
        "C": ("SKIP", "not finished"),
    }


def test_a_suite_is_told_the_address_and_the_version() -> None:
    """What stands in the variables' texts is replaced, in each of them."""
    place = Place(address="127.0.0.1:1", version="4.3.1", log=Path("log"))
    assert place.variables({"AT": "{address}", "KAFKA": "v{version}", "FIXED": "1"}) == {
        "AT": "127.0.0.1:1",
        "KAFKA": "v4.3.1",
        "FIXED": "1",
    }
