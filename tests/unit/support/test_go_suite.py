"""What `go test -v` prints becomes outcomes, and two runs their differences."""

from tests.suites.go_suite import differences, outcomes

LOG = """\
=== RUN   TestA
    --- PASS: TestA/one (0.00s)
    --- FAIL: TestA/two (1.25s)
--- FAIL: TestA (1.26s)
--- SKIP: TestB (0.00s)
    a_test.go:5: --- PASS: not a line of its own
"""


def test_outcomes_are_read_with_subtests_under_full_names() -> None:
    """Only the lines that end a test count."""
    assert outcomes(LOG) == {"TestA/one": "PASS", "TestA/two": "FAIL", "TestA": "FAIL", "TestB": "SKIP"}


def test_differences_name_what_ended_otherwise_or_not_at_all() -> None:
    """A test that a crash kept from ending is a difference too."""
    assert differences({"A": "PASS", "B": "PASS", "C": "SKIP"}, {"A": "PASS", "B": "FAIL"}) == {
        "B": ("PASS", "FAIL"),
        "C": ("SKIP", "not finished"),
    }
