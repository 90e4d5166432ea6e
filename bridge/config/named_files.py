"""Files that somebody names: read up to a bound, and what is wrong with one told in one sentence that quotes nothing.

Whoever names a wrong file names a disk, a log of a day, or a device that never ends.
"""

from pathlib import Path


class FileUnreadable(Exception):
    """The file can't be used; the text names it and says why, which is `why`, and never what it holds."""

    def __init__(self, path: str | Path, why: str, *, is_another: bool = False) -> None:
        super().__init__(f"{path} {why}")
        self.why = why
        self.is_another = is_another
        """Whether it was read, and most likely is another file than the one that was meant."""


def read_bytes(path: str | Path, bytes_max: int) -> bytes:
    """All that a file holds. Raises FileUnreadable, also where that is more than `bytes_max`."""
    try:
        with Path(path).open("rb") as file:
            data = file.read(bytes_max + 1)
    except (OSError, ValueError) as problem:
        # ValueError is for a path with a zero byte in it, which a YAML file can hold.
        raise FileUnreadable(path, f"can't be read: {getattr(problem, 'strerror', None) or problem}") from None
    if len(data) > bytes_max:
        raise FileUnreadable(path, f"has more than {bytes_max} bytes", is_another=True)
    return data


def read_text(path: str | Path, bytes_max: int) -> str:
    """The same as text. Raises FileUnreadable."""
    data = read_bytes(path, bytes_max)
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        # Its own words would quote what may be a secret.
        raise FileUnreadable(path, "can't be read: it is no UTF-8", is_another=True) from None


SECRET_BYTES_MAX = 65_536
"""More than any password or token; a file that is longer is another one."""


def read_secret(path: str | Path) -> str:
    """What a file holds, without its line end. Raises FileUnreadable."""
    secret = read_text(path, SECRET_BYTES_MAX).removesuffix("\n").removesuffix("\r")
    if not secret:
        raise FileUnreadable(path, "is empty", is_another=True)
    return secret
