"""Groups as the admin API shows them, and a source of snapshots that stands still.

It must not know HTTP.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from bridge.admin.contracts import AdminSources, GroupSummary, GroupView, MemberView, TopicPartitions

CLASSIC = MemberView(
    member_id="m-1",
    instance_id="seat-1",
    client_id="billing-1",
    client_host="127.0.0.1",
    library="apache-kafka-java",
    library_version="4.3.1",
    protocol="classic",
    state="Stable",
    generation=5,
    member_epoch=12,
    assigned=(TopicPartitions("orders", (0, 1, 2, 5)),),
    target=(TopicPartitions("orders", (0, 1, 2)),),
    pending_revocation=(TopicPartitions("orders", (5,)),),
)
CONSUMER = MemberView(
    member_id="m-2",
    instance_id=None,
    client_id="billing-2",
    client_host="127.0.0.1",
    library="",
    library_version="",
    protocol="consumer",
    state="Stable",
    generation=None,
    member_epoch=12,
    assigned=(),
    target=(TopicPartitions("orders", (5,)), TopicPartitions("refunds", (0,))),
    pending_revocation=(),
)
ORDERS = GroupView(
    summary=GroupSummary(
        group_id="orders-billing",
        road="embedded",
        type="consumer",
        state="Reconciling",
        group_epoch=12,
        assignment_epoch=12,
        assignor="uniform",
        member_count=2,
    ),
    members=(CONSUMER, CLASSIC),
)


@dataclass(frozen=True, slots=True)
class StillSnapshots:
    """The same groups and reasons, however often it is asked."""

    views: Sequence[GroupView] = (ORDERS,)
    reasons: Sequence[str] = ()

    def groups(self) -> Sequence[GroupSummary]:
        """The summaries."""
        return [view.summary for view in self.views]

    def group(self, name: str) -> GroupView | None:
        """The view of that name."""
        return next((view for view in self.views if view.summary.group_id == name), None)

    def readiness(self) -> Sequence[str]:
        """The reasons."""
        return self.reasons


@dataclass(frozen=True, slots=True)
class StillMetrics:
    """The same text, however often it is asked."""

    content_type: str = "text/plain; version=0.0.4; charset=utf-8"
    body: bytes = b"epochbridge_requests_total 7\n"

    def text(self) -> bytes:
        """The text."""
        return self.body


def still_sources(snapshots: StillSnapshots | None = None) -> AdminSources:
    """Sources of the API that stand still."""
    return AdminSources(snapshots=snapshots or StillSnapshots(), metrics=StillMetrics())
