"""What can be spoiled in a function: every small change of its source, one at a time, as code that can take its place.

It works on syntax trees and must not know tests. Texts, annotations, assertions and what runs at import (tables,
defaults) are left alone: a changed text is mostly nobody's fault, and the others run before any test does.
"""

import ast
import copy
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import CodeType

Function = ast.FunctionDef | ast.AsyncFunctionDef
COMPARISONS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
ARITHMETIC: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.FloorDiv,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.Mult,
    ast.BitOr: ast.BitAnd,
    ast.BitAnd: ast.BitOr,
    ast.LShift: ast.RShift,
    ast.RShift: ast.LShift,
}
OPPOSITES = {"min": "max", "max": "min", "any": "all", "all": "any"}
UNREACHABLE = ("assert_never", "cast", "overload")
Spoil = Callable[[ast.AST], ast.AST]


@dataclass(frozen=True, slots=True)
class Mutant:
    """One change: where it is, and how the changed piece reads before and after."""

    path: str
    function: str
    line: int
    kind: str
    before: str
    after: str
    place: int
    """Which of the changes of this module it is, counted in the order of the source."""

    @property
    def key(self) -> tuple[str, str, str, str]:
        """What stays when lines move; the kind tells texts apart that are too long to be kept whole."""
        return self.path, self.function, f"{self.kind}: {self.before}", self.after

    def __str__(self) -> str:
        """One line of a report."""
        return f"{self.path}:{self.line} {self.function}: {self.before!r} -> {self.after!r} ({self.kind})"


@dataclass(frozen=True, slots=True)
class _Change:
    node: ast.AST
    kind: str
    result: ast.AST


def mutants_of(root: Path, path: str) -> list[Mutant]:
    """Every mutant of one module."""
    tree = ast.parse((root / path).read_text(encoding="utf-8"))
    found: list[Mutant] = []
    for function, name in _functions(tree.body, ""):
        for change in _changes(function):
            line = getattr(change.node, "lineno", function.lineno)
            before, after = _text(change.node), _text(change.result)
            found.append(Mutant(path, name, line, change.kind, before, after, len(found)))
    return found


def spoiled_code(root: Path, mutant: Mutant) -> CodeType:
    """The code of the function with the change in it. Raises LookupError if the module has no such change any more."""
    file = root / mutant.path
    tree = ast.parse(file.read_text(encoding="utf-8"))
    place = 0
    for function, name in _functions(tree.body, ""):
        for change in _changes(function):
            if place == mutant.place:
                if (name, _text(change.node), _text(change.result)) != (mutant.function, mutant.before, mutant.after):
                    raise LookupError(f"{mutant} is not there any more")
                _Put(change.node, change.result).visit(function)
                ast.fix_missing_locations(tree)
                return code_named(compile(tree, str(file), "exec", dont_inherit=True), name, _first_line(function))
            place += 1
    raise LookupError(f"{mutant} is not there any more")


def code_named(code: CodeType, name: str, first_line: int) -> CodeType:
    """A function's code inside a module's. Raises LookupError."""
    waiting = [code]
    while waiting:
        inner = [one for one in waiting.pop().co_consts if isinstance(one, CodeType)]
        for one in inner:
            if one.co_qualname == name and one.co_firstlineno == first_line:
                return one
        waiting += inner
    raise LookupError(f"no function {name} at line {first_line}")


def _first_line(function: Function) -> int:
    return min([function.lineno, *(mark.lineno for mark in function.decorator_list)])


def _functions(body: Sequence[ast.stmt], prefix: str) -> Iterator[tuple[Function, str]]:
    """Functions and methods; what is inside a function belongs to it."""
    for node in body:
        if isinstance(node, Function):
            if not any(_text(mark) == "overload" for mark in node.decorator_list):
                yield node, prefix + node.name
        elif isinstance(node, ast.ClassDef):
            is_protocol = any(_text(base) == "Protocol" for base in node.bases)
            if not is_protocol:
                yield from _functions(node.body, f"{prefix}{node.name}.")


def _text(node: ast.AST) -> str:
    """The node as source, short enough for a line of a table."""
    text = " ".join(ast.unparse(ast.fix_missing_locations(copy.deepcopy(node))).split())
    return text if len(text) <= TEXT_MAX else f"{text[: TEXT_MAX - 1]}…"


TEXT_MAX = 110


class _Put(ast.NodeTransformer):
    def __init__(self, node: ast.AST, result: ast.AST) -> None:
        self._node, self._result = node, result

    def _kept(self, node: ast.AST) -> ast.AST:
        """The result, with what it replaces where it never runs: its closure must be of the same names."""
        if isinstance(node, ast.expr) and isinstance(self._result, ast.expr):
            return ast.IfExp(ast.Constant(True), self._result, node)
        assert isinstance(node, ast.stmt)
        assert isinstance(self._result, ast.stmt)
        return ast.If(ast.Constant(True), [self._result], [node])

    def visit(self, node: ast.AST) -> ast.AST:
        """Put the result in the place of the one node."""
        if node is self._node:
            return ast.copy_location(self._kept(node), node)
        visited: ast.AST = self.generic_visit(node)
        return visited


def _changes(function: Function) -> Iterator[_Change]:
    for statement in function.body:
        yield from _inside(statement)


