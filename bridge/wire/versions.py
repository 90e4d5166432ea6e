"""Which versions of which api a client is offered, given what its broker speaks and what the bridge knows."""

from collections.abc import Mapping
from typing import NamedTuple

from bridge.wire.apis import ApiKey, Treatment, treatment


class VersionRange(NamedTuple):
    """Versions from `lowest` to `highest`, both included; an empty range ends before it begins."""

    lowest: int
    highest: int

    def __contains__(self, version: object) -> bool:
        return isinstance(version, int) and self.lowest <= version <= self.highest


VersionTable = Mapping[int, VersionRange]
"""Api key -> its versions; an api that isn't spoken is absent."""

KNOWN: dict[int, VersionRange] = {
    ApiKey.PRODUCE: VersionRange(0, 13),
    ApiKey.FETCH: VersionRange(0, 18),
    ApiKey.LIST_OFFSETS: VersionRange(0, 11),
    ApiKey.METADATA: VersionRange(0, 13),
    ApiKey.OFFSET_COMMIT: VersionRange(0, 10),
    ApiKey.OFFSET_FETCH: VersionRange(0, 10),
    ApiKey.FIND_COORDINATOR: VersionRange(0, 6),
    ApiKey.JOIN_GROUP: VersionRange(0, 9),
    ApiKey.HEARTBEAT: VersionRange(0, 4),
    ApiKey.LEAVE_GROUP: VersionRange(0, 5),
    ApiKey.SYNC_GROUP: VersionRange(0, 5),
    ApiKey.DESCRIBE_GROUPS: VersionRange(0, 6),
    ApiKey.LIST_GROUPS: VersionRange(0, 5),
    ApiKey.SASL_HANDSHAKE: VersionRange(0, 1),
    ApiKey.API_VERSIONS: VersionRange(0, 4),
    ApiKey.CREATE_TOPICS: VersionRange(0, 7),
    ApiKey.DELETE_TOPICS: VersionRange(0, 6),
    ApiKey.DELETE_RECORDS: VersionRange(0, 2),
    ApiKey.INIT_PRODUCER_ID: VersionRange(0, 6),
    ApiKey.OFFSET_FOR_LEADER_EPOCH: VersionRange(0, 4),
    ApiKey.ADD_PARTITIONS_TO_TXN: VersionRange(0, 5),
    ApiKey.ADD_OFFSETS_TO_TXN: VersionRange(0, 4),
    ApiKey.END_TXN: VersionRange(0, 5),
    ApiKey.WRITE_TXN_MARKERS: VersionRange(0, 2),
    ApiKey.TXN_OFFSET_COMMIT: VersionRange(0, 5),
    ApiKey.DESCRIBE_ACLS: VersionRange(0, 3),
    ApiKey.CREATE_ACLS: VersionRange(0, 3),
    ApiKey.DELETE_ACLS: VersionRange(0, 3),
    ApiKey.DESCRIBE_CONFIGS: VersionRange(0, 4),
    ApiKey.ALTER_CONFIGS: VersionRange(0, 2),
    ApiKey.ALTER_REPLICA_LOG_DIRS: VersionRange(0, 2),
    ApiKey.DESCRIBE_LOG_DIRS: VersionRange(0, 5),
    ApiKey.SASL_AUTHENTICATE: VersionRange(0, 2),
    ApiKey.CREATE_PARTITIONS: VersionRange(0, 3),
    ApiKey.CREATE_DELEGATION_TOKEN: VersionRange(0, 3),
    ApiKey.RENEW_DELEGATION_TOKEN: VersionRange(0, 2),
    ApiKey.EXPIRE_DELEGATION_TOKEN: VersionRange(0, 2),
    ApiKey.DESCRIBE_DELEGATION_TOKEN: VersionRange(0, 3),
    ApiKey.DELETE_GROUPS: VersionRange(0, 2),
    ApiKey.ELECT_LEADERS: VersionRange(0, 2),
    ApiKey.INCREMENTAL_ALTER_CONFIGS: VersionRange(0, 1),
    ApiKey.ALTER_PARTITION_REASSIGNMENTS: VersionRange(0, 1),
    ApiKey.LIST_PARTITION_REASSIGNMENTS: VersionRange(0, 0),
    ApiKey.OFFSET_DELETE: VersionRange(0, 0),
    ApiKey.DESCRIBE_CLIENT_QUOTAS: VersionRange(0, 1),
    ApiKey.ALTER_CLIENT_QUOTAS: VersionRange(0, 1),
    ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS: VersionRange(0, 0),
    ApiKey.ALTER_USER_SCRAM_CREDENTIALS: VersionRange(0, 0),
    # Version 2 lists the addresses of the controllers' nodes (KIP-853): to be shown, no client of brokers goes there.
    ApiKey.DESCRIBE_QUORUM: VersionRange(0, 2),
    ApiKey.UPDATE_FEATURES: VersionRange(0, 2),
    ApiKey.DESCRIBE_CLUSTER: VersionRange(0, 2),
    ApiKey.DESCRIBE_PRODUCERS: VersionRange(0, 0),
    ApiKey.UNREGISTER_BROKER: VersionRange(0, 0),
    ApiKey.DESCRIBE_TRANSACTIONS: VersionRange(0, 0),
    ApiKey.LIST_TRANSACTIONS: VersionRange(0, 2),
    ApiKey.CONSUMER_GROUP_HEARTBEAT: VersionRange(0, 1),
    ApiKey.CONSUMER_GROUP_DESCRIBE: VersionRange(0, 1),
    ApiKey.GET_TELEMETRY_SUBSCRIPTIONS: VersionRange(0, 0),
    ApiKey.PUSH_TELEMETRY: VersionRange(0, 0),
    ApiKey.LIST_CONFIG_RESOURCES: VersionRange(0, 1),
    ApiKey.DESCRIBE_TOPIC_PARTITIONS: VersionRange(0, 0),
    # Version 0 of the share apis was early access in Kafka 4.0, and gone in 4.1.
    ApiKey.SHARE_GROUP_HEARTBEAT: VersionRange(1, 1),
    ApiKey.SHARE_GROUP_DESCRIBE: VersionRange(1, 1),
    ApiKey.SHARE_FETCH: VersionRange(1, 2),
    ApiKey.SHARE_ACKNOWLEDGE: VersionRange(1, 2),
    ApiKey.ADD_RAFT_VOTER: VersionRange(0, 1),
    ApiKey.REMOVE_RAFT_VOTER: VersionRange(0, 0),
    ApiKey.STREAMS_GROUP_HEARTBEAT: VersionRange(0, 0),
    ApiKey.STREAMS_GROUP_DESCRIBE: VersionRange(0, 0),
    ApiKey.DESCRIBE_SHARE_GROUP_OFFSETS: VersionRange(0, 1),
    ApiKey.ALTER_SHARE_GROUP_OFFSETS: VersionRange(0, 0),
    ApiKey.DELETE_SHARE_GROUP_OFFSETS: VersionRange(0, 0),
}
"""What may pass the bridge, at the versions of Kafka 4.3: a later one could carry addresses unseen.

The one table of versions: the codecs read and write their APIs at all versions that stand here, but for those below
`FIRST_READABLE`.
"""

