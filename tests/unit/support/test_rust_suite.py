"""What `cargo test` prints becomes outcomes."""

from tests.suites.rust_suite import outcomes

LOG = """\
     Running tests/test_admin.rs (target/debug/deps/test_admin-1)
running 2 tests
test test_groups ... ok
test test_topics ... FAILED
thread 'test_topics' panicked: test test_groups ... ok is no line of its own
     Running tests/utils.rs (target/debug/deps/utils-1)
test tests::test_groups ... ignored
"""


def test_outcomes_are_read_under_the_names_of_their_files() -> None:
    """Tests of two files may be named alike."""
    assert outcomes(LOG) == {
        "test_admin::test_groups": "PASS",
        "test_admin::test_topics": "FAIL",
        "utils::tests::test_groups": "SKIP",
    }
