"""What happens to whoever is moved member by member, on the way there and back, and what every such move asks for."""

from dataclasses import dataclass

from translators.dialects.coordinator import Refused
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import MemberId

UNHEARD = Refused(ErrorCode.REQUEST_TIMED_OUT, "for two sessions nobody said what the broker made of it")
"""Why a member is nobody's of which it is not known by which protocol its broker has it."""


TOLD_GONE = Refused(
    ErrorCode.UNKNOWN_MEMBER_ID,
    "for a session nobody said what the broker made of it, and its client was told that it is no member: it joins anew",
)
"""Why a member is nobody's any more whose seat its broker may have given to another."""

NO_MEMBER = Refused(
    ErrorCode.UNKNOWN_MEMBER_ID, "its broker told its client that it is no member any more: it joins anew, if it lives"
)
"""Why a member is nobody's any more that its broker has put out, as behind a session of silence."""


@dataclass(frozen=True, slots=True)
class MemberLeft:
    """The member has said farewell, or is known to be gone; one that is being asked for is answered first."""

    member_id: MemberId


@dataclass(frozen=True, slots=True)
class ToldGone:
    """Its client was told that it is no member any more (25), and joins anew: nobody waits for it."""

    member_id: MemberId
    reason: Refused = TOLD_GONE


@dataclass(frozen=True, slots=True)
class Stopped:
    """Nobody else is to be moved; whoever was moved already stays so."""

    reason: Refused


@dataclass(frozen=True, slots=True)
class GaveUp:
    """Whoever has not come to an end by now is waited for no more."""


@dataclass(frozen=True, slots=True)
class Keep:
    """The member stays what it was, of the protocol and on the road that it came from."""

    member_id: MemberId


@dataclass(frozen=True, slots=True)
class Drop:
    """The member is nobody's any more: its client has to join anew (25)."""

    member_id: MemberId
