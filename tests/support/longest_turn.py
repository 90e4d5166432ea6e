"""How much of something is done at most before others have a turn, counted and not timed."""

import sys
from functools import wraps
from types import FrameType, TracebackType
from typing import Self

import pytest
import trio


class LongestTurn(trio.abc.Instrument):
    """Counts the calls of a method or function of `owner` in each step of any task inside its `with` block; `most` is
    the largest count.
    """

    def __init__(self, monkeypatch: pytest.MonkeyPatch, owner: object, method: str) -> None:
        self.most = self._called = 0
        called = getattr(owner, method)

        @wraps(called)
        def count(*arguments: object, **named: object) -> object:
            self._called += 1
            return called(*arguments, **named)

        monkeypatch.setattr(owner, method, count)

    def __enter__(self) -> Self:
        """Begin to count."""
        trio.lowlevel.add_instrument(self)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End it."""
        del kind, problem, trace
        trio.lowlevel.remove_instrument(self)

    def before_task_step(self, task: trio.lowlevel.Task) -> None:
        """Somebody's turn."""
        self._called = 0

    def after_task_step(self, task: trio.lowlevel.Task) -> None:
        """Its end."""
        self.most = max(self.most, self._called)


class LongestWork(trio.abc.Instrument):
    """Counts the calls of the bridge's own functions in each step of any task; `most` is the largest count."""

    def __init__(self) -> None:
        self.most = self._called = 0

    def __enter__(self) -> Self:
        """Begin to count."""
        trio.lowlevel.add_instrument(self)
        sys.setprofile(self._note)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End it."""
        del kind, problem, trace
        sys.setprofile(None)
        trio.lowlevel.remove_instrument(self)

    def before_task_step(self, task: trio.lowlevel.Task) -> None:
        """Somebody's turn."""
        self._called = 0

    def after_task_step(self, task: trio.lowlevel.Task) -> None:
        """Its end."""
        self.most = max(self.most, self._called)

    def _note(self, frame: FrameType, event: str, _: object) -> None:
        path = frame.f_code.co_filename
        self._called += event == "call" and ("/bridge/" in path or "/translators/" in path) and "/tests/" not in path
