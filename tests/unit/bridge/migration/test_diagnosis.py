"""What the doctor finds."""

from dataclasses import replace

import pytest

from bridge.migration.abilities import Known, Login, TakeOverWay
from bridge.migration.broker_facts import BrokerFacts
from bridge.migration.diagnosis import BridgeFacts, Examined, Severity, diagnose
from tests.support.surveyed import ABLE
from translators.dialects.configs import MigrationPolicy

BROKER = BrokerFacts(node_id=1, features={"group.version": 1}, supported={"metadata.version": 30})
WELL = Examined(
    brokers=(BROKER,),
    abilities=ABLE,
    skew_ms=4,
    bridge=BridgeFacts(is_running=True, has_rules=True, admin="127.0.0.1:9190"),
)
ALL_WELL = {
    "EB-DOCTOR-103": Severity.INFORMS,
    "EB-DOCTOR-112": Severity.INFORMS,
    "EB-DOCTOR-120": Severity.INFORMS,
    "EB-DOCTOR-130": Severity.INFORMS,
    "EB-DOCTOR-140": Severity.INFORMS,
    "EB-DOCTOR-152": Severity.INFORMS,
    "EB-DOCTOR-172": Severity.INFORMS,
}


def found(examined: Examined) -> dict[str, Severity]:
    """Severities by code."""
    return {one.code: one.severity for one in diagnose(examined)}


def test_where_all_is_well_everything_informs() -> None:
    """And needs no remedy."""
    assert found(WELL) == ALL_WELL
    assert {one.remedy for one in diagnose(WELL)} == {""}


def with_abilities(**changes: object) -> Examined:
    """The same with other abilities."""
    return replace(WELL, abilities=replace(ABLE, **changes))  # type: ignore[arg-type]  # by name, in tests only


def with_bridge(**changes: object) -> Examined:
    """The same with another bridge."""
    return replace(WELL, bridge=replace(WELL.bridge, **changes))  # type: ignore[arg-type]  # by name, in tests only


@pytest.mark.parametrize(
    ("examined", "code", "severity", "instead_of"),
    [
        (replace(WELL, silent=("broker 2: gone",)), "EB-DOCTOR-102", Severity.STOPS, None),
        (
            replace(WELL, brokers=(BROKER, replace(BROKER, node_id=2, supported={"metadata.version": 27}))),
            "EB-DOCTOR-104",
            Severity.WARNS,
            None,
        ),
        (with_abilities(takeover=TakeOverWay.IMPOSSIBLE), "EB-DOCTOR-110", Severity.WARNS, "EB-DOCTOR-112"),
        (with_abilities(takeover=TakeOverWay.UNKNOWN), "EB-DOCTOR-111", Severity.UNSEEN, "EB-DOCTOR-112"),
        (replace(WELL, probe_fault="no rights"), "EB-DOCTOR-113", Severity.WARNS, None),
        (with_abilities(policy=MigrationPolicy.UPGRADE), "EB-DOCTOR-121", Severity.WARNS, "EB-DOCTOR-120"),
        (with_abilities(policy=MigrationPolicy.DOWNGRADE), "EB-DOCTOR-122", Severity.STOPS, "EB-DOCTOR-120"),
        (with_abilities(policy=MigrationPolicy.DISABLED), "EB-DOCTOR-122", Severity.STOPS, "EB-DOCTOR-120"),
        (
            replace(WELL, brokers=(replace(BROKER, hides_settings="CLUSTER_AUTHORIZATION_FAILED"),)),
            "EB-DOCTOR-123",
            Severity.UNSEEN,
            None,
        ),
        (with_abilities(login=Login.NONE), "EB-DOCTOR-141", Severity.STOPS, ("EB-DOCTOR-103", "EB-DOCTOR-140")),
        (with_abilities(login=Login.OWN), "EB-DOCTOR-144", Severity.INFORMS, "EB-DOCTOR-140"),
        (replace(WELL, skew_ms=None), "EB-DOCTOR-150", Severity.UNSEEN, "EB-DOCTOR-152"),
        (replace(WELL, skew_ms=-1_001), "EB-DOCTOR-151", Severity.WARNS, "EB-DOCTOR-152"),
        (with_bridge(journal="memory"), "EB-DOCTOR-160", Severity.WARNS, None),
        (with_bridge(is_followed=False), "EB-DOCTOR-161", Severity.WARNS, None),
        (with_bridge(has_rules=False), "EB-DOCTOR-162", Severity.INFORMS, None),
        (with_bridge(admin="off"), "EB-DOCTOR-163", Severity.STOPS, None),
        (with_bridge(is_admin_in_the_clear=True), "EB-DOCTOR-164", Severity.WARNS, None),
        (with_bridge(unreachable=("10.0.0.9:9192: refused",)), "EB-DOCTOR-170", Severity.STOPS, "EB-DOCTOR-172"),
        (with_bridge(taken_ports=(9192,)), "EB-DOCTOR-171", Severity.STOPS, "EB-DOCTOR-172"),
    ],
)
def test_one_thing_that_is_wrong_is_one_finding(
    examined: Examined, code: str, severity: Severity, instead_of: str | tuple[str, ...] | None
) -> None:
    """Everything else is as it was; what needs something has a remedy."""
    gone = (instead_of,) if isinstance(instead_of, str) else instead_of or ()
    expected = {known: weight for known, weight in ALL_WELL.items() if known not in gone} | {code: severity}
    assert found(examined) == expected
    assert [bool(one.remedy) for one in diagnose(examined) if one.code == code] == [severity is not Severity.INFORMS]


