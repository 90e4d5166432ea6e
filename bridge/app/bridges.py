"""Who this bridge is to other bridges before the same cluster, over restarts, and what the metrics say of them."""

import socket
from collections.abc import Mapping
from hashlib import sha256

import trio

from bridge.config.configuration import Config
from bridge.coordinators.embedded.bridge_meeting import Place
from bridge.coordinators.embedded.groups import EmbeddedGroups
from translators.dialects.ids import GroupId

FACT = "bridge.id"
"""Under this name the journal keeps who the bridge is."""
ID_CHARS = 24
OFF, IN_MEMORY = "off", "memory"
LEAVE_S = 2.0
"""How long the end of the bridge waits for its farewell to the others, who notice it by themselves a session later."""


def meet_bridges(config: Config, groups: EmbeddedGroups, fresh_id: str) -> None:
    """Have the groups notice other bridges, unless nobody wants that or they do: to be said before any group can be
    embedded, at the start, by a rule that is read again, or by an order.

    `fresh_id` is for a journal that does not know whose it is.
    """
    settings = config.settings
    if settings.bridges_group == OFF or groups.bridges is not None:
        return
    known = groups.fact(FACT)
    bridge = known or own_id(config, fresh_id)
    if known is None:
        groups.keep_fact(FACT, bridge)
    where = f"{settings.advertised_host or socket.gethostname()}, {settings.listen}"
    groups.meet_bridges(Place(bridge=bridge, where=where, group_id=GroupId(settings.bridges_group)))


async def leave_bridges(config: Config, groups: EmbeddedGroups) -> None:
    """Who will not know its groups again lets others have them at once, and the only bridge leaves nothing behind.

    With a journal and others about it is to find its groups as it left them.
    """
    if groups.bridges is None:
        return
    if config.settings.journal == IN_MEMORY or not groups.bridges.others:
        with trio.move_on_after(LEAVE_S):
            await groups.bridges.leave()


def own_id(config: Config, fresh_id: str) -> str:
    """Who a bridge is that never was before: anybody new, or without a journal whoever listens at this place.

    Port 0 is no place: any free one is taken, by many bridges of one machine.
    """
    settings = config.settings
    if settings.journal != IN_MEMORY or settings.listen.endswith(":0"):
        return fresh_id
    place = f"{socket.gethostname()}\0{settings.advertised_host}\0{settings.listen}"
    return sha256(place.encode()).hexdigest()[:ID_CHARS]


def others(groups: EmbeddedGroups) -> int:
    """How many other bridges there are."""
    return 0 if groups.bridges is None else len(groups.bridges.others)


def contested(groups: EmbeddedGroups) -> Mapping[str, int]:
    """How many groups are refused here because another bridge has them, and refused there because this one has them."""
    bridges = groups.bridges
    return {} if bridges is None else {"here": bridges.refused_count, "elsewhere": len(bridges.told)}
