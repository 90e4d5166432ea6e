"""Which broker a host stands for."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bridge.session.host_names import NODE_ID_MAX, HostNames, HostPattern, UnknownHost

PATTERN = HostPattern(prefix="b", suffix=".kafka.example")
NAMES = HostNames(bootstrap="bootstrap.kafka.example", pattern=PATTERN)


@given(
    st.integers(0, NODE_ID_MAX),
    st.text("abc019-.", max_size=8),
    st.text("abc019-.", max_size=8),
)
def test_every_broker_has_one_host_that_leads_back_to_it(node_id: int, prefix: str, suffix: str) -> None:
    """Whatever stands around the id, digits too."""
    pattern = HostPattern(prefix=prefix, suffix=suffix)
    assert pattern.node_id(pattern.host(node_id)) == node_id


@pytest.mark.parametrize(
    ("name", "broker_id"),
    [
        ("bootstrap.kafka.example", None),
        ("BOOTSTRAP.kafka.example.", None),
        ("b0.kafka.example", 0),
        ("B12.Kafka.Example", 12),
        ("b7.kafka.example.", 7),
    ],
)
def test_hosts_are_the_same_in_any_case_and_with_their_last_dot(name: str, broker_id: int | None) -> None:
    """As in DNS."""
    assert NAMES.broker_id(name) == broker_id


@pytest.mark.parametrize(
    "name",
    [
        None,
        "",
        "kafka.example",
        "b.kafka.example",
        "b01.kafka.example",
        "b-1.kafka.example",
        "b1.kafka.example.evil",
        "xb1.kafka.example",
        "b99999999999.kafka.example",
        "b4294967296.kafka.example",
        "b\u0661.kafka.example",
        "b1\n.kafka.example",
    ],
)
def test_other_hosts_stand_for_nobody(name: str | None) -> None:
    """Also two names for one broker, ids beyond Kafka's, and digits of other scripts."""
    with pytest.raises(UnknownHost) as caught:
        NAMES.broker_id(name)
    assert caught.value.name == name


def test_parts_of_a_host_do_not_overlap() -> None:
    """A host that is shorter than what stands around the id."""
    assert HostPattern(prefix="ab", suffix="ba").node_id("aba") is None
