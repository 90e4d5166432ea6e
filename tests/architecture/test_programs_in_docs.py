"""Programs of the sources that pages tell people to run are there: modules, environments of tox, benchmarks."""

import ast
import re
import tomllib
from collections.abc import Iterator

from tests.architecture.source_tree import ROOT
from tests.architecture.test_options_in_docs import pages

MODULE = re.compile(r"python3? -m ((?:bridge|deploy|tests|translators)(?:\.\w+)*)")
ENVIRONMENT = re.compile(r"tox (?:run )?-e ([\w-]+)")
BENCHMARKS = re.compile(r"(?:python -m tests\.benchmarks|tox run -e bench --)((?: [a-z][a-z-]*)+)")
BENCHMARKS_PAGE = "docs/reference/benchmarks.md"
PAIRS = "pairs"
"""No benchmark, but all of them with the code of two trees."""


def can_be_run(module: str) -> bool:
    """Whether `python -m` finds something that does more than to be imported."""
    path = ROOT / module.replace(".", "/")
    if path.is_dir():
        return (path / "__main__.py").is_file()
    source = path.with_suffix(".py")
    return source.is_file() and '__name__ == "__main__"' in source.read_text(encoding="utf-8")


def benchmarks() -> set[str]:
    """The names that the command takes, read and not imported: it would bring all that benchmarks need."""
    source = (ROOT / "tests/benchmarks/__main__.py").read_text(encoding="utf-8")
    return set(keys_of_tables(ast.parse(source)))


def keys_of_tables(tree: ast.Module) -> Iterator[str]:
    """The words that each table at the top of a module begins its rows with."""
    for node in tree.body:
        if isinstance(node, ast.AnnAssign) and isinstance(node.value, ast.Dict):
            yield from (str(key.value) for key in node.value.keys if isinstance(key, ast.Constant))


def test_modules_that_pages_run_are_there() -> None:
    """By `python -m`."""
    named = [(path, module) for path, text in pages() for module in MODULE.findall(text)]
    assert {"bridge.demo.producer", "tests.fuzz"} <= {module for _, module in named}
    assert [f"{path}: {module}" for path, module in named if not can_be_run(module)] == []


def test_environments_that_pages_run_are_there() -> None:
    """Of tox, as `tox.toml` has them."""
    known = tomllib.loads((ROOT / "tox.toml").read_text(encoding="utf-8"))["env"].keys()
    named = {(str(path), name) for path, text in pages() for name in ENVIRONMENT.findall(text)}
    assert {name for _, name in named} > {"lint", "test"}
    assert sorted(f"{path}: {name}" for path, name in named if name not in known) == []


def test_benchmarks_that_pages_run_are_there() -> None:
    """Each by its name."""
    known = benchmarks() | {PAIRS}
    told = [(str(path), words) for path, text in pages() for words in BENCHMARKS.findall(text)]
    named = {(path, word) for path, words in told for word in words.split()}
    assert {"census", "relay", PAIRS} <= {word for _, word in named}
    assert sorted(f"{path}: {word}" for path, word in named if word not in known) == []


def test_page_lists_all_benchmarks() -> None:
    """In its first sentence, which is where one looks for what there is: nine were not there."""
    text = (ROOT / BENCHMARKS_PAGE).read_text(encoding="utf-8")
    listed = re.findall(r"`([a-z-]+)`", text.partition("only what is named (")[2].partition(")")[0])
    assert sorted(listed) == sorted(benchmarks())
