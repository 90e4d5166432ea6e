"""One error out of many tasks, and what the rooms refuse of a configuration."""

import gc
import logging
from pathlib import Path

import pytest

from bridge.admin.contracts import AdminError
from bridge.app.composition import AppError
from bridge.app.process import (
    COLLECTOR_THRESHOLDS,
    LogChoice,
    calm_collector,
    find_faults,
    first_known,
    run_bridge,
    warn_of_other_hosts,
    warn_of_rules,
    warn_of_unread,
)
from bridge.config.configuration import Config, load
from bridge.config.faults import ConfigError, Fault, FaultCode
from bridge.config.sources import quick_rules
from bridge.net.listener import CannotListen
from tests.support.certificates import Authority

FAULTY = ConfigError([Fault(code=FaultCode.MISSING, source="configuration", key="listen", seen="x", allowed="y")])
REFUSED = AppError("EB-NET-020: the port is taken")


@pytest.mark.parametrize("known", [FAULTY, REFUSED, KeyboardInterrupt()])
def test_known_error_comes_out_of_nested_groups(known: BaseException) -> None:
    """However many nurseries it went through."""
    assert first_known(BaseExceptionGroup("a", [BaseExceptionGroup("b", [known])])) is known


@pytest.mark.parametrize(
    ("room", "text"),
    [
        (CannotListen("EB-NET-020: 127.0.0.1:1 is taken"), "EB-NET-020: 127.0.0.1:1 is taken"),
        (AdminError("EB-ADMIN-001", "taken"), "EB-ADMIN-001: taken"),
    ],
)
def test_listener_that_failed_in_a_task_is_the_operators_to_mend(room: Exception, text: str) -> None:
    """A taken port is no bug, though a nursery wraps it."""
    found = first_known(ExceptionGroup("a", [room]))
    assert (type(found), str(found)) == (AppError, text)


def test_bug_beside_a_known_error_is_not_hidden() -> None:
    """The group stays whole."""
    group = BaseExceptionGroup("a", [REFUSED, KeyError("odd")])
    assert first_known(group) is group


def test_sound_configuration_has_no_faults() -> None:
    """Nothing to mend."""
    assert find_faults(load(None, {}, ["bootstrap=127.0.0.1:9092", "admin.listen=off"])) == []


def test_every_wrong_address_is_named() -> None:
    """All at once, each once."""
    config = load(None, {}, ["bootstrap=127.0.0.1:9092,nope", "listen=x", "admin.listen=9190", "listen.ports=1"])
    assert [(fault.key, fault.seen) for fault in find_faults(config)] == [
        ("listen", "'x' is no address"),
        ("bootstrap", "'nope' is no address"),
        ("admin.listen", "'9190' is no address"),
    ]


def test_what_only_rooms_know_is_named() -> None:
    """Ports and assignors."""
    config = load(None, {}, ["bootstrap=h:1", "listen.ports=1", "group.consumer.assignors=uniform,wild"])
    assert [fault.key for fault in find_faults(config)] == ["listen.ports", "group.consumer.assignors"]


def test_configuration_without_broker_does_not_start() -> None:
    """The error is a plain one, whichever task it came from."""
    with pytest.raises(ConfigError, match="bootstrap"):
        run_bridge(Config(), LogChoice("json", "error"), print)


def test_wrong_addresses_are_refused_at_once_and_together() -> None:
    """Before a port is opened or the cluster asked for, which may take ten seconds."""
    config = load(None, {}, ["bootstrap=127.0.0.1:1", "listen=x", "admin.listen=nope"])
    with pytest.raises(ConfigError) as refused:
        run_bridge(config, LogChoice("json", "error"), print)
    assert [fault.key for fault in refused.value.faults] == ["listen", "admin.listen"]


def test_rules_that_take_nothing_or_others_are_told_at_the_start(caplog: pytest.LogCaptureFixture) -> None:
    """But not that one takes every group, which is said by who starts with `--embedded '*'`."""
    with caplog.at_level(logging.WARNING, "epochbridge.app"):
        warn_of_rules(Config(rules=quick_rules(["a-.*", "*", "b"], ())))
    assert [record.getMessage().partition(":")[0] for record in caplog.records] == ["EB-RULE-005", "EB-RULE-002"]


def test_keys_that_nothing_reads_are_told_at_the_start(caplog: pytest.LogCaptureFixture) -> None:
    """Whoever starts without looking at the file first hears of them, too."""
    with caplog.at_level(logging.WARNING, "epochbridge.app"):
        warn_of_unread(load(None, {}, ["bootstrap=h:1", "events.bootstrap=h:1", "journal=memory", "journal.path=j"]))
    assert [record.getMessage().split(": ")[:2] for record in caplog.records] == [
        ["journal.path", "EB-CONFIG-017"],
        ["events.bootstrap", "EB-CONFIG-017"],
    ]


def test_files_that_are_wrong_are_told_together() -> None:
    """Each time only the first was, by whoever mended them one after the other."""
    wrong = {
        "upstream.sasl.mechanism": "PLAIN",
        "upstream.sasl.username": "u",
        "upstream.sasl.password.path": "/nowhere/word",
        "upstream.tls": "true",
        "upstream.tls.trust.path": "/nowhere/trust.pem",
        "listen.tls": "true",
        "listen.tls.certificate.path": "/nowhere/front.pem",
        "listen.proxy-protocol": "required",
    }
    config = load(None, {}, ["bootstrap=h:1", *(f"{key}={value}" for key, value in wrong.items())])
    assert {fault.key for fault in find_faults(config)} == {
        "upstream.sasl.password.path",
        "upstream.tls.trust.path",
        "listen.tls.certificate.path",
        "listen.proxy-protocol.from",
    }


def test_certificate_for_other_hosts_is_told_at_the_start(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Before the first client says so, in words of its own."""
    certificate = f"listen.tls.certificate.path={Authority(tmp_path).pair('kafka.example')}"
    settings = ["bootstrap=h:1", "listen.tls=true", certificate]
    with caplog.at_level(logging.WARNING, "epochbridge.app"):
        warn_of_other_hosts(load(None, {}, [*settings, "advertised.host=kafka.example"]))
        assert caplog.messages == []
        warn_of_other_hosts(load(None, {}, settings))
    assert "EB-CONFIG-018" in caplog.text
    assert "names other hosts than '127.0.0.1'" in caplog.text


def test_collector_looks_seldom_and_not_at_what_was_there_before() -> None:
    """Requests under way are young objects by the thousand, and no garbage."""
    before = gc.get_threshold()
    try:
        calm_collector()
        assert gc.get_threshold() == COLLECTOR_THRESHOLDS
        assert gc.get_freeze_count() > 0
    finally:
        gc.unfreeze()
        gc.set_threshold(*before)
