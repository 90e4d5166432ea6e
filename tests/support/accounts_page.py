"""The comparison of the two accounts as a page: `python -m tests.support.accounts_page RESULTS.xml …`."""

import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from xml.etree import ElementTree as ET

from tests.support.matrix_page import ROOT, current_commit
from tests.support.two_accounts import Account, lags

PAGE = ROOT / "docs" / "reference" / "two-accounts.md"
MARKER = "<!-- made by tests.support.accounts_page -->"
COLUMNS = ("broker", "road", "clients")
FIGURES = ("stalls", "of them alike", "disturbed", "moved", "begin p50", "begin worst", "end p50", "end worst")
US_PER_MS = 1_000


def figures_of(tables: Account, clients: Account) -> Sequence[str]:
    """The figures of one fleet: pairs are `tables / clients`, times are milliseconds."""
    ours, theirs = tables.by_partition(), clients.by_partition()
    alike = sum(len(told) for partition, told in theirs.items() if ours.get(partition) == told)
    same = [name for name in theirs if ours.get(name) == theirs[name]]
    found = lags(_only(tables, same), _only(clients, same))
    return (
        f"{len(tables.halts)} / {len(clients.halts)}",
        str(alike),
        f"{_count(tables)} / {_count(clients)}",
        f"{sum(tables.moved.values())} / {sum(clients.moved.values())}",
        *_spread([lag.begin_us for lag in found]),
        *_spread([lag.end_us for lag in found]),
    )


def _only(account: Account, partitions: Iterable[str]) -> Account:
    kept = frozenset(partitions)
    halts = [halt for halt in account.halts if halt.partition in kept]
    return Account(halts=halts, disturbed=account.disturbed, moved=account.moved)


def _count(account: Account) -> int:
    return sum(map(len, account.disturbed.values()))


def _spread(times_us: Sequence[int]) -> tuple[str, str]:
    """The median, and the one that is farthest from nothing."""
    if not times_us:
        return "–", "–"
    ordered = sorted(times_us)
    middle, worst = ordered[len(ordered) // 2], max(ordered, key=abs)
    return f"{middle / US_PER_MS:.1f}", f"{worst / US_PER_MS:.0f}"


def read_results(path: Path) -> Sequence[Mapping[str, str]]:
    """The figures of every fleet in a junit file, with `outcome`; ValueError if there is none."""
    results: list[Mapping[str, str]] = []
    for case in ET.parse(path).iter("testcase"):
        told = {str(one.get("name")): str(one.get("value")) for one in case.iter("property")}
        if "life" in told:
            is_bad = case.find("failure") is not None or case.find("error") is not None
            results.append({**told, "outcome": "differs" if is_bad else "equal"})
    if not results:
        raise ValueError(f"{path} holds no fleet: make it with pytest tests/pipeline --matrix=all --junitxml={path}")
    return results


def render_table(results: Iterable[Mapping[str, str]], commit: str) -> str:
    """The generated part of the page."""
    columns = (*COLUMNS, "outcome", *FIGURES)
    ordered = sorted(results, key=lambda told: [told[name] for name in ("road", "broker", "clients")])
    rows = [columns, ["---"] * len(columns), *([told.get(name, "") for name in columns] for told in ordered)]
    lines = [f"| {' | '.join(row)} |" for row in rows]
    return "\n".join([MARKER, "", f"Made from commit `{commit}`.", "", *lines, ""])


def write_page(paths: Sequence[Path]) -> None:
    """Put the results of these files into the page, after its marker."""
    head = PAGE.read_text(encoding="utf-8").partition(MARKER)[0]
    results = [told for path in paths for told in read_results(path)]
    PAGE.write_text(head + render_table(results, current_commit()), encoding="utf-8")


if __name__ == "__main__":
    write_page([Path(word) for word in sys.argv[1:]])
