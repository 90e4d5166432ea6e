"""An import contract that is a table: each room with all that it may import; what is not in its row fails.

It knows names of modules and rows, and must not know any room.
"""

import sys
from collections.abc import Iterator, Mapping

from grimp import ImportGraph
from importlinter import Contract, ContractCheck, fields, output

METADATA = "strays"


def parse_rows(rows: list[str]) -> Mapping[str, frozenset[str]]:
    """Read `room -> name, name`: a room (a package or a module) with the rooms and libraries that it may import."""
    pairs = (row.partition("->") for row in rows)
    return {room.strip(): frozenset(filter(None, map(str.strip, names.split(",")))) for room, _, names in pairs}


def is_within(module: str, package: str) -> bool:
    """Say whether a module is a package or lies below it."""
    return module == package or module.startswith(f"{package}.")


def row_of(module: str, rows: Mapping[str, frozenset[str]]) -> str | None:
    """The row that counts for a module: the longest one that it lies in."""
    return max((room for room in rows if is_within(module, room)), key=len, default=None)


class WhiteListContract(Contract):
    """`rooms` are the rows; `guarded` are modules of the standard library that need a row, too, as sqlite3."""

    type_name = "white_list"

    rooms = fields.ListField(subfield=fields.StringField())
    guarded = fields.ListField(subfield=fields.StringField(), required=False, default=[])

    def check(self, graph: ImportGraph, verbose: bool) -> ContractCheck:
        """Look at every direct import of every module of ours."""
        strays = sorted(self._strays(graph, parse_rows(self._listed("rooms"))))
        return ContractCheck(kept=not strays, metadata={METADATA: strays})

    def render_broken_contract(self, check: ContractCheck) -> None:
        """Say each import with its line, and where the table is."""
        for stray in check.metadata[METADATA]:
            output.print_error(stray)
        output.print_error(
            "A row of this contract (pyproject.toml) says what a room may import; change the import first."
        )

    def _listed(self, option: str) -> list[str]:
        """What an option says; the class names a field where the instance holds its value."""
        value: list[str] = getattr(self, option)
        return value

    def _strays(self, graph: ImportGraph, rows: Mapping[str, frozenset[str]]) -> Iterator[str]:
        ours = {module for module in graph.modules if not graph.is_module_squashed(module)}
        free = set(sys.stdlib_module_names) - set(self._listed("guarded"))
        for importer in ours:
            room = row_of(importer, rows)
            if room is None:
                if "." in importer:
                    yield f"{importer} lies in no row"
                continue
            for imported in graph.find_modules_directly_imported_by(importer):
                if imported in free or is_within(imported, room) or any(is_within(imported, one) for one in rows[room]):
                    continue
                lines = graph.get_import_details(importer=importer, imported=imported)
                yield f"{importer}:{lines[0]['line_number']} imports {imported}, which `{room}` may not"
