"""The tokens of the admin API: which role each is for, and how one that came is compared with them."""

from dataclasses import dataclass
from enum import StrEnum
from hmac import compare_digest

SCHEME = "bearer"


class Role(StrEnum):
    """What a token is for."""

    READ = "read"
    ORDER = "order"


@dataclass(frozen=True, slots=True)
class TokenPair:
    """The tokens of both roles, empty for none."""

    order: bytes = b""
    read: bytes = b""


@dataclass(slots=True)
class Tokens:
    """The tokens that are taken, and how many requests were refused for want of one.

    Both are exchanged at once, by a thread: no request is compared with one of before and one of after.
    """

    pair: TokenPair = TokenPair()
    refused: int = 0

    def role(self, authorization: str) -> Role | None:
        """What the header of a request allows; takes as long for every token that is wrong."""
        scheme, _, token = authorization.partition(" ")
        given = token.strip().encode("utf-8", "surrogateescape")
        if scheme.lower() != SCHEME or not given:
            return None
        pair = self.pair
        is_order, is_read = compare_digest(given, pair.order), compare_digest(given, pair.read)
        return Role.ORDER if is_order else Role.READ if is_read else None

    def has_any(self) -> bool:
        """Whether there is anything to compare with."""
        return self.pair != TokenPair()
