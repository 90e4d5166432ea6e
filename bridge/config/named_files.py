"""Files that somebody names: read up to a bound, and what is wrong with one told in one sentence that quotes nothing.

Whoever names a wrong file names a disk, a log of a day, or a device that never ends.
"""

import os
import select
from io import FileIO
from pathlib import Path
from stat import S_IMODE, S_ISFIFO


class FileUnreadable(Exception):
    """The file can't be used; the text names it and says why, which is `why`, and never what it holds."""

    def __init__(
        self, path: str | Path, why: str, *, is_another: bool = False, is_no_text: bool = False, is_there: bool = True
    ) -> None:
        super().__init__(f"{path} {why}")
        self.why = why
        self.is_another = is_another
        """Whether it was read, and most likely is another file than the one that was meant."""
        self.is_no_text = is_no_text
        """Whether it was read, and its bytes are no UTF-8."""
        self.is_there = is_there
        """Whether there is such a file at all, as far as that was seen."""


UTF_16 = (b"\xff\xfe", b"\xfe\xff")
"""How files begin that editors of Windows save as "Unicode"."""
_OF_A_SHELL = " (only a shell knows what ~ and $ stand for: write the whole path)"


def is_for_a_shell(path: str) -> bool:
    """Whether a path has what a shell would put something else for, and nobody here does."""
    return path.startswith("~") or "$" in path


def read_bytes(path: str | Path, bytes_max: int) -> bytes:
    """All that a file holds. Raises FileUnreadable, also where that is more than `bytes_max`."""
    try:
        data = _read(path, bytes_max + 1)
    except (OSError, ValueError) as problem:
        # ValueError is for a path with a zero byte in it, which a YAML file can hold.
        is_missing = isinstance(problem, FileNotFoundError)
        why = f"can't be read: {getattr(problem, 'strerror', None) or problem}"
        why += _OF_A_SHELL if is_missing and is_for_a_shell(str(path)) else ""
        why += _whose(path) if isinstance(problem, PermissionError) else ""
        raise FileUnreadable(path, why, is_there=not is_missing) from None
    if len(data) > bytes_max:
        raise FileUnreadable(path, f"has more than {bytes_max} bytes", is_another=True)
    return data


def _whose(path: str | Path) -> str:
    """Who may not read it: in a container, or under systemd, that is seldom whom one thinks."""
    mine = f"this process is user {os.geteuid()}"
    try:
        found = Path(path).stat()
    except OSError:
        return f" ({mine}, who may not look into its folder)"
    return f" ({mine}, and it is user {found.st_uid}'s, mode {S_IMODE(found.st_mode):04o})"


PIPE_WAIT_MS = 5_000
"""How long what is no file may say nothing: a shell's `<(…)` is a pipe, and what writes to it takes its time."""


def _read(path: str | Path, most: int) -> bytes:
    """So many bytes of it, or all that there are. Raises OSError, ValueError and FileUnreadable."""
    data, has_waited = bytearray(), False
    # To open a pipe that nobody writes to would wait for ever, and so would the whole bridge at SIGHUP.
    with FileIO(path, "rb", opener=lambda name, flags: os.open(name, flags | os.O_NONBLOCK)) as file:
        is_pipe = S_ISFIFO(os.fstat(file.fileno()).st_mode)
        while len(data) < most:
            piece = file.read(most - len(data))
            if piece:
                data += piece
            elif piece is None or (is_pipe and not data and not has_waited):
                _wait_for(file, path)
                has_waited = True
            else:
                break
    return bytes(data)


def _wait_for(file: FileIO, path: str | Path) -> None:
    look = select.poll()
    look.register(file, select.POLLIN)
    if not look.poll(PIPE_WAIT_MS):
        why = f"is no file but a pipe or a terminal, from which nothing came for {PIPE_WAIT_MS} ms: name a file, or "
        raise FileUnreadable(path, f"{why}start what writes to it first")


def read_text(path: str | Path, bytes_max: int) -> str:
    """The same as text. Raises FileUnreadable."""
    data = read_bytes(path, bytes_max)
    try:
        # Editors of Windows put a mark in front, which nobody sees: a password with it is another one.
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        # Its own words would quote what may be a secret.
        why = "it is UTF-16, not UTF-8" if data.startswith(UTF_16) else "it is no UTF-8"
        raise FileUnreadable(path, f"can't be read: {why}", is_another=True, is_no_text=True) from None


SECRET_BYTES_MAX = 65_536
"""More than any password or token; a file that is longer is another one."""


def read_secret(path: str | Path) -> str:
    """What a file holds, without its line end. Raises FileUnreadable."""
    try:
        secret = read_text(path, SECRET_BYTES_MAX).removesuffix("\n").removesuffix("\r")
    except FileUnreadable as problem:
        if problem.is_there or "/" in str(path):
            raise
        # Whoever writes the password itself there would find it in every log.
        why = "is no file of this folder: name the file that holds the secret; the secret itself does not stand there"
        raise FileUnreadable("what is written", why, is_there=False) from None
    if not secret:
        raise FileUnreadable(path, "is empty", is_another=True)
    return secret
