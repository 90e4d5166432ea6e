"""What an earlier run of the bridge knew of the cluster, as a text for the journal.

It must not know where the text is kept, nor what becomes of it.
"""

import json
import logging
from collections.abc import Mapping
from dataclasses import dataclass

from bridge.net.entrance import Entrance
from bridge.wire.endpoints import Endpoint
from bridge.wire.versions import VersionRange, VersionTable

FACT = "cluster"
"""The name under which the journal keeps it."""

LOG = logging.getLogger("epochbridge.net")


@dataclass(frozen=True, slots=True, kw_only=True)
class Recollection:
    """Of the cluster behind these bootstrap addresses: whether it asks for a login, its brokers, what they speak.

    Brokers stand in the order of the ports of ours that stand for them, so that they get the same ones again.
    """

    bootstrap: tuple[str, ...]
    entrance: Entrance
    brokers: tuple[Endpoint, ...]
    versions: VersionTable

    def text(self) -> str:
        """As it is written down."""
        plain = {
            "bootstrap": self.bootstrap,
            "entrance": self.entrance.value,
            "brokers": self.brokers,
            "versions": {str(key): (one.lowest, one.highest) for key, one in sorted(self.versions.items())},
        }
        return json.dumps(plain, separators=(",", ":"))


def recollect(text: str) -> Recollection | None:
    """What was written down; None where it can't be read, which a newer release may have caused: nothing is known."""
    try:
        plain: object = json.loads(text)
        match plain:
            case {
                "bootstrap": list(bootstrap),
                "entrance": str(entrance),
                "brokers": list(brokers),
                "versions": dict(versions),
            }:
                return Recollection(
                    bootstrap=tuple(map(str, bootstrap)),
                    entrance=Entrance(entrance),
                    brokers=tuple(map(_broker, brokers)),
                    versions=_versions(versions),
                )
    except (ValueError, LookupError, TypeError) as problem:
        LOG.warning("EB-NET-055: what the journal tells of the cluster can't be read (%s); it is asked anew", problem)
    return None


def _broker(plain: object) -> Endpoint:
    match plain:
        case [int(node_id), str(host), int(port)]:
            return Endpoint(node_id, host, port)
        case _:
            raise ValueError(f"{plain!r} is no broker")


def _versions(plain: Mapping[object, object]) -> VersionTable:
    table: dict[int, VersionRange] = {}
    for key, one in plain.items():
        match one:
            case [int(lowest), int(highest)]:
                table[int(str(key))] = VersionRange(lowest, highest)
            case _:
                raise ValueError(f"{one!r} is no range of versions")
    return table
