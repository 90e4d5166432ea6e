"""The doctor without a running bridge, and the way to one."""

import socket
from collections.abc import Mapping

import pytest

from bridge.app.composition import AppError
from bridge.app.doctor import ask_bridge, look_from_here
from bridge.config.configuration import load
from bridge.config.faults import ConfigError
from tests.support.admin_served import admin_api
from tests.support.surveyed import StillSurveys


def codes(document: Mapping[str, object]) -> set[str]:
    """The codes of all findings."""
    findings = document["findings"]
    assert isinstance(findings, list)
    return {finding["code"] for finding in findings}


def test_running_bridge_is_asked() -> None:
    """By its admin API."""
    with admin_api(surveys=StillSurveys()) as address:
        assert "EB-DOCTOR-170" in codes(ask_bridge(address))


def test_no_running_bridge_is_an_error() -> None:
    """With the sentence of whoever tried."""
    with pytest.raises(AppError, match="EB-ADMIN-011"):
        ask_bridge("127.0.0.1:1")


def test_cluster_that_is_away_is_a_finding_and_so_is_a_port_that_is_taken() -> None:
    """What can be looked at is, whoever else is away."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        config = load(None, {}, ["bootstrap=127.0.0.1:1", f"listen=127.0.0.1:{port}", "connect.timeout.ms=200"])
        assert {"EB-DOCTOR-101", "EB-DOCTOR-171"} <= codes(look_from_here(config))


def test_configuration_without_a_broker_is_refused() -> None:
    """As by `serve`."""
    with pytest.raises(ConfigError, match="bootstrap"):
        look_from_here(load(None, {}))
