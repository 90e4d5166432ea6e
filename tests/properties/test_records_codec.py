"""Laws of written records: what is read back equals what was written, and builds the same durable state.

They know records and state, and must not know how a record is written.
"""

from typing import Protocol

from hypothesis import settings
from hypothesis.stateful import invariant

from bridge.engine.apply import apply
from bridge.engine.records import DurableRecord
from bridge.engine.records_codec import decode, encode
from bridge.engine.recovery import condense
from tests.properties.test_engine_classic import ClassicLaws
from tests.properties.test_engine_conversion import ConversionLaws
from tests.properties.test_engine_laws import EngineLaws
from tests.support.engine_bench import Bench
from tests.support.snapshots import durable


class Told(Protocol):
    """Where a history is."""

    @property
    def bench(self) -> Bench:
        """The shard, and all records so far."""
        ...


class WrittenHistory:
    """A random history of the engine, written down and read back; whose history it is says the class beside it."""

    @invariant()
    def record_read_back_is_the_same(self: Told) -> None:
        """What is read back equals every durable record of the last turn; equal records have equal bytes."""
        for record in self.bench.outcome.records:
            if isinstance(record, DurableRecord):
                assert decode(encode(record)) == record
                assert encode(decode(encode(record))) == encode(record)

    @invariant()
    def replay_of_what_was_written_equals_live(self: Told) -> None:
        """replay(decode(encode(durable records))) == durable(live) (K7.32)."""
        state = self.bench.fresh_shard()
        for record in self.bench.records:
            if isinstance(record, DurableRecord):
                apply(state, decode(encode(record)))
        assert durable(state) == durable(self.bench.state)

    @invariant()
    def condensed_history_leads_to_the_same_state(self: Told) -> None:
        """A condensed journal forgets how the state came about and nothing else, the members' order included."""
        live = self.bench.state
        state = self.bench.fresh_shard()
        for record in condense(live):
            apply(state, record)
        assert durable(state) == durable(live)
        assert {name: list(group.members) for name, group in state.groups.items()} == {
            name: list(group.members) for name, group in live.groups.items()
        }


class ConsumerHistories(WrittenHistory, EngineLaws):
    """Histories of consumer groups."""


class ClassicHistories(WrittenHistory, ClassicLaws):
    """Histories of classic groups, restarts included."""


class ConvertedHistories(WrittenHistory, ConversionLaws):
    """Histories of groups that change their type."""

    @property
    def bench(self) -> Bench:
        """The bench of the laws' world."""
        return self.world.bench


FEW = settings(max_examples=60, stateful_step_count=40, deadline=None)
TestConsumerHistories = ConsumerHistories.TestCase
TestConsumerHistories.settings = FEW
TestClassicHistories = ClassicHistories.TestCase
TestClassicHistories.settings = FEW
TestConvertedHistories = ConvertedHistories.TestCase
TestConvertedHistories.settings = FEW
