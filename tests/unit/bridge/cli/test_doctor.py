"""`doctor` from the command line."""

import json
from dataclasses import replace

import pytest

from bridge.cli.main import run
from tests.support.admin_served import admin_api
from tests.support.surveyed import EXAMINED, StillSurveys


def test_findings_are_a_table_and_status_1_if_something_stands_in_the_way(capsys: pytest.CaptureFixture[str]) -> None:
    """Each with its code."""
    with admin_api(surveys=StillSurveys()) as address:
        status = run(["doctor", "--admin", address])
    lines = capsys.readouterr().out.splitlines()
    assert (status, lines[0].split()) == (1, ["SEVERITY", "CODE", "FINDING", "REMEDY"])
    assert [line.split()[:2] for line in lines[1:3]] == [["stops", "EB-DOCTOR-170"], ["informs", "EB-DOCTOR-103"]]


def test_status_is_0_if_nothing_does(capsys: pytest.CaptureFixture[str]) -> None:
    """And the JSON is that of the page."""
    well = replace(EXAMINED, bridge=replace(EXAMINED.bridge, unreachable=()))
    with admin_api(surveys=StillSurveys(examined=well)) as address:
        status = run(["doctor", "--json", "--admin", address])
    document = json.loads(capsys.readouterr().out)
    assert (status, {finding["severity"] for finding in document["findings"]}) == (0, {"informs"})


def test_bad_input_is_a_sentence_with_a_code(capsys: pytest.CaptureFixture[str]) -> None:
    """No bridge, no such setting, a cluster that is away."""
    assert run(["doctor", "--admin", "127.0.0.1:1"]) == 1
    said = capsys.readouterr().err
    assert ("EB-ADMIN-011" in said, "--bootstrap" in said) == (True, True)
    assert run(["doctor", "--bootstrap", "127.0.0.1:1", "--set", "nonsense=1"]) == 2
    assert "EB-CONFIG-" in capsys.readouterr().err
    assert run(["doctor", "--set", "nonsense=1", "--admin", "127.0.0.1:1"]) == 2, "a running bridge was asked instead"
    assert "EB-CONFIG-" in capsys.readouterr().err
    assert run(["doctor", "--bootstrap", "", "--admin", "127.0.0.1:1"]) == 2
    assert "EB-CONFIG-" in capsys.readouterr().err
    away = ["doctor", "--bootstrap", "127.0.0.1:1", "--set", "connect.timeout.ms=200", "--set", "listen=127.0.0.1:0"]
    assert run(away) == 1
    assert "EB-DOCTOR-101" in capsys.readouterr().out
