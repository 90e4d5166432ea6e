"""What clients are offered, by broker and by configuration."""

import importlib
import pkgutil

import kio.schema
import pytest

from bridge.wire.apis import ApiKey, Treatment, treatment
from bridge.wire.versions import KNOWN, MEMBERSHIP, VersionRange, is_said_again, offer, readable, speaks

KAFKA_3_9: dict[int, VersionRange] = {
    ApiKey.PRODUCE: VersionRange(0, 11),
    ApiKey.FETCH: VersionRange(0, 17),
    ApiKey.METADATA: VersionRange(0, 12),
    ApiKey.OFFSET_COMMIT: VersionRange(0, 9),
    ApiKey.OFFSET_FETCH: VersionRange(0, 9),
    ApiKey.FIND_COORDINATOR: VersionRange(0, 6),
    ApiKey.JOIN_GROUP: VersionRange(0, 9),
    ApiKey.SASL_HANDSHAKE: VersionRange(0, 1),
    ApiKey.API_VERSIONS: VersionRange(0, 4),
    ApiKey.CONTROLLED_SHUTDOWN: VersionRange(0, 3),
    ApiKey.DESCRIBE_QUORUM: VersionRange(0, 2),
    ApiKey.SHARE_FETCH: VersionRange(0, 1),
}
STRICTER_KAFKA: dict[int, VersionRange] = {
    **KNOWN,
    ApiKey.JOIN_GROUP: VersionRange(2, 9),
    ApiKey.FETCH: VersionRange(4, 18),
}
MOCK: dict[int, VersionRange] = {
    ApiKey.JOIN_GROUP: VersionRange(0, 6),
    ApiKey.HEARTBEAT: VersionRange(0, 5),
    ApiKey.API_VERSIONS: VersionRange(0, 2),
    ApiKey.CONSUMER_GROUP_HEARTBEAT: VersionRange(1, 1),
    10_000: VersionRange(0, 0),
}


def _highest_versions_of_kio() -> dict[int, int]:
    highest: dict[int, int] = {}
    for module in pkgutil.walk_packages(kio.schema.__path__, "kio.schema."):
        if module.name.endswith(".request"):
            for value in vars(importlib.import_module(module.name)).values():
                if getattr(value, "__module__", "") == module.name and hasattr(value, "__api_key__"):
                    key = int(value.__api_key__)
                    highest[key] = max(highest.get(key, 0), int(value.__version__))
    return highest


def test_known_versions_are_all_of_kafkas() -> None:
    """A new Kafka release fails here, and somebody reads what its new versions carry."""
    theirs = {k: v for k, v in _highest_versions_of_kio().items() if treatment(k) is not Treatment.HIDDEN}
    ours = {key: versions.highest for key, versions in KNOWN.items()}
    assert ours == theirs


def test_without_embedded_rule_the_offer_is_the_intersection() -> None:
    """What both sides can carry (decision 18); hidden and unknown keys are absent, ApiVersions is ours."""
    assert offer(KAFKA_3_9) == {
        ApiKey.PRODUCE: VersionRange(0, 9),
        ApiKey.FETCH: VersionRange(0, 15),
        ApiKey.METADATA: VersionRange(0, 12),
        ApiKey.OFFSET_COMMIT: VersionRange(0, 9),
        ApiKey.OFFSET_FETCH: VersionRange(0, 9),
        ApiKey.FIND_COORDINATOR: VersionRange(0, 6),
        ApiKey.JOIN_GROUP: VersionRange(0, 9),
        ApiKey.SASL_HANDSHAKE: VersionRange(0, 1),
        ApiKey.API_VERSIONS: VersionRange(0, 4),
        ApiKey.DESCRIBE_QUORUM: VersionRange(0, 2),
        ApiKey.SHARE_FETCH: VersionRange(1, 1),
    }
    assert offer(MOCK) == {
        ApiKey.JOIN_GROUP: VersionRange(0, 6),
        ApiKey.HEARTBEAT: VersionRange(0, 4),
        ApiKey.API_VERSIONS: VersionRange(0, 4),
        ApiKey.CONSUMER_GROUP_HEARTBEAT: VersionRange(1, 1),
    }


def test_versions_that_are_not_described_pass_unread_but_for_one() -> None:
    """Kafka 4 describes OffsetCommit from 2 on and OffsetFetch from 1 on; version 0 of both is ZooKeeper's."""
    assert readable(ApiKey.OFFSET_COMMIT) == VersionRange(2, 10)
    assert readable(ApiKey.OFFSET_FETCH) == VersionRange(1, 10)
    said_again = [(key, version) for key in KNOWN for version in range(3) if is_said_again(key, version)]
    assert said_again == [(ApiKey.OFFSET_COMMIT, 1)]


def test_node_endpoints_are_offered_only_when_rewritten() -> None:
    """KIP-951: Produce 10 and Fetch 16 can't be relayed unread."""
    capped, rewritten = offer(KAFKA_3_9), offer(KAFKA_3_9, rewrites_node_endpoints=True)
    assert (capped[ApiKey.PRODUCE].highest, capped[ApiKey.FETCH].highest) == (9, 15)
    assert (rewritten[ApiKey.PRODUCE].highest, rewritten[ApiKey.FETCH].highest) == (11, 17)
    assert {k: v for k, v in capped.items() if k > 1} == {k: v for k, v in rewritten.items() if k > 1}


