"""What librdkafka's test-runner reports becomes outcomes, and names of files the numbers it is asked for."""

import json

from tests.suites.librdkafka_suite import chosen, outcomes

FILES = ("0113-cooperative_rebalance.cpp", "0018-cgrp_term.c", "0018-cgrp_term.o", "test.c", "8000-idle.cpp")


def _report(**states: str) -> str:
    return json.dumps({"tests": {name: {"name": name, "state": state} for name, state in states.items()}})


def test_each_file_of_tests_is_asked_for_by_its_number() -> None:
    """What was built of it is no other one, manual tests have another first figure, and some are left out."""
    assert chosen(FILES, {}, None) == ["0018", "0113"]
    assert chosen(FILES, {"0018": "measures"}, None) == ["0113"]
    assert chosen(FILES, {}, "cgrp|none") == ["0018"]


def test_only_tests_of_that_number_that_ran_have_an_outcome() -> None:
    """The runner reports all that it knows, and says of those it was not asked for that they were skipped."""
    report = _report(**{"<MAIN>": "PASSED", "0113_local": "SKIPPED", "0113_real": "FAILED", "0018_cgrp": "SKIPPED"})
    assert outcomes("0113", report) == {"0113_real": "FAIL"}
    assert outcomes("0113", report.replace("FAILED", "RUNNING")) == {"0113_real": "not finished"}


def test_a_process_that_left_no_report_did_not_finish() -> None:
    """A crash ends the runner before it writes one."""
    assert outcomes("0113", "") == {"0113": "not finished"}