def _inside(node: ast.AST) -> Iterator[_Change]:
    """The changes of a node and of all in it, in the order of the source."""
    if isinstance(node, ast.Assert | ast.JoinedStr | ast.Import | ast.ImportFrom) or _is_unreachable(node):
        return
    if isinstance(node, ast.stmt):
        yield from _of_statement(node)
    elif isinstance(node, ast.expr):
        yield from _of_expression(node)
    elif isinstance(node, ast.match_case) and node.guard is not None:
        yield _Change(node.guard, "guard", _negated(node.guard))
    for name, value in ast.iter_fields(node):
        if name in {"annotation", "returns", "decorator_list", "type_comment", "ctx", "pattern"}:
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST):
                yield from _inside(child)


def _is_unreachable(node: ast.AST) -> bool:
    if not isinstance(node, ast.Expr):
        return False
    if isinstance(node.value, ast.Constant):
        return True
    return isinstance(node.value, ast.Call) and _text(node.value.func) in UNREACHABLE


def _negated(node: ast.expr) -> ast.expr:
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        return copy.deepcopy(node.operand)
    return ast.UnaryOp(ast.Not(), copy.deepcopy(node))


def _of_statement(node: ast.stmt) -> Iterator[_Change]:
    match node:
        case ast.If(test=test) if not isinstance(test, ast.Compare | ast.UnaryOp):
            yield _Change(test, "branch", _negated(test))
        case ast.While(test=test) if not isinstance(test, ast.Constant | ast.Compare | ast.UnaryOp):
            yield _Change(test, "branch", _negated(test))
        case ast.Expr(value=ast.Call()) | ast.Expr(value=ast.Await()) | ast.AugAssign() | ast.Raise() | ast.Delete():
            yield _Change(node, "removed statement", ast.Pass())
        case ast.Assign(targets=[ast.Attribute() | ast.Subscript(), *_]):
            yield _Change(node, "removed statement", ast.Pass())
        case ast.Continue():
            yield _Change(node, "jump", ast.Break())
        case ast.Break():
            yield _Change(node, "jump", ast.Continue())
        case ast.Return(value=ast.expr() as value) if not isinstance(value, ast.Constant):
            if isinstance(value, ast.Compare | ast.BoolOp) or _is_not(value):
                return  # Its operators are changed instead.
            yield _Change(value, "return value", ast.Constant(None))
        case _:
            return
    if isinstance(node, ast.AugAssign) and type(node.op) in ARITHMETIC:
        changed = copy.deepcopy(node)
        changed.op = ARITHMETIC[type(node.op)]()
        yield _Change(node, "arithmetic", changed)


def _is_not(node: ast.expr) -> bool:
    return isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not)


def _of_expression(node: ast.expr) -> Iterator[_Change]:
    match node:
        case ast.Compare(ops=ops):
            for number, op in enumerate(ops):
                changed = copy.deepcopy(node)
                changed.ops[number] = COMPARISONS[type(op)]()
                yield _Change(node, "comparison", changed)
        case ast.BoolOp():
            yield from _of_boolean(node)
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            yield _Change(node, "boolean", copy.deepcopy(operand))
        case ast.BinOp(op=op) if type(op) in ARITHMETIC:
            turned = copy.deepcopy(node)
            turned.op = ARITHMETIC[type(op)]()
            yield _Change(node, "arithmetic", turned)
        case ast.Constant(value=bool() | int() as value):
            yield _Change(node, "constant", ast.Constant(not value if isinstance(value, bool) else value + 1))
        case ast.IfExp(test=test):
            yield _Change(test, "branch", _negated(test))
        case ast.Call():
            yield from _of_call(node)
        case ast.ListComp() | ast.SetComp() | ast.GeneratorExp() | ast.DictComp():
            yield from _of_comprehension(node)
        case _:
            return


def _of_boolean(node: ast.BoolOp) -> Iterator[_Change]:
    swapped = copy.deepcopy(node)
    swapped.op = ast.Or() if isinstance(node.op, ast.And) else ast.And()
    yield _Change(node, "boolean", swapped)
    for number in range(len(node.values)):
        fewer = [copy.deepcopy(value) for place, value in enumerate(node.values) if place != number]
        yield _Change(node, "boolean", fewer[0] if len(fewer) == 1 else ast.BoolOp(copy.deepcopy(node.op), fewer))


def _of_call(node: ast.Call) -> Iterator[_Change]:
    if isinstance(node.func, ast.Name) and node.func.id in OPPOSITES:
        opposite = copy.deepcopy(node)
        opposite.func = ast.Name(OPPOSITES[node.func.id], ast.Load())
        yield _Change(node, "opposite", opposite)
    if isinstance(node.func, ast.Name) and node.func.id == "replace":
        for number in range(len(node.keywords)):
            kept = copy.deepcopy(node)
            del kept.keywords[number]
            yield _Change(node, f"field {node.keywords[number].arg} not replaced", kept)


def _of_comprehension(node: ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp) -> Iterator[_Change]:
    for number, loop in enumerate(node.generators):
        for place in range(len(loop.ifs)):
            wider = copy.deepcopy(node)
            del wider.generators[number].ifs[place]
            yield _Change(node, "filter dropped", wider)
