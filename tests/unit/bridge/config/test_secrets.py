"""What of a configuration may be shown."""

from pathlib import Path

import pytest
from click.testing import CliRunner

from bridge.app.process import find_faults
from bridge.app.rebalances import Figures, rebalance_sinks
from bridge.cli.check import check_config
from bridge.config.configuration import load
from bridge.config.faults import ConfigError
from bridge.config.keys import KEYS
from bridge.config.secrets import shown, split_login, without_login
from bridge.telemetry.event_log.sinks import SinkUnusable

SECRET = "hunter2"


@pytest.mark.parametrize(
    ("text", "seen"),
    [
        (f"http://me:{SECRET}@collector:4318/v1", "http://…@collector:4318/v1"),
        (f"https://me:{SECRET}/@:?{SECRET}@collector", "https://…@:?…"),
        (f"http://collector?token={SECRET}", "http://collector?…"),
        (f"me:{SECRET}@broker:9092", "…@broker:9092"),
        ("broker:9092", "broker:9092"),
        ("", ""),
    ],
)
def test_login_and_query_of_an_address_are_left_out(text: str, seen: str) -> None:
    """With or without a scheme."""
    assert without_login(text) == seen


def test_login_of_a_url_goes_apart() -> None:
    """Libraries write the URL they ask into their logs."""
    assert split_login("http://me:p%40ss@h:4318/x") == ("http://h:4318/x", b"me:p@ss")
    assert split_login("http://h:4318") == ("http://h:4318", None)


def test_of_headers_only_names_are_shown() -> None:
    """Whatever they are."""
    key = KEYS["otel.headers"]
    assert shown(key, (f"authorization=Bearer {SECRET}", f"x={SECRET}=", SECRET)) == "authorization=…, x=…, …"
    assert shown(KEYS["bootstrap"], ("a:1", f"u:{SECRET}@b:2")) == "a:1, …@b:2"


@pytest.mark.parametrize(
    "text",
    [
        f'otel.headers: ["authorization=Bearer {SECRET},{SECRET}", "x={SECRET}"]',
        f"otel.headers: {{authorization: {SECRET}}}",
        f"otel.headers: [[{SECRET}]]",
        f"otel.headers: {SECRET}",
        f"otel.endpoint: http://me:{SECRET}@collector:4318",
        f"otel.endpoint: grpc://me:{SECRET}@collector:4318",
        f"bootstrap: ['me:{SECRET}@broker:9092']",
        f"bootstrap: ['me:{SECRET}@broker']",
        f"listen: me:{SECRET}@here:1",
        f"admin.listen: http://me:{SECRET}@here:1",
        f"events.bootstrap: ['me:{SECRET}@here:1']",
        f"wire.node-endpoints: http://me:{SECRET}@here",
        f"limits.idle.ms: http://me:{SECRET}@here",
        f"upstream.sasl.password: {SECRET}",
        f"password={SECRET}",
    ],
)
def test_check_config_prints_no_secret(text: str, tmp_path: Path) -> None:
    """Right or wrong, wherever it was written."""
    file = tmp_path / "bridge.yaml"
    file.write_text(f"{text}\n" if text.startswith("bootstrap") else f"bootstrap: b:9092\n{text}\n")
    ran = CliRunner().invoke(check_config, [str(file)])
    assert ran.output
    assert SECRET not in ran.output
    assert SECRET not in repr(ran.exception)


def test_what_serve_says_of_a_wrong_collector_has_no_secret_either() -> None:
    """The endpoint is quoted without its login."""
    config = load(None, {}, ["bootstrap=b:1", f"otel.endpoint=ftp://me:{SECRET}@h"])
    with pytest.raises(SinkUnusable) as refused:
        list(rebalance_sinks(config, Figures(), lambda: 0))
    assert SECRET not in str(refused.value)


def test_several_addresses_in_one_entry_are_several() -> None:
    """As Kafka's clients take them; a header's value may hold a comma."""
    config = load(None, {}, ["bootstrap=a:1,b:2"])
    assert config.settings.bootstrap == ("a:1", "b:2")


def test_lists_of_a_file_are_cut_too_but_for_headers(tmp_path: Path) -> None:
    """`["a:1,b:2"]` was one host of that name."""
    file = tmp_path / "bridge.yaml"
    file.write_text('bootstrap: ["a:1,b:2", "c:3"]\notel.headers: ["x=1,2"]\n')
    settings = load(file, {}).settings
    assert settings.bootstrap == ("a:1", "b:2", "c:3")
    assert settings.otel_headers == ("x=1,2",)


@pytest.mark.parametrize("address", ["a:1 b:2", "a;b:2", "http://a:1", "a:b:2", "[]:1", "u@a:1"])
def test_what_is_no_host_is_refused(address: str) -> None:
    """Whatever stands before the last colon used to be one."""
    config = load(None, {}, [f"listen={address}", "bootstrap=b:1"])
    assert [fault.key for fault in find_faults(config)] == ["listen"]


@pytest.mark.parametrize(
    "text", ["a: " + "[" * 5_000, "- " * 5_000, "\n".join(" " * depth + "a:" for depth in range(1_000))]
)
def test_deep_nesting_is_a_fault_of_the_file(text: str, tmp_path: Path) -> None:
    """A reader that calls itself has a depth, which is said rather than reached."""
    file = tmp_path / "bridge.yaml"
    file.write_text(text)
    with pytest.raises(ConfigError, match=r"EB-CONFIG-00[24]"):
        load(file, {})


@pytest.mark.parametrize("value", ["2026-99-99", "9" * 5_000, "!!int abc", "!ruby x", "!!binary é"])
def test_values_that_yaml_itself_refuses_are_faults(value: str, tmp_path: Path) -> None:
    """With the line, like any other."""
    file = tmp_path / "bridge.yaml"
    file.write_text(f"bootstrap: b:1\nlimits.idle.ms: {value}\n")
    with pytest.raises(ConfigError) as refused:
        load(file, {})
    assert refused.value.faults[0].line == 2
