"""What py4j asks Java for: seen at a client that counts, without Java."""

import pytest
from py4j import protocol
from py4j.java_gateway import GatewayProperty, JavaClass, JavaPackage, JVMView

from tests.support.spark import remember_names


class Client:
    """Answers as py4j's server does: a name in capitals is a class, any other a package."""

    gateway_property = GatewayProperty(auto_field=False, pool=None)
    converters = ()

    def __init__(self) -> None:
        self.asked: list[str] = []

    def send_command(self, command: str) -> str:
        name = command.split("\n")[2]
        self.asked.append(name)
        if name.rpartition(".")[2][0].isupper():
            return f"{protocol.SUCCESS_CLASS}{name}"
        return str(protocol.SUCCESS_PACKAGE)


def test_name_is_asked_for_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Under each package and each Java of its own."""
    for kind in (JVMView, JavaPackage, JavaClass):
        monkeypatch.setattr(kind, "__getattr__", kind.__getattr__)
    remember_names()
    client = Client()
    java = JavaPackage("java", client, protocol.DEFAULT_JVM_ID)
    found = [java.util.ArrayList for _ in range(3)]
    assert client.asked == ["java.util", "java.util.ArrayList"]
    assert len({id(one) for one in found}) == 1
    assert JavaPackage("java", client, protocol.DEFAULT_JVM_ID).util is not java.util
    assert client.asked[2:] == ["java.util"]
