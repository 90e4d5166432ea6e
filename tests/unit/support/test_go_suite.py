"""What `go test -v` prints becomes outcomes, and a suite's tests are edited where they know an address."""

from pathlib import Path

from tests.suites.go_suite import GoSuite, adapt, outcomes

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


def test_addresses_are_edited_in_the_packages_own_tests_only(tmp_path: Path) -> None:
    """Examples stand outside of the package: they would not compile with a name that is in it."""
    said = 'package kafka\n\nvar where = "localhost:9092"\n'
    outside = said.replace("package kafka", "package kafka_test")
    (tmp_path / "reader_test.go").write_text(said, encoding="utf-8")
    (tmp_path / "example_test.go").write_text(outside, encoding="utf-8")
    (tmp_path / "reader.go").write_text(said, encoding="utf-8")
    suite = GoSuite(
        module="m",
        version="v1",
        package=".",
        variables={},
        files={"other/go.mod": "module other\n"},
        edits={'"localhost:9092"': "suiteBrokers"},
    )
    adapt(suite, tmp_path)
    assert (tmp_path / "reader_test.go").read_text(encoding="utf-8") == "package kafka\n\nvar where = suiteBrokers\n"
    assert (tmp_path / "example_test.go").read_text(encoding="utf-8") == outside
    assert (tmp_path / "reader.go").read_text(encoding="utf-8") == said
    assert (tmp_path / "other/go.mod").read_text(encoding="utf-8") == "module other\n"
