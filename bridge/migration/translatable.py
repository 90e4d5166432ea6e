"""Whether a classic client can be a member of a consumer group at all, by what its JoinGroup says."""

from translators.dialects.classic import JoinGroup
from translators.dialects.consumer_protocol import CONSUMER, TRANSLATABLE, MalformedBlob
from translators.dialects.errors import quote


def is_of_consumer_group(request: JoinGroup) -> bool:
    """Whether a classic client joins to consume: groups of Kafka Connect, of schema registries and of others are no
    consumer groups, and nobody but the broker coordinates them.
    """
    return request.protocol_type == CONSUMER


def find_obstacle(request: JoinGroup) -> str | None:
    """Why nobody can translate this member, in words; None if it can be translated.

    Kafka Connect, schema registries and others use the classic protocol for what no consumer group does, and assignors
    of an application's own decide by rules that no broker has: both need their leader, so such members stay what they
    are, whatever rule their group has.
    """
    if not is_of_consumer_group(request):
        return f"protocol type {quote(request.protocol_type)!r} is not {CONSUMER!r}"
    chosen = next((one for one in request.protocols if one.name in TRANSLATABLE), None)
    if chosen is None:
        names = ", ".join(repr(quote(one.name)) for one in request.protocols) or "none"
        return f"of the protocols offered ({names}) none has a server-side equivalent"
    try:
        request.subscription(chosen)
    except MalformedBlob as malformed:
        return f"the subscription of protocol {quote(chosen.name)!r} can't be read: {quote(malformed)}"
    return None
