"""The `uniform` assignor: the best balance subscriptions allow, and of all ways to it one that moves least."""

from bridge.engine.assignors.claims import NOTHING, settle_claims
from bridge.engine.assignors.cohorts import Component, form_cohorts, link_components, seat
from bridge.engine.assignors.incremental import Census, IncrementalAssignor, TargetIndex
from bridge.engine.assignors.interface import Assignment, AssignmentSpec
from bridge.engine.assignors.load_index import LoadIndex
from bridge.engine.assignors.mixture import share_along_chains
from bridge.engine.assignors.quotas import share_evenly
from bridge.engine.assignors.revision import revise
from translators.dialects.ids import MemberId, TopicIdPartition


class Uniform(IncrementalAssignor):
    """Kafka's `uniform`, with its balance and fewer moves (K9.3, K9.4)."""

    name: str = "uniform"
    is_by_count: bool = True

    def assign(self, spec: AssignmentSpec) -> Assignment:
        """Balance each component on its own: nothing moves between members that share no topic, even indirectly."""
        target: dict[MemberId, frozenset[TopicIdPartition]] = {}
        for component in link_components(form_cohorts(spec)):
            target.update(assign_component(spec, component))
        return target

    def index(self, census: Census) -> TargetIndex:
        """Loads and free partitions, by what members want."""
        return UniformIndex(census)


class UniformIndex(LoadIndex, TargetIndex):
    """A load index that knows what to do about imbalance."""

    __slots__ = ()

    def revise(self, target: Assignment) -> Assignment | None:
        """Look only at regions that changed, and there only at members that must give or may gain."""
        return revise(self, target)


def assign_component(spec: AssignmentSpec, component: Component) -> Assignment:
    """Compute the target of one component; a caller that knows which components changed need not ask for the others."""
    if not component[0].topics:
        return {member_id: NOTHING for cohort in component for member_id in cohort.members}
    claims = settle_claims(spec, component)
    if len(component) == 1:
        return share_evenly(claims, {member_id: seat(spec.members[member_id]) for member_id in component[0].members})
    return share_along_chains(component, claims)
