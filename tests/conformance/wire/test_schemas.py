"""The message definitions of the codec are Kafka's own, byte by byte."""

from collections.abc import Iterator
from importlib.resources import files
from zipfile import ZipFile

import pytest

from bridge.demo.kafka_jars import kafka_jars
from bridge.demo.kafka_properties import DEFAULT_VERSION
from bridge.wire.apis import api_name
from bridge.wire.codec.schema import MESSAGE_KEYS, Direction


@pytest.fixture(scope="module")
def client_library() -> Iterator[ZipFile]:
    """Kafka's client library, which carries them."""
    with ZipFile(kafka_jars(DEFAULT_VERSION) / f"kafka-clients-{DEFAULT_VERSION}.jar") as jar:
        yield jar


def test_definitions_are_those_of_the_client_library(client_library: ZipFile) -> None:
    """So that a new release is taken by copying, and nobody mends one by hand."""
    names = {f"{api_name(api_key)}{direction.value}.json" for api_key in MESSAGE_KEYS for direction in Direction}
    folder = files("bridge.wire.codec.schemas")
    assert {each.name for each in folder.iterdir() if each.name.endswith(".json")} == names
    ours = {name: folder.joinpath(name).read_bytes() for name in names}
    assert ours == {name: client_library.read(f"common/message/{name}") for name in names}
