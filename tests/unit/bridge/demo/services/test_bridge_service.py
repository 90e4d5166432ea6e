"""The bridge's command line and ports as the demo chooses them. It must not start a bridge."""

import socket

from bridge.config.keys import KEYS
from bridge.demo.free_ports import LOOPBACK
from bridge.demo.services import BROKERS_MAX, SETTINGS, BridgePlace, free_place, serve_command


def test_place_leaves_room_for_brokers_between_listener_and_admin() -> None:
    """Broker 0 has the port after the bootstrap port; a server can have every port of the row.

    As servers have them, with the address reused: a connection that ended a minute ago takes no port.
    """
    place = free_place()
    listen, admin = (int(address.rpartition(":")[2]) for address in (place.listen, place.admin))
    assert admin - listen == BROKERS_MAX + 2
    for port in range(listen, admin + 1):
        socket.create_server((LOOPBACK, port)).close()


def test_place_avoids_a_port_in_use() -> None:
    """A row with a listener in it is passed over."""
    first = free_place()
    host, _, port = first.listen.rpartition(":")
    with socket.create_server((host, int(port))):
        assert free_place() != first


def test_command_names_upstream_place_group_and_settings() -> None:
    """One bootstrap address is enough; all settings are keys that the bridge knows."""
    command = serve_command("a:1,b:2", "g", BridgePlace(listen="l:3", admin="d:4"))
    assert command[1:4] == ["-m", "bridge", "serve"]
    pairs = list(zip(command[4::2], command[5::2], strict=True))
    assert pairs[:4] == [("--bootstrap", "a:1"), ("--listen", "l:3"), ("--admin", "d:4"), ("--embedded", "g")]
    assert pairs[4:] == [("--set", f"{name}={value}") for name, value in SETTINGS.items()]
    assert set(SETTINGS) <= set(KEYS)


def test_without_an_embedded_group_all_stay_with_their_broker() -> None:
    """No rule at all."""
    assert "--embedded" not in serve_command("a:1", None, BridgePlace(listen="l:3", admin="d:4"))


def test_event_log_is_written_where_it_is_asked_for() -> None:
    """And nowhere else."""
    place = BridgePlace(listen="l:3", admin="d:4")
    command = serve_command("a:1", "g", place, "/tmp/events")
    assert command[command.index("--events") + 1] == "/tmp/events"
    assert "--events" not in serve_command("a:1", "g", place)
