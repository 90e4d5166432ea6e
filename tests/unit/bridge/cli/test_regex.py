"""`verify-regex` against librdkafka's mock cluster."""

from collections.abc import Iterator
from pathlib import Path

import confluent_kafka
import pytest

from bridge.cli.main import run

TOPICS = ("orders", "orders-eu", "refunds")


@pytest.fixture(scope="module")
def mock_bootstrap() -> Iterator[str]:
    """A cluster with a few topics, alive as long as its producer is."""
    host = confluent_kafka.Producer({"test.mock.num.brokers": 1})
    for topic in TOPICS:
        # The mock makes a topic when somebody asks for it.
        host.list_topics(topic, timeout=60)
    brokers = host.list_topics(timeout=60).brokers.values()
    yield ",".join(f"{broker.host}:{broker.port}" for broker in brokers)
    host.flush(1)


@pytest.mark.parametrize(
    ("pattern", "matching"),
    [("orders", ["orders"]), ("orders.*", ["orders", "orders-eu"]), ("o|refunds", ["refunds"]), ("der", [])],
)
def test_whole_names_that_match_are_printed(
    pattern: str, matching: list[str], mock_bootstrap: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """One a line, in order; nothing on standard output where nothing matches."""
    assert run(["verify-regex", pattern, "--bootstrap", mock_bootstrap]) == 0
    shown = capsys.readouterr()
    assert shown.out.splitlines() == matching
    assert ("No topic" in shown.err) is (not matching)


def test_cluster_may_be_that_of_a_configuration(
    mock_bootstrap: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """With its TLS and its login, without which a secured cluster could not be asked; an option counts more."""
    file = tmp_path / "bridge.yaml"
    file.write_text(f"bootstrap: [{mock_bootstrap}]\n", encoding="utf-8")
    assert run(["verify-regex", "refunds", "--config", str(file)]) == 0
    assert capsys.readouterr().out == "refunds\n"
    assert run(["verify-regex", "refunds", "--config", str(file), "--bootstrap", "nope"]) == 2


def test_nobody_to_ask_is_called_wrongly(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Neither by an option nor in the file."""
    file = tmp_path / "bridge.yaml"
    file.write_text("listen: h:1\n", encoding="utf-8")
    for words in ([], ["--config", str(file)]):
        assert run(["verify-regex", "a", *words]) == 2
        assert "EB-CLI-002: no broker is named" in capsys.readouterr().err


def test_bad_pattern_is_a_failure_with_the_reason(capsys: pytest.CaptureFixture[str]) -> None:
    """No cluster is needed to see that; Java's lookahead is not RE2."""
    assert run(["verify-regex", "(?!internal).*", "--bootstrap", "127.0.0.1:1"]) == 1
    assert capsys.readouterr().err.startswith("Error: EB-CLI-007: the pattern '(?!internal).*' can't be read: ")


def test_bootstrap_that_is_no_address_is_called_wrongly(capsys: pytest.CaptureFixture[str]) -> None:
    """Status 2, as for the same mistake in `serve`."""
    assert run(["verify-regex", "a", "--bootstrap", "nope"]) == 2
    assert "nope" in capsys.readouterr().err
