"""How a built-in assignor answers at the cost of what changed: an inner contract that plug-ins need not know.

It must not know any one assignor, nor how the index is kept.
"""

from abc import ABC, abstractmethod

from bridge.engine.assignors.interface import Assignment, AssignmentSpec
from bridge.engine.assignors.load_index import LoadIndex


class IncrementalAssignor(ABC):
    """An assignor that can also revise a target of its own."""

    name: str

    @abstractmethod
    def assign(self, spec: AssignmentSpec) -> Assignment:
        """As `interface.Assignor`."""

    @abstractmethod
    def revise(self, index: LoadIndex, target: Assignment) -> Assignment | None:
        """The new shares of those whose share changes, or None if that is a job for `assign`.

        `target` is the last one, by this assignor; together the two must be as good an answer as `assign` gives.
        """
