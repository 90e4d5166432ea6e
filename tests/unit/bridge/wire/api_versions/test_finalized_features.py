"""Features that clients may be told of."""

import pytest

from bridge.wire.api_versions import Features, FinalizedFeature, SupportedFeature, offered_features
from bridge.wire.apis import ApiKey
from bridge.wire.versions import VersionRange

GROUPS = FinalizedFeature("group.version", 1, 1)


def features(level: int) -> Features:
    """What a broker of Kafka 4.3 says, with `transaction.version` at `level`."""
    return Features(
        supported=(SupportedFeature("transaction.version", 0, 2),),
        finalized_epoch=7,
        finalized=(GROUPS, FinalizedFeature("transaction.version", level, level)),
    )


@pytest.mark.parametrize("level", [1, 2, 3])
def test_without_produce_12_transactions_are_of_the_first_kind(level: int) -> None:
    """KIP-890: a client that sees level 2 adds no partitions itself, and Produce before version 12 adds none for it."""
    assert offered_features(features(level), {ApiKey.PRODUCE: VersionRange(0, 9)}) == features(1)


def test_without_produce_12_a_lower_level_stays() -> None:
    """A cluster of before transactions of the first kind is not told to have them."""
    assert offered_features(features(0), {ApiKey.PRODUCE: VersionRange(0, 9)}) == features(0)


def test_with_produce_12_features_pass_unchanged() -> None:
    """With NodeEndpoints rewritten, clients have transactions of the second kind through the bridge (decision 18)."""
    assert offered_features(features(2), {ApiKey.PRODUCE: VersionRange(0, 13)}) == features(2)
