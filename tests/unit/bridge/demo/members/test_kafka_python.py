"""The kafka-python member's settings. It must not know the fleet; the member itself is run end to end."""

import pytest
from kafka.coordinator.assignors.cooperative_sticky import CooperativeStickyAssignor

from bridge.demo.members.kafka_python import consumer_settings
from bridge.demo.members.process import parse_member_options

NEEDED = ("--bootstrap", "h:1,h:2", "--group", "g", "--topic", "t", "--name", "n")


def test_settings_carry_assignor_timeouts_and_instance_and_no_api_version() -> None:
    """What the command line names reaches kafka-python; it asks the broker for versions by itself."""
    more = ("--assignor", "cooperative-sticky", "--instance-id", "i", "--session-timeout-ms", "6000")
    assert consumer_settings(parse_member_options((*NEEDED, *more))) == {
        "bootstrap_servers": ["h:1", "h:2"],
        "group_id": "g",
        "client_id": "n",
        "auto_offset_reset": "earliest",
        "enable_auto_commit": False,
        "metadata_max_age_ms": 5000,
        "partition_assignment_strategy": [CooperativeStickyAssignor],
        "group_instance_id": "i",
        "session_timeout_ms": 6000,
    }


@pytest.mark.parametrize(
    ("more", "code"),
    [(("--protocol", "consumer"), "EB-MEMBER-001"), (("--assignor", "uniform"), "EB-MEMBER-002")],
)
def test_settings_the_library_lacks_are_refused(more: tuple[str, ...], code: str) -> None:
    """kafka-python has no KIP-848 client and four assignors."""
    with pytest.raises(SystemExit, match=code):
        consumer_settings(parse_member_options((*NEEDED, *more)))