def test_transactions_of_the_second_kind_are_offered_whole_or_not_at_all() -> None:
    """KIP-890: EndTxn 5 and TxnOffsetCommit 5 belong to Produce 12, which names endpoints."""
    capped, rewritten = offer(KNOWN), offer(KNOWN, rewrites_node_endpoints=True)
    kinds = [
        (o[ApiKey.PRODUCE].highest, o[ApiKey.END_TXN].highest, o[ApiKey.TXN_OFFSET_COMMIT].highest)
        for o in (capped, rewritten)
    ]
    assert kinds == [(9, 4, 4), (13, 5, 5)]


def test_embedded_rule_brings_the_new_protocol_to_every_broker() -> None:
    """We answer 68 and 69 ourselves: what a 3.9 broker whose protocol is off can't do hides neither (decision 18)."""
    for broker in (KAFKA_3_9, STRICTER_KAFKA, MOCK):
        offered = offer(broker, has_embedded_rule=True)
        assert offered[ApiKey.CONSUMER_GROUP_HEARTBEAT] == VersionRange(0, 1)
        assert offered[ApiKey.CONSUMER_GROUP_DESCRIBE] == VersionRange(0, 1)


def test_embedded_rule_keeps_the_floors_that_old_clients_need() -> None:
    """A broker may drop JoinGroup 0 and 1 (KIP-896 dropped others), which sarama of 2019 sends; we answer them."""
    assert offer(STRICTER_KAFKA)[ApiKey.JOIN_GROUP] == VersionRange(2, 9)
    assert offer(STRICTER_KAFKA, has_embedded_rule=True)[ApiKey.JOIN_GROUP] == VersionRange(0, 9)
    assert not speaks(STRICTER_KAFKA, ApiKey.JOIN_GROUP, 1)


def test_embedded_rule_never_goes_above_the_broker() -> None:
    """So that every offered version can be forwarded for groups on road pass, unchanged."""
    offered = offer(MOCK, has_embedded_rule=True)
    assert offered[ApiKey.JOIN_GROUP] == VersionRange(0, 6)
    assert offered[ApiKey.HEARTBEAT] == VersionRange(0, 4)


def test_embedded_rule_answers_membership_apis_that_the_broker_lacks() -> None:
    """The mock cluster has no DescribeGroups; embedded groups are described all the same."""
    offered = offer(MOCK, has_embedded_rule=True)
    assert {key: offered[key] for key in MEMBERSHIP if key not in MOCK} == {
        key: KNOWN[key] for key in MEMBERSHIP if key not in MOCK
    }


def test_offsets_are_offered_only_as_the_broker_keeps_them() -> None:
    """TxnOffsetCommit is capped and never changed; no offsets api without a broker behind it."""
    broker: dict[int, VersionRange] = {ApiKey.TXN_OFFSET_COMMIT: VersionRange(0, 3)}
    offered = offer(broker, has_embedded_rule=True)
    assert offered[ApiKey.TXN_OFFSET_COMMIT] == VersionRange(0, 3)
    absent = {ApiKey.OFFSET_COMMIT, ApiKey.OFFSET_FETCH, ApiKey.OFFSET_DELETE, ApiKey.DELETE_GROUPS}
    assert absent.isdisjoint(offered)


def test_commit_of_old_clients_is_offered_where_groups_are_not_passed_on() -> None:
    """sarama 1.31 commits by version 1, without asking anybody, and Kafka 4 begins at 2 (KIP-896)."""
    kafka_4: dict[int, VersionRange] = {
        ApiKey.OFFSET_COMMIT: VersionRange(2, 10),
        ApiKey.OFFSET_FETCH: VersionRange(1, 10),
    }
    assert offer(kafka_4)[ApiKey.OFFSET_COMMIT] == VersionRange(2, 10)
    offered = offer(kafka_4, takes_groups=True)
    assert offered == {
        **offer(kafka_4),
        ApiKey.OFFSET_COMMIT: VersionRange(1, 10),
    }
    later: dict[int, VersionRange] = {ApiKey.OFFSET_COMMIT: VersionRange(3, 10)}
    assert offer(later, takes_groups=True)[ApiKey.OFFSET_COMMIT] == VersionRange(3, 10)
    assert offer(KAFKA_3_9, takes_groups=True)[ApiKey.OFFSET_COMMIT] == VersionRange(0, 9)


def test_disjoint_ranges_are_not_offered() -> None:
    """A future broker that speaks only versions we don't know."""
    assert ApiKey.METADATA not in offer({ApiKey.METADATA: VersionRange(14, 15)})


@pytest.mark.parametrize("has_embedded_rule", [False, True])
@pytest.mark.parametrize("rewrites_node_endpoints", [False, True])
def test_offer_holds_no_hidden_key_and_is_ordered(has_embedded_rule: bool, rewrites_node_endpoints: bool) -> None:
    """Whatever the broker says, hidden stays hidden."""
    broker = {key: VersionRange(0, 30) for key in range(-1, 120)}
    offered = offer(broker, rewrites_node_endpoints=rewrites_node_endpoints, has_embedded_rule=has_embedded_rule)
    assert list(offered) == sorted(offered)
    assert {treatment(key) for key in offered} == {Treatment.ANSWERED, Treatment.REWRITTEN, Treatment.RELAYED}
    assert all(offered[key].highest <= KNOWN[key].highest for key in offered)
