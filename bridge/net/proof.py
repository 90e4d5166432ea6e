"""The proof that a client has logged in where the cluster wants that: on its connection not only SASL is answered.

It must not know mechanisms: after how many SASL answers somebody is in is theirs to say, and the broker's to know.
"""

from collections.abc import Callable

import trio

from bridge.net.asking import OWN_CORRELATION_ID
from bridge.net.broker_side import BrokerSide, Cluster
from bridge.net.cluster import METADATA_VERSION, metadata_request
from bridge.net.transport import Transport
from bridge.session.answers import Expected
from bridge.session.close_reasons import CloseReason
from bridge.wire.apis import ApiKey
from bridge.wire.rewrite import brokers_in

Close = Callable[[CloseReason, str], None]


class Proof:
    """Of one connection, asked for before its first group request is answered here; `close` ends that.

    A broker that authenticates refuses any request that is not SASL until somebody is in: it closes, and in the middle
    of a login it answers before that, with an error, which in Metadata is an answer without brokers. So an answer that
    names brokers is proof, as long as the connection lives on which it came.
    """

    __slots__ = ("_broker", "_close", "_cluster", "_proven")

    def __init__(self, cluster: Cluster, broker: BrokerSide, close: Close) -> None:
        self._cluster = cluster
        self._broker = broker
        self._close = close
        self._proven: Transport | None = None

    @property
    def is_given(self) -> bool:
        """Whether the client is in, or the cluster is known to let everybody in."""
        return self._cluster.is_open or (self._proven is not None and self._proven is self._broker.transport)

    async def wait_for(self) -> None:
        """Ask the broker unless there is proof; without any the connection ends."""
        while not self.is_given:
            await self._ask()

    async def _ask(self) -> None:
        if not await self._broker.open():
            self._close(CloseReason.UPSTREAM_UNREACHABLE, "it could not be asked whether the client has logged in")
            await trio.sleep_forever()
        transport, heard = self._broker.transport, trio.Event()

        def take(frame: bytes | None) -> None:
            if frame is None or not brokers_in(ApiKey.METADATA, METADATA_VERSION, frame):
                self._close(CloseReason.NOT_AUTHENTICATED, "the broker refused a request that is not SASL")
            else:
                self._proven = transport
                heard.set()

        self._broker.ask(Expected(OWN_CORRELATION_ID, None, take), metadata_request())
        await heard.wait()
