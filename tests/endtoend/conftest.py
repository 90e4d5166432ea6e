"""The bridge in front of each real broker, started once.

It must not know any story.
"""

from collections.abc import Iterator
from contextlib import AbstractContextManager

import pytest

from bridge.demo.kafka_properties import DEFAULT_VERSION
from tests.support.bridge_process import BridgeProcess, bridge_process
from tests.support.casts import Wardrobe
from tests.support.kafka import KafkaUnderTest
from tests.support.kafka_classes import provide_classes

EMBEDDED = ("embedded-*",)
"""Groups that the bridge of these tests coordinates itself."""


@pytest.fixture(scope="session", autouse=True)
def kafka_classes() -> None:
    """Most of these tests start a broker of their own, of the version that has archives of its classes made here; the
    fixture of the old one makes its own.
    """
    provide_classes(DEFAULT_VERSION)


def _bridge(kafka: KafkaUnderTest, factory: pytest.TempPathFactory) -> AbstractContextManager[BridgeProcess]:
    return bridge_process(kafka.bootstrap, EMBEDDED, factory.mktemp("bridge"))


@pytest.fixture(scope="session")
def bridge_39(kafka_39: KafkaUnderTest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[BridgeProcess]:
    """The bridge in front of Kafka 3.9.1."""
    with _bridge(kafka_39, tmp_path_factory) as bridge:
        yield bridge


@pytest.fixture(scope="session")
def bridge_43(kafka_43: KafkaUnderTest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[BridgeProcess]:
    """The bridge in front of Kafka 4.3.1."""
    with _bridge(kafka_43, tmp_path_factory) as bridge:
        yield bridge


@pytest.fixture(scope="session")
def wardrobe(tmp_path_factory: pytest.TempPathFactory) -> Wardrobe:
    """The programs of all clients."""
    return Wardrobe(tmp_path_factory.mktemp("wardrobe"))
