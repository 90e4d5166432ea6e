"""The bridge as its users start it, in front of the benchmark's broker.

It must not know what is measured.
"""

import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType

from bridge.demo.services import BridgePlace, free_place
from tests.benchmarks.processes import Child, command

GROUPS = "bench-*"


def bridge_words(upstream: str, place: BridgePlace, settings: Sequence[str]) -> list[str]:
    """`epochbridge serve` with groups `bench-*` on road embedded; settings are KEY=VALUE, the last of a key counts."""
    return [
        *(sys.executable, "-m", "bridge", "serve"),
        *("--bootstrap", upstream, "--listen", place.listen, "--admin", place.admin, "--embedded", GROUPS),
        *(
            word
            for setting in ("embedded.resume.grace.ms=0", "journal=memory", *settings)
            for word in ("--set", setting)
        ),
    ]


@contextmanager
def bridge_child(
    upstream: str, directory: Path, settings: Sequence[str] = (), environment: Mapping[str, str] = MappingProxyType({})
) -> Iterator[tuple[str, Child]]:
    """Run the bridge until the end of the block: the address for clients, and the process."""
    place = free_place()
    with command(bridge_words(upstream, place, settings), directory, environment) as child:
        yield place.listen, child
