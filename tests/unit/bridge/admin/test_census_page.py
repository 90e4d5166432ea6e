"""The page of the census, by golden value."""

import json
from dataclasses import replace

import httpx

from bridge.admin.census_page import census_document
from bridge.admin.documents import encode
from bridge.migration.abilities import BrokerAbilities
from bridge.migration.census import Census
from tests.support.admin_served import admin_api
from tests.support.surveyed import CENSUS, StillSurveys

GOLDEN = {
    "groups": [
        {
            "group_id": "orders",
            "road": "pass",
            "kind": "classic",
            "protocol_type": "consumer",
            "state": "Stable",
            "assignor": "range",
            "is_complete": True,
            "committed": 4,
            "lag": 17,
            "members": [
                {
                    "member_id": "a-1",
                    "client_id": "a",
                    "client_host": "10.0.0.1",
                    "library": "librdkafka",
                    "library_version": "2.16",
                    "instance_id": "seat",
                    "protocol": "classic",
                    "assignors": ["range", "roundrobin"],
                    "topics": ["orders"],
                    "pattern": None,
                    "session_timeout_ms": 45000,
                    "rebalance_timeout_ms": 300000,
                    "subscription_data": "none",
                    "assignment_data": "sticky",
                    "is_readable": True,
                    "is_behind_bridge": True,
                    "hidden_topics": [],
                    "partition_count": 4,
                    "has_old_commits": False,
                    "is_static": True,
                    "rebalancing": "eager",
                }
            ],
            "moves": [
                {"to": "embedded", "is_ready": True, "reasons": []},
                {
                    "to": "upstream",
                    "is_ready": True,
                    "reasons": [
                        {
                            "code": "EB-MOVE-120",
                            "text": "user data in the assignment of 1 member (seat) makes brokers refuse a take-over"
                            " (69): the bridge plays a round before, which leaves it behind, and of which no client"
                            " hears",
                            "remedy": "nothing is to be done, as long as all members come through this bridge",
                            "weight": "notes",
                            "members": ["a-1"],
                        }
                    ],
                },
            ],
            "gains": [
                {
                    "rebalancing": "eager",
                    "member_count": 1,
                    "measured_members": 10,
                    "joins": [1, 0],
                    "roll_joins": [9.0, 0.0],
                    "stopped_partition_s": [9.0, 0.6],
                }
            ],
        },
        {
            "group_id": "workers",
            "road": "pass",
            "kind": "unknown",
            "protocol_type": "connect",
            "state": "Stable",
            "assignor": "",
            "is_complete": False,
            "committed": None,
            "lag": None,
            "members": [],
            "moves": [
                {
                    "to": road,
                    "is_ready": False,
                    "reasons": [
                        {
                            "code": "EB-MOVE-102",
                            "text": "protocol type 'connect' of workers is not 'consumer': its members share out"
                            " something else than partitions",
                            "remedy": "leave it on road pass",
                            "weight": "blocks",
                            "members": [],
                        }
                    ],
                }
                for road in ("embedded", "upstream")
            ],
            "gains": [],
        },
    ],
    "brokers": {
        "takeover": "in_place",
        "known": "read",
        "policy": "bidirectional",
        "session_min_ms": None,
        "session_max_ms": None,
        "classic_size_max": None,
        "consumer_size_max": None,
        "consumer_session_ms": None,
        "login": "open",
        "first_commit_version": None,
    },
    "unseen": ["EB-CENSUS-005: broker 2: no answer"],
}


def test_page_is_the_golden_one() -> None:
    """Every key stays as it is: programs read them."""
    with admin_api(surveys=StillSurveys()) as address:
        answer = httpx.get(f"http://{address}/census", trust_env=False)
    assert (answer.status_code, answer.json()) == (200, GOLDEN)


def test_empty_census_is_a_page_too() -> None:
    """No group, and nothing known of the brokers."""
    document = json.loads(encode(census_document(replace(CENSUS, groups=(), unseen=()))))
    assert (document["groups"], document["unseen"]) == ([], [])
    unknown = json.loads(encode(census_document(Census(groups=(), abilities=BrokerAbilities()))))
    assert unknown["brokers"]["takeover"] == "unknown"


def test_bridge_that_asks_nobody_says_so() -> None:
    """A page is there in any bridge."""
    with admin_api() as address:
        answer = httpx.get(f"http://{address}/census", trust_env=False)
    assert (answer.status_code, answer.json()["code"]) == (503, "EB-CENSUS-010")
