"""Finds every stable code (EB-AREA-NUMBER) in the sources, and the words that stand with it there.

It reads syntax trees only, and must not import what it reads.
"""

import ast
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby, pairwise
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
ROOTS = ("bridge", "translators", "deploy")
CODE = re.compile(r"EB-[A-Z]+-\d{3}")
GAP = "…"
NO_WORDS = f"{GAP} ;:"
PRINTF = re.compile(r"%[-.\d]*[a-z]")
AREAS = {
    "ADMIN": "the admin API and the commands that ask it",
    "ANALYTICS": "the jobs on Spark",
    "APP": "starting and stopping the bridge",
    "ASSIGNOR": "assignors from other distributions",
    "BRIDGES": "other bridges before the same cluster",
    "CENSUS": "the census of groups, and what it could not look at",
    "CLI": "the command line",
    "CONFIG": "configuration",
    "DEMO": "the demo",
    "DOCTOR": "what `epochbridge doctor` finds",
    "ENGINE": "the engine; each of these is a bug, please report it",
    "EVENT": "a fleet's own event log",
    "EVENTS": "the event log of the bridge",
    "FLEET": "fleets of demo and tests",
    "GROUP": "groups on the road embedded",
    "JOURNAL": "the journal",
    "KAFKA": "a Kafka that demo and tests start",
    "LOG": "log lines on their way out of the process",
    "MACHINE": "member machines; each of these is a bug, please report it",
    "MEMBER": "clients of demo and tests",
    "MOVE": "why a group can't move to another road, or what to know before it does",
    "NET": "connections of clients and to brokers",
    "OFFSETS": "offsets renewed in the broker",
    "OTEL": "OpenTelemetry",
    "OWNER": "the owner of groups; each of these is a bug, please report it",
    "PLAN": "plans of moves",
    "RECORD": "records of the journal that can't be read",
    "RULE": "rules of groups: findings of `epochbridge check-config`",
    "SERVICE": "the service manager that started the bridge",
    "SETUP": "the two commands of the README",
    "SHADOW": "`epochbridge shadow`",
    "TASK": "tasks of a running bridge ([what each failure ends](../explanation/failures.md))",
    "TOPICS": "watching topics",
    "TRACE": "`epochbridge trace`",
    "WHATIF": "`epochbridge analytics replay` and `epochbridge shadow`",
    "WIRE": "reading and writing Kafka's protocol",
}


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class Mention:
    """One place that says a code: the module's path, and the words there, with a gap for each value seen."""

    code: str
    path: str
    line: int
    words: str


def mentions(source: str, path: str) -> list[Mention]:
    """Every code that a module's strings say, docstrings left out, in the order of lines."""
    module = Module(ast.parse(source))
    found = [
        Mention(code=code, path=path, line=node.lineno, words=module.words(node, code))
        for node in module.strings()
        for code in CODE.findall(text_of(node))
    ]
    return sorted(found, key=lambda one: (one.line, one.code))


def all_mentions(root: Path = ROOT) -> list[Mention]:
    """Every mention in the product's sources; this module's own examples are none."""
    files = (path for name in ROOTS for path in sorted((root / name).rglob("*.py")) if path != Path(__file__))
    return sorted(
        mention
        for path in files
        for mention in mentions(path.read_text(encoding="utf-8"), path.relative_to(root).as_posix())
    )


def error_pages(found: Iterable[Mention] | None = None) -> str:
    """One table per area: code, what it says, where it is said."""
    ordered = all_mentions() if found is None else sorted(found)
    return "\n\n".join("\n".join(_area(area, list(rows))) for area, rows in groupby(ordered, key=_area_of))


def _area(area: str, rows: list[Mention]) -> Iterator[str]:
    yield from (f"## {area}: {AREAS[area]}", "", "| code | what it says | from |", "|---|---|---|")
    for code, places in groupby(rows, key=lambda one: one.code):
        said = list(places)
        words = "<br>".join(dict.fromkeys(_escaped(one.words) for one in said if one.words.strip(NO_WORDS)))
        paths = ", ".join(dict.fromkeys(f"`{one.path}`" for one in said))
        yield f"| `{code}` | {words} | {paths} |"


def _area_of(mention: Mention) -> str:
    return mention.code.split("-")[1]


def _escaped(words: str) -> str:
    return words.replace("|", "\\|").replace("<", "&lt;").replace("\n", " ")


def text_of(node: ast.AST) -> str:
    """The text of a string in the source, with a gap for whatever is filled in; of both, where one of two is taken."""
    match node:
        case ast.Constant(value=str(text)):
            return text
        case ast.JoinedStr(values=parts):
            return "".join(text_of(part) for part in parts)
        case ast.IfExp(body=one, orelse=other):
            return f"{text_of(one)}; or: {text_of(other)}"
        case ast.FormattedValue(value=ast.Call(func=ast.Name(id="counted"), args=[_, *nouns])):
            singular, *plural = (text_of(noun) for noun in nouns)
            return f"{GAP} {''.join(plural) or f'{singular}s'}"
        case _:
            return GAP


