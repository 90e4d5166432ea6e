"""The client against real servers on loopback: the API, something else, and nothing."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from socket import create_server
from typing import ClassVar

import pytest

from bridge.admin import client as asking
from bridge.admin.client import (
    NoAnswer,
    NobodyThere,
    Unanswered,
    ask_group,
    ask_groups,
    ask_move,
    base_url,
    give_order,
    kept_connection,
    parse,
)
from bridge.admin.documents import encode, group_document, groups_document
from tests.support.admin_served import admin_api, something_else
from tests.support.admin_views import ORDERS, StillSnapshots
from tests.support.http_answers import Answers, serving
from tests.support.ports import free_port


def test_groups_come_as_the_api_wrote_them() -> None:
    """Byte for byte, by address and by URL."""
    with admin_api() as address:
        expected = encode(groups_document([ORDERS.summary]))
        assert ask_groups(address) == expected
        assert ask_groups(f"http://{address}/") == expected


@pytest.mark.parametrize("name", ["orders", "..", ".", "a/b", "a b?c#d%2F", "größe", "a/../b"])
def test_group_of_any_name_is_found(name: str) -> None:
    """Kafka allows every name but the empty one."""
    view = replace(ORDERS, summary=replace(ORDERS.summary, group_id=name))
    with admin_api(StillSnapshots(views=[view])) as address:
        assert ask_group(address, name) == encode(group_document(view))


def test_unknown_group_is_the_sentence_of_the_api() -> None:
    """The bridge knows best why there is none."""
    with admin_api() as address, pytest.raises(NoAnswer, match=r"^EB-ADMIN-004: the bridge coordinates no group 'x'"):
        ask_group(address, "x")


def test_no_bridge_is_said_with_the_next_step() -> None:
    """EB-ADMIN-011 names address, cause and option."""
    address = f"127.0.0.1:{free_port()}"
    with pytest.raises(NoAnswer, match=rf"^EB-ADMIN-011: no bridge answers at {address} \(.*--admin"):
        ask_groups(address)


def test_bridge_that_takes_its_time_is_not_called_away(monkeypatch: pytest.MonkeyPatch) -> None:
    """A doctor whose broker hung was told that no bridge may run there; an order without an answer may be done."""
    monkeypatch.setattr(asking, "TIMEOUT_S", 0.05)
    monkeypatch.setattr(asking, "ORDER_TIMEOUT_S", 0.05)
    with create_server(("127.0.0.1", 0)) as silent:
        address = f"127.0.0.1:{silent.getsockname()[1]}"
        with pytest.raises(Unanswered, match=rf"^EB-ADMIN-028: {address} took the question .* within 0\.05 s; .*log"):
            ask_groups(address)
        with pytest.raises(Unanswered, match=r"^EB-ADMIN-028: .* within 0\.05 s; what was ordered may be done all the"):
            give_order(address, "/convert", {})


@pytest.mark.parametrize("host", ["a..b", "a" * 64])
def test_host_that_no_resolver_is_asked_for_is_a_sentence(host: str) -> None:
    """It was called a bug of ours (EB-CLI-099)."""
    with pytest.raises(NoAnswer, match=r"^EB-ADMIN-011: no bridge answers at .*--admin"):
        ask_groups(f"{host}:9190")


@pytest.mark.parametrize(("status", "body"), [(404, b"<html>"), (500, b"{}"), (302, b""), (404, b"[1]")])
def test_another_server_is_said_so(status: int, body: bytes) -> None:
    """EB-ADMIN-012: the port may be somebody else's."""
    with something_else(status, body) as address, pytest.raises(NoAnswer, match=f"^EB-ADMIN-012.*{status}"):
        ask_groups(address)


@pytest.mark.parametrize("answer", [b"", b"[]", b"<html>", b"3"])
def test_what_is_no_object_is_refused(answer: bytes) -> None:
    """200 alone proves nothing."""
    with pytest.raises(NoAnswer, match=r"^EB-ADMIN-012: here answered what is no JSON object"):
        parse(answer, "here")


@pytest.mark.parametrize("admin", ["ftp://x", "http://", "", "http://x:port", "http://x:99999999"])
def test_what_is_no_url_is_refused(admin: str) -> None:
    """EB-ADMIN-013 shows what was seen."""
    with pytest.raises(NoAnswer, match=r"^EB-ADMIN-013"):
        base_url(admin)


def test_environment_proxy_is_not_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    """The API is on this machine."""
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1")
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:1")
    with admin_api() as address:
        assert ask_groups(address) == encode(groups_document([ORDERS.summary]))


class Counting(Answers):
    """Answers everything, and keeps its connections."""

    protocol_version = "HTTP/1.1"
    opened: ClassVar[list[object]] = []
    fails: ClassVar[list[bool]] = []

    def setup(self) -> None:
        """A connection came."""
        super().setup()
        self.opened.append(self.client_address)

    def do_GET(self) -> None:
        """One request."""
        if self.fails.pop() if self.fails else False:
            self.close_connection = True
            return
        self.send_response(200)
        self.send_header("content-length", "2")
        self.end_headers()
        self.wfile.write(b"{}")


@contextmanager
def counting(*fails: bool) -> Iterator[str]:
    """The address of a server that counts connections; `fails` are the requests, from the last one on, that it ends
    without a word.
    """
    Counting.opened.clear()
    Counting.fails[:] = fails
    with serving(Counting) as address:
        yield address


def test_whoever_looks_again_and_again_keeps_one_connection() -> None:
    """`move --wait` opened one for each look, twice a second."""
    with counting() as address:
        for _ in range(3):
            ask_move(address, "g")
        assert len(Counting.opened) == 3
        with kept_connection():
            for _ in range(3):
                assert ask_move(address, "g") == b"{}"
        assert len(Counting.opened) == 4


def test_connection_that_failed_is_replaced() -> None:
    """A bridge that was started again has other files, perhaps; who waits goes on."""
    with counting(False, True, False) as address, kept_connection():
        ask_move(address, "g")
        with pytest.raises(NobodyThere, match=r"^EB-ADMIN-011"):
            ask_move(address, "g")
        ask_move(address, "g")
        assert len(Counting.opened) == 2
