"""What of a cluster's finalized features may be told to clients that are offered less than the broker speaks.

It must not know brokers, nor why the offer is smaller.
"""

from dataclasses import replace

from bridge.wire.api_versions import Features, FinalizedFeature
from bridge.wire.apis import ApiKey
from bridge.wire.versions import FIRST_PRODUCE_VERSION_OF_TRANSACTIONS_V2, VersionTable, speaks

TRANSACTION_VERSION = "transaction.version"
LAST_LEVEL_THAT_ADDS_PARTITIONS = 1


def offered_features(features: Features, offered: VersionTable) -> Features:
    """The features as they are, but `transaction.version` at most 1 where Produce v12 is not offered.

    From level 2 on clients leave out AddPartitionsToTxn, because Produce v12 adds the partitions by itself (KIP-890).
    Java and franz-go go by the feature alone: with an older Produce every one of their transactions would fail with
    INVALID_TXN_STATE. Brokers serve transactions of both kinds at every level.
    """
    if speaks(offered, ApiKey.PRODUCE, FIRST_PRODUCE_VERSION_OF_TRANSACTIONS_V2):
        return features
    return replace(features, finalized=tuple(_lowered(feature) for feature in features.finalized))


def _lowered(feature: FinalizedFeature) -> FinalizedFeature:
    if feature.name != TRANSACTION_VERSION:
        return feature
    most = LAST_LEVEL_THAT_ADDS_PARTITIONS
    return replace(feature, max_level=min(feature.max_level, most), min_level=min(feature.min_level, most))
