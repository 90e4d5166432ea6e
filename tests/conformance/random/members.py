"""One member of a drawn sequence, with what it says of itself in every call.

It must not know what a sequence is, nor what any coordinator answers.
"""

from dataclasses import dataclass, field

from tests.support.conformance.steps import Part


@dataclass(slots=True, kw_only=True)
class Member:
    """One member: its versions and usual fields, and whether it has asked to be in."""

    name: str
    join: int
    sync: int
    beat: int
    leave: int
    native: bool
    instance: str | None
    topics: tuple[str, ...]
    fields: dict[str, Part] = field(default_factory=dict)
    inside: bool = False

    def static(self) -> dict[str, Part]:
        """Its instance id as a field, if it has one."""
        return {} if self.instance is None else {"group_instance_id": self.instance}
