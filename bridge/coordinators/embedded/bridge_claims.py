"""What bridges before one cluster tell each other: which groups each one has, wants, and refuses for another's sake."""

import json
from base64 import b64decode, b64encode
from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum, auto
from functools import lru_cache
from hashlib import sha256
from typing import NamedTuple

from translators.dialects.ids import GroupId

VERSION = 1
DIGEST_BYTES = 8
"""Of a group's name: 50,000 groups take 540 kB, which a broker keeps as one record of at most 1 MB by default."""
TEXT_CHARS_MAX = 249
GROUPS_MAX = 50_000
"""How many groups a bridge tells of; further ones are served without being claimed."""

Digest = bytes
NO_GROUPS: frozenset[Digest] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class Claims:
    """What one bridge says: who it is, where its clients come, and the digests of groups' names.

    `held` are those that it serves. It serves none that is only `wanted`: that is said first, and then looked whether
    anybody else has it or wants it too. `refused` are those whose clients come here and belong to another bridge.
    """

    bridge: str
    where: str
    held: frozenset[Digest] = NO_GROUPS
    wanted: frozenset[Digest] = NO_GROUPS
    refused: frozenset[Digest] = NO_GROUPS


class Standing(Enum):
    """What becomes of a group that this bridge wants."""

    OURS = auto()
    THEIRS = auto()
    UNDECIDED = auto()


class Judgement(NamedTuple):
    """How it stands, and with whom."""

    standing: Standing
    other: Claims | None = None


@lru_cache(maxsize=GROUPS_MAX)
def digest(group_id: GroupId) -> Digest:
    """What stands for a group's name."""
    return sha256(group_id.encode("utf-8", "surrogatepass")).digest()[:DIGEST_BYTES]


def judge(mine: str, group: Digest, others: Iterable[Claims]) -> Judgement:
    """Whether the bridge `mine`, which has said that it wants a group, may have it after a look at all others.

    Everybody says what it wants before it looks, so of two that want a group at least one sees the other: who sees
    another waits, and of two that wait the one with the greater name gives way. So never both have it.
    """
    seen = tuple(others)
    holder = next((other for other in seen if group in other.held), None)
    if holder is not None:
        return Judgement(Standing.THEIRS, holder)
    rivals = sorted((other for other in seen if group in other.wanted), key=lambda other: other.bridge)
    if not rivals:
        return Judgement(Standing.OURS)
    return Judgement(Standing.THEIRS if rivals[0].bridge < mine else Standing.UNDECIDED, rivals[0])


def find_stronger(mine: str, group: Digest, others: Iterable[Claims]) -> Claims | None:
    """Who else has a group that `mine` has and keeps it: two that met by accident must not both go on."""
    return next((other for other in others if group in other.held and other.bridge < mine), None)


def encode(claims: Claims) -> bytes:
    """As it stands in a member's metadata."""
    document = {
        "version": VERSION,
        "bridge": claims.bridge,
        "where": claims.where,
        "held": _pack(claims.held),
        "wanted": _pack(claims.wanted),
        "refused": _pack(claims.refused),
    }
    return json.dumps(document, separators=(",", ":")).encode()


def decode(metadata: bytes) -> Claims | None:
    """What another bridge says; None for what is no such thing: anybody may join the group of the bridges."""
    try:
        document: object = json.loads(metadata)
        if not isinstance(document, dict):
            return None
        texts = {name: document.get(name) for name in ("bridge", "where", "held", "wanted", "refused")}
        bridge, where, held, wanted, refused = (text if isinstance(text, str) else "" for text in texts.values())
        return Claims(
            bridge=bridge[:TEXT_CHARS_MAX],
            where=where[:TEXT_CHARS_MAX],
            held=_unpack(held),
            wanted=_unpack(wanted),
            refused=_unpack(refused),
        )
    except (ValueError, RecursionError):
        return None


def _pack(groups: frozenset[Digest]) -> str:
    return b64encode(b"".join(sorted(groups)[:GROUPS_MAX])).decode()


def _unpack(text: str) -> frozenset[Digest]:
    packed = b64decode(text, validate=True)
    return frozenset(packed[at : at + DIGEST_BYTES] for at in range(0, len(packed), DIGEST_BYTES))