def test_probe_that_the_policy_refuses_is_no_finding_of_its_own() -> None:
    """The policy is one."""
    refused = replace(with_abilities(policy=MigrationPolicy.DISABLED), probe_fault="brokers refuse (69)")
    assert "EB-DOCTOR-113" not in found(refused)


def test_skew_within_what_can_be_told_is_none() -> None:
    """A slow answer tells less."""
    assert "EB-DOCTOR-152" in found(replace(WELL, skew_ms=1_500, skew_error_ms=600))


def test_clock_that_is_behind_is_said_to_be() -> None:
    """It was so many milliseconds less than none ahead."""
    told = {ms: [one.text for one in diagnose(replace(WELL, skew_ms=ms)) if "clock" in one.text] for ms in (3, -3)}
    assert [texts[0].partition("is ")[2] for texts in told.values()] == [
        "3 ms ahead of this one",
        "3 ms behind this one",
    ]


def test_nothing_is_said_of_a_cluster_that_does_not_answer_but_that() -> None:
    """What was not looked at is no finding of its own where nothing was."""
    away = Examined(silent=("broker 1: gone",), bridge=WELL.bridge)
    assert found(away) == {"EB-DOCTOR-101": Severity.STOPS, "EB-DOCTOR-172": Severity.INFORMS}
    assert diagnose(away)[0].text == "no broker answers: broker 1: gone"


def test_probed_and_read_abilities_are_told_apart() -> None:
    """Each way of taking over in words."""
    ways = (TakeOverWay.IN_PLACE, TakeOverWay.BY_SCOUT, TakeOverWay.WHOLE_GROUP)
    told = [
        one.text
        for takeover in ways
        for one in diagnose(with_abilities(takeover=takeover, known=Known.READ))
        if one.code == "EB-DOCTOR-112"
    ]
    assert len(set(told)) == len(ways)
    assert all("(read from what the brokers say)" in text for text in told)


def test_what_stands_in_the_way_comes_first() -> None:
    """The order of severities."""
    mixed = replace(with_abilities(policy=MigrationPolicy.DISABLED), skew_ms=None)
    assert [one.severity for one in diagnose(mixed)][:1] == [Severity.STOPS]
    assert diagnose(mixed)[-1].severity is Severity.UNSEEN
