"""The owner of groups in a simulated world, overheard: what the event log would say of every story."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from bridge.telemetry.observing import EngineWatcher, Guard
from bridge.telemetry.schema.terms import Road
from tests.support.heard import MS, Ears
from tests.support.simulated_bridge import OwnerSubject
from tests.support.simulation.subject import Delivery, Surroundings
from translators.dialects.ids import RequestRef
from translators.dialects.messages import GroupReply


class LoggedSubject(OwnerSubject):
    """Requests, answers and engine turns go by the follower, as `app_events` wires it."""

    def __init__(self, surroundings: Surroundings) -> None:
        self.guard = Guard()
        self._answer = surroundings.answer
        super().__init__(replace(surroundings, answer=self._overhear))
        self.ears = Ears(self.owner.shard)
        self.ears.follower.revived(self._now_us())
        self.owner.watch(EngineWatcher(self.ears.follower, self.guard, self._now_us))

    def take_turn(self, deliveries: Sequence[Delivery]) -> None:
        """See `Subject`; each request is heard first."""
        for one in deliveries:
            self.guard.run(partial(self._hear, one))
        super().take_turn(deliveries)

    def lose_connection(self, connection: int) -> None:
        """See `Subject`."""
        super().lose_connection(connection)
        self.guard.run(lambda: self.ears.follower.lost(connection, self._now_us()))

    def _hear(self, one: Delivery) -> None:
        self.ears.follower.asked(one.ref, one.client, one.request, Road.EMBEDDED, self._now_us())

    def _overhear(self, ref: RequestRef, reply: GroupReply) -> None:
        self.guard.run(lambda: self.ears.follower.answered(ref, reply, self._now_us()))
        self._answer(ref, reply)

    def _now_us(self) -> int:
        return self._surroundings.now_ms() * MS
