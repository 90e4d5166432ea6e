"""Has chosen tasks of a running bridge fail where they stand, one after the other, or as soon as they begin."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import ParamSpec, TypeVar

import pytest
import trio

from bridge import supervision
from bridge.net import client_connection, proxy
from bridge.supervision import Task, Work

ArgsT = ParamSpec("ArgsT")
ResultT = TypeVar("ResultT")


class Struck(Exception):
    """What a chosen task raises."""


@dataclass(slots=True)
class FailingTasks:
    """Lurks beside every task; `strike` has one of a kind fail."""

    _lurking: dict[str, list[trio.Event]] = field(default_factory=dict)
    _wanted: set[str] = field(default_factory=set)
    struck: list[str] = field(default_factory=list)

    @classmethod
    def beside_all(cls, monkeypatch: pytest.MonkeyPatch) -> "FailingTasks":
        """From now on every task that starts has one beside it."""
        failing = cls()
        monkeypatch.setattr(supervision, "carry_out", failing.carry_out)
        for importer in (client_connection, proxy):
            monkeypatch.setattr(importer, "carry_out", failing.carry_out)
        return failing

    def strike(self, task: Task) -> None:
        """The youngest task of this kind fails now, or the next one as soon as it begins."""
        lurking = self._lurking.get(task.name)
        if lurking:
            lurking[-1].set()
        else:
            self._wanted.add(task.name)

    def wants(self, task: Task) -> bool:
        """Whether the next one of this kind is to fail."""
        return task.name in self._wanted

    def strike_call(self, task: Task, act: Callable[ArgsT, ResultT]) -> Callable[ArgsT, ResultT]:
        """The same for what is done without a task of its own: the next call fails once it is wanted."""

        def fail_or_act(*args: ArgsT.args, **kwargs: ArgsT.kwargs) -> ResultT:
            self._fail_if_wanted(task.name)
            return act(*args, **kwargs)

        return fail_or_act

    def _fail_if_wanted(self, name: str) -> None:
        if name in self._wanted:
            self._wanted.remove(name)
            self.struck.append(name)
            raise Struck(name)

    async def carry_out(self, task: Task, work: Work) -> None:
        """In the place of `supervision.carry_out`."""
        self._fail_if_wanted(task.name)
        async with trio.open_nursery() as nursery:
            with self._lurk(task.name) as called:
                nursery.start_soon(self._wait, task.name, called)
                await work()
                nursery.cancel_scope.cancel()

    @contextmanager
    def _lurk(self, name: str) -> Iterator[trio.Event]:
        called = trio.Event()
        self._lurking.setdefault(name, []).append(called)
        try:
            yield called
        finally:
            self._lurking[name].remove(called)

    async def _wait(self, name: str, called: trio.Event) -> None:
        await called.wait()
        self.struck.append(name)
        raise Struck(name)
