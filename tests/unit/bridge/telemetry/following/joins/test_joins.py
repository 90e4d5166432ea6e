"""Joins whose answers are to come are found by request and by member."""

from dataclasses import dataclass

from bridge.telemetry.following.joins import Inputs, Join, Joins
from bridge.telemetry.schema.terms import Protocol
from translators.dialects.ids import ClientIdentity, InstanceId, MemberId

HERE = ClientIdentity(client_id="client", client_host="/10.0.0.1")
ELSEWHERE = ClientIdentity(client_id="client", client_host="/10.0.0.2")


def join_of(member: str = "", instance: str | None = None, client: ClientIdentity = HERE) -> Join:
    """A join that came at 1."""
    return Join(
        member_id=MemberId(member),
        instance_id=None if instance is None else InstanceId(instance),
        protocol=Protocol.CLASSIC,
        inputs=Inputs(client_id=client.client_id, client_host=client.client_host),
        at_us=1,
    )


def joins_of(*known: Join) -> Joins:
    """These, by requests 0, 1, …"""
    joins = Joins()
    for number, join in enumerate(known):
        joins.put(number, join)
    return joins


def test_join_is_taken_once_by_its_request() -> None:
    """Whether it was told of by then or not."""
    one, other = join_of("a"), join_of("b")
    joins = joins_of(one, other)
    assert joins.items() == ((0, one), (1, other))
    assert [*joins.values()] == [one, other]
    assert joins.pop(0) is one
    assert joins.pop(0) is None
    assert len(joins) == 1
    assert joins.pop_member(MemberId("a"), None, HERE) is None


def test_member_that_joins_twice_is_known_by_its_first_join() -> None:
    """The second is for the next rebalance."""
    first, second = join_of("a"), join_of("a")
    joins = joins_of(first, second)
    assert joins.pop_member(MemberId("a"), None, HERE) is first
    assert joins.pop_member(MemberId("a"), None, HERE) is second
    assert not joins


def test_request_that_joins_again_counts_once() -> None:
    """The last word counts."""
    joins = joins_of(join_of("a"))
    joins.put(0, join_of("b"))
    assert joins.pop_member(MemberId("a"), None, HERE) is None
    assert joins.pop_member(MemberId("b"), None, HERE) is not None


def test_newcomer_without_an_id_is_known_by_its_instance_or_its_client() -> None:
    """One that named an instance is nobody else's, wherever it comes from."""
    static, dynamic = join_of(instance="seat"), join_of(client=ELSEWHERE)
    joins = joins_of(static, dynamic)
    assert joins.pop_member(MemberId("x"), None, HERE) is None
    assert joins.pop_member(MemberId("x"), InstanceId("seat"), ELSEWHERE) is static
    assert joins.pop_member(MemberId("y"), None, ELSEWHERE) is dynamic


@dataclass(slots=True, eq=False)
class CountedId:
    """A request that counts how often it is compared."""

    compared: int = 0

    def __eq__(self, other: object) -> bool:
        """Count."""
        self.compared += 1
        return self is other

    def __hash__(self) -> int:
        """By identity."""
        return id(self)


def test_member_is_found_without_asking_the_others() -> None:
    """A thousand members that join at once are each found by name: telling of a join costs the same among many."""
    refs = [CountedId() for _ in range(1_000)]
    joins = Joins()
    for number, ref in enumerate(refs):
        joins.put(ref, join_of(f"member-{number}" if number % 2 else "", instance=str(number)))
    for number in range(999, 0, -2):
        assert joins.pop_member(MemberId(f"member-{number}"), InstanceId(str(number)), HERE) is not None
    for ref in refs:
        joins.pop(ref)
    assert not joins
    assert sum(ref.compared for ref in refs) < len(refs)
