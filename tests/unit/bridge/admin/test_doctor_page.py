"""The page of the doctor, by golden value."""

import httpx

from tests.support.admin_served import admin_api
from tests.support.surveyed import StillSurveys

GOLDEN = [
    ("stops", "EB-DOCTOR-170"),
    ("informs", "EB-DOCTOR-103"),
    ("informs", "EB-DOCTOR-112"),
    ("informs", "EB-DOCTOR-120"),
    ("informs", "EB-DOCTOR-140"),
    ("informs", "EB-DOCTOR-152"),
]


def test_page_has_findings_and_abilities() -> None:
    """What stands in the way comes first."""
    with admin_api(surveys=StillSurveys()) as address:
        answer = httpx.get(f"http://{address}/doctor", trust_env=False)
    document = answer.json()
    assert answer.status_code == 200
    assert [(one["severity"], one["code"]) for one in document["findings"]] == GOLDEN
    assert document["findings"][0] == {
        "code": "EB-DOCTOR-170",
        "text": "clients are told 10.0.0.9:9192: refused, and nobody can connect there from the bridge's own machine",
        "remedy": "check advertised.host, listen.ports and listen.ports.first, or listen.sni.pattern, and firewalls",
        "severity": "stops",
    }
    assert (document["brokers"]["takeover"], document["brokers"]["known"]) == ("in_place", "probed")


def test_bridge_that_asks_nobody_says_so() -> None:
    """A page is there in any bridge."""
    with admin_api() as address:
        answer = httpx.get(f"http://{address}/doctor", trust_env=False)
    assert (answer.status_code, answer.json()["code"]) == (503, "EB-DOCTOR-010")