def _sentence(text: str) -> str:
    return " ".join(PRINTF.sub(GAP, text).lstrip(":").split())


class Module:
    """One module's syntax tree, and what stands around a string in it."""

    def __init__(self, tree: ast.Module) -> None:
        self._nodes = list(ast.walk(tree))
        self._parents = {child: parent for parent in self._nodes for child in ast.iter_child_nodes(parent)}

    def strings(self) -> Iterator[ast.expr]:
        """All strings but docstrings and the parts of other strings."""
        for node in self._nodes:
            part_or_docstring = isinstance(self._parents.get(node), ast.JoinedStr | ast.FormattedValue | ast.Expr)
            if isinstance(node, ast.Constant | ast.JoinedStr) and not part_or_docstring:
                yield node

    def words(self, node: ast.expr, code: str) -> str:
        """What is said with a code: in the same string, beside or below it, by those who use its name, or by that."""
        name = self._name(node)
        beside = "" if name else self._beside(node)
        told = (self._used(name), self._below(node), _said_by(name))
        found = (_sentence(text_of(node).partition(code)[2]), beside, *told)
        return next((words for words in found if words.strip(NO_WORDS)), self._docstring(node))

    def _beside(self, node: ast.expr) -> str:
        match self._parents.get(node):
            case ast.Tuple(elts=[first, second]) if first is node:
                return _sentence(text_of(second))
            case ast.Call(args=[first, second, *others], keywords=named) if first is node:
                remedies = [*others, *(one.value for one in named if one.arg == "remedy")]
                told, remedy = self._told(second), "".join(self._told(one) for one in remedies[:1])
                return f"{told or GAP}; {remedy}" if remedy.strip(NO_WORDS) else told
            case ast.Dict() as fields:
                return self._logged(fields)
            case _:
                return ""

    def _logged(self, fields: ast.Dict) -> str:
        """The message of the line that carries these fields."""
        match self._parents.get(self._parents.get(fields, fields)):
            case ast.Call(args=[message, *_]):
                return self._told(message)
        return ""

    def _told(self, node: ast.expr) -> str:
        """A text as it stands, or what the name of one was last given, without a code at its begin."""
        match node:
            case ast.Name(id=name):
                text = self._assigned(name, node.lineno)
            case ast.BinOp(left=ast.Name(id=name), op=ast.Mod()):
                text = self._assigned(name, node.lineno)
            case _:
                text = text_of(node)
        return _sentence(CODE.sub("", text))

    def _assigned(self, name: str, line: int) -> str:
        """The text that a name was last given before this line."""
        given: dict[int, ast.expr] = {}
        for node in self._nodes:
            match node:
                case ast.Assign(targets=[ast.Name(id=found)], value=value) if found == name and node.lineno <= line:
                    given[node.lineno] = value
        return self._told(given[max(given)]) if given else ""

    def _used(self, name: str) -> str:
        """The text of the string of this module that begins with this name's value."""
        for node in self._nodes:
            match node:
                case ast.JoinedStr(values=[ast.FormattedValue(value=ast.Name(id=found)), *rest]) if found == name:
                    return _sentence("".join(text_of(part) for part in rest))
        return ""

    def _below(self, node: ast.expr) -> str:
        """The docstring of the name that a code alone is given."""
        assigned = self._parents.get(node)
        siblings = getattr(self._parents.get(assigned), "body", []) if isinstance(assigned, ast.Assign) else []
        for one, after in pairwise(siblings):
            match after:
                case ast.Expr(value=ast.Constant(value=str(text))) if one is assigned:
                    return _sentence(text)
        return ""

    def _name(self, node: ast.expr) -> str:
        """The name that a code is given, alone or as one of several."""
        match self._parents.get(node):
            case ast.Assign(targets=[ast.Name(id=name)]):
                return name
            case ast.Tuple(elts=codes) as several:
                match self._parents.get(several):
                    case ast.Assign(targets=[ast.Tuple(elts=names)]):
                        return ast.unparse(names[codes.index(node)])
        return ""

    def _docstring(self, node: ast.AST) -> str:
        """The first line on the class whose code this is; what a function is for says nothing of a code in it."""
        around = self._parents.get(node)
        while around is not None:
            if isinstance(around, ast.FunctionDef | ast.AsyncFunctionDef) and around.name[:2] != "__":
                return GAP
            if isinstance(around, ast.ClassDef):
                return (ast.get_docstring(around) or GAP).split("\n", maxsplit=1)[0]
            around = self._parents.get(around)
        return GAP


def _said_by(name: str) -> str:
    return "" if name in {"", "code"} else name.replace("_", " ").lower()
