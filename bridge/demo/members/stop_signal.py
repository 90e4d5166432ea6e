"""When a client process must end: SIGTERM, or the death of the process that started it.
It must not know what is ended.
"""

import os
import signal
import threading
from types import FrameType


class StopSignal:
    """Set by SIGTERM; SIGINT is left to the parent, which gets it too when a terminal sends it."""

    def __init__(self) -> None:
        self._event = threading.Event()
        self._parent = os.getppid()
        signal.signal(signal.SIGTERM, self._stop)
        signal.signal(signal.SIGINT, signal.SIG_IGN)

    def is_set(self) -> bool:
        """Whether the process must end now; an orphan must, so that a killed parent leaves nothing behind."""
        return self._event.is_set() or os.getppid() != self._parent

    def _stop(self, _number: int, _frame: FrameType | None) -> None:
        self._event.set()