FIRST_READABLE: dict[int, int] = {ApiKey.OFFSET_COMMIT: 2, ApiKey.OFFSET_FETCH: 1, ApiKey.DESCRIBE_CONFIGS: 1}
"""Versions before these pass unread, but for `SAID_AGAIN`: Kafka 4 does not describe them any more. No client that
speaks them knows the settings of groups, and version 0 of offsets is about ZooKeeper's.
"""

SAID_AGAIN: Mapping[int, int] = {ApiKey.OFFSET_COMMIT: 1}
"""A version that Kafka 4 does not describe, and that is read all the same: brokers are asked in the next one, which
says as much. Old versions of sarama and librdkafka commit so whatever their broker speaks (KIP-896).
"""

LAST_WITHOUT_NODE_ENDPOINTS: dict[int, int] = {ApiKey.PRODUCE: 9, ApiKey.FETCH: 15}
"""The highest versions whose answers can be relayed unread (KIP-951)."""

FIRST_PRODUCE_VERSION_OF_TRANSACTIONS_V2 = 12
"""The first version that adds its partitions to the transaction by itself (KIP-890)."""

LAST_OF_TRANSACTIONS_V1: dict[int, int] = {ApiKey.END_TXN: 4, ApiKey.TXN_OFFSET_COMMIT: 4}
"""The highest versions for clients whose Produce is too old for transactions of the second kind (KIP-890)."""

