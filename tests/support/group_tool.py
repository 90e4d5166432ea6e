"""Kafka's own kafka-consumer-groups, and what it prints as rows by column."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from bridge.demo.kafka_broker import KafkaTools, ToolResult

CLASS_NAME = "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand"
TIMEOUT_MS = 60_000
"""The tool's own 5 s are too few for a Java program that starts among others on two cores."""

STRATEGY = "ASSIGNMENT-STRATEGY"

Row = Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupTool:
    """The tool of one Kafka version, asking one address."""

    tools: KafkaTools
    bootstrap: str

    def list_types(self) -> Mapping[str, str]:
        """Every group with its type; blocks."""
        return {row["GROUP"]: row["TYPE"] for row in rows_of(self._run("--list", "--type").stdout)}

    def describe(self, group: str, *view: str) -> Sequence[Row]:
        """The rows of one view (`--offsets`, `--members`, `--state`), empty for no members; blocks."""
        return rows_of(self._run("--describe", "--group", group, *view).stdout)

    def delete(self, group: str) -> str:
        """What the tool says to a deletion; blocks."""
        return self._run("--delete", "--group", group).stdout.strip()

    def _run(self, *arguments: str) -> ToolResult:
        words = ("--bootstrap-server", self.bootstrap, *arguments, "--timeout", str(TIMEOUT_MS))
        result = self.tools.run(CLASS_NAME, *words)
        failed = result.returncode != 0 or "Error:" in result.stdout
        assert not failed, f"{words} ended with {result.returncode}: {result.stdout}{result.stderr}"
        return result


def rows_of(printed: str) -> Sequence[Row]:
    """Lines below the heading, cut at white space; the coordinator's number in brackets joins its address."""
    lines = [line.replace("COORDINATOR (ID)", "COORDINATOR").replace("  (", "(") for line in printed.splitlines()]
    table = [line.split() for line in lines if line.strip()]
    if not table or table[0][0] != "GROUP":
        return []
    heading = table[0]
    return [dict(zip(heading, _filled(heading, cells), strict=True)) for cells in table[1:] if cells[0] != "Consumer"]


def _filled(heading: Sequence[str], cells: list[str]) -> Sequence[str]:
    """Kafka 3.9 prints nothing for the strategy of a group without members."""
    if len(cells) == len(heading) or STRATEGY not in heading:
        return cells
    at = heading.index(STRATEGY)
    return [*cells[:at], "", *cells[at:]]
