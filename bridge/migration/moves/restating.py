"""Protocols of a member as a played JoinGroup offers them: its own words, with what its client has as owned."""

from dataclasses import replace

from translators.dialects.classic import Protocol
from translators.dialects.consumer_protocol import Subscription, decode_subscription, encode_subscription
from translators.dialects.ids import TopicPartition

STATES_GENERATION = 2
"""The version from which on a subscription says in which generation its owned partitions were assigned."""


def restate(protocols: tuple[Protocol, ...], owned: frozenset[TopicPartition], generation: int) -> tuple[Protocol, ...]:
    """The same subscriptions, saying that the client owns `owned` as of `generation` (-1 where it is not known).

    A broker that coordinates a consumer group hands nothing of it to others before the member lets go, and no broker
    takes the JoinGroup for an unchanged one, as the generation is newer in every round. Raises `MalformedBlob`.
    """
    return tuple(
        Protocol(protocol.name, encode_subscription(_owning(decode_subscription(protocol.metadata), owned, generation)))
        for protocol in protocols
    )


def _owning(said: Subscription, owned: frozenset[TopicPartition], generation: int) -> Subscription:
    return replace(said, version=max(said.version, STATES_GENERATION), owned=owned, generation=generation)