ALWAYS_OURS = frozenset((ApiKey.CONSUMER_GROUP_HEARTBEAT, ApiKey.CONSUMER_GROUP_DESCRIBE))
"""With an embedded rule: offered at our versions whatever the broker speaks (decision 18)."""

MEMBERSHIP = frozenset(
    (
        ApiKey.JOIN_GROUP,
        ApiKey.SYNC_GROUP,
        ApiKey.HEARTBEAT,
        ApiKey.LEAVE_GROUP,
        ApiKey.DESCRIBE_GROUPS,
        ApiKey.LIST_GROUPS,
    )
)
"""With an embedded rule: down to our lowest version and up to the broker's highest; all of ours if it has none.

The upper cap keeps every offered version forwardable for groups on road `pass` without translation. Offsets are not
here: they live in the broker, so they are offered as it speaks them, but for `SAID_AGAIN`.
"""


def readable(api_key: int) -> VersionRange:
    """The versions of an api that the codecs read and write."""
    lowest, highest = KNOWN[api_key]
    return VersionRange(max(lowest, FIRST_READABLE.get(api_key, 0)), highest)


def is_said_again(api_key: int, version: int) -> bool:
    """Whether this version is one of `SAID_AGAIN`."""
    return SAID_AGAIN.get(api_key) == version


def offer(
    broker: VersionTable,
    *,
    rewrites_node_endpoints: bool = False,
    has_embedded_rule: bool = False,
    takes_groups: bool = False,
) -> dict[int, VersionRange]:
    """What a client of this broker is offered, in order of keys (decision 18); `takes_groups`: some group takes another
    road than `pass`.

    Unknown and hidden keys are absent. A version in it that the broker lacks (see `speaks`) can only be answered for
    groups that are embedded, or `SAID_AGAIN`; for others the answer is UNSUPPORTED_VERSION.
    """
    offered: dict[int, VersionRange] = {}
    for api_key in sorted(KNOWN):
        if treatment(api_key) is Treatment.HIDDEN:
            continue
        known = _limit(api_key, KNOWN[api_key], rewrites_node_endpoints)
        chosen = _choose(api_key, known, broker.get(api_key), has_embedded_rule)
        if chosen is not None and chosen.lowest <= chosen.highest:
            is_next = takes_groups and is_said_again(api_key, chosen.lowest - 1)
            offered[api_key] = VersionRange(chosen.lowest - int(is_next), chosen.highest)
    return offered


def speaks(table: VersionTable, api_key: int, version: int) -> bool:
    """Whether `version` of the api is in the table."""
    versions = table.get(api_key)
    return versions is not None and version in versions


def _limit(api_key: int, known: VersionRange, rewrites_node_endpoints: bool) -> VersionRange:
    if rewrites_node_endpoints:
        return known
    last = {**LAST_WITHOUT_NODE_ENDPOINTS, **LAST_OF_TRANSACTIONS_V1}
    return VersionRange(known.lowest, last.get(api_key, known.highest))


def _choose(
    api_key: int, known: VersionRange, broker: VersionRange | None, has_embedded_rule: bool
) -> VersionRange | None:
    if api_key == ApiKey.API_VERSIONS or (has_embedded_rule and api_key in ALWAYS_OURS):
        return known
    if has_embedded_rule and api_key in MEMBERSHIP:
        return known if broker is None else VersionRange(known.lowest, min(known.highest, broker.highest))
    if broker is None:
        return None
    return VersionRange(max(known.lowest, broker.lowest), min(known.highest, broker.highest))
