"""OpenSSL beside a socket instead of on it: what it reads at once is bounded, whatever the other end sends.

On a socket of its own OpenSSL reads on for as long as records come that hold nothing, new keys (KeyUpdate) above all:
8 MB of them, prepared before, held up the whole bridge for 17 s, and needed no login.
"""

import socket
import ssl
from collections.abc import Callable
from contextlib import suppress
from typing import cast

from bridge.net.client_hello import NO_NAME

RECORD_BYTES_MAX = 16_384
"""The most that one record carries."""
PIECE_BYTES = RECORD_BYTES_MAX + 256
"""So much is read from the socket at once: a record with all that is around it, or 10 ms of new keys (616 of them)."""
UNPAID_BYTES_MAX = 2 * PIECE_BYTES
"""Of which nothing came; a record that is not whole yet is less, also one that is padded to its full size."""
POOR_SHARE = 32
"""A piece of which such a part or more held nothing is the last of its turn; of full records it is one in 64."""
EMPTY_RECORDS_MAX = 64
"""So many records may hold nothing, and one more beside each that holds something: no library asks for new keys before
it has sent gigabytes under the old ones. Whoever sent a byte with each 33 kB of them cost everybody 10 ms for that.
"""
HEADER_BYTES = 5
"""Of a record; the last two say how many follow."""
DATA_HEADER = b"\x17\x03\x03"
"""How records begin behind the handshake, whatever they hold; OpenSSL says what is wrong with others."""
UNSENT_BYTES_MAX = 65_536
"""What is kept for somebody who asks for new keys and does not read."""
ONLY_KEYS = "it sends records that hold nothing (new keys, over and over)"
_piece = memoryview(bytearray(PIECE_BYTES))
"""Lent to whoever reads, and empty again when that returns."""


class EmptyRecords(OSError):
    """The other end sends records that hold nothing."""


class TlsSession(ssl.SSLObject):
    """What OpenSSL knows of one connection; for a context's `sslobject_class`."""

    asked_host: str | None = NO_NAME
    """The host that a client asks for, where that was listened to; None: it asked for none."""


class TlsSocket:
    """Owns a socket that does not wait; what can't be done now raises ssl.SSLWantReadError or SSLWantWriteError."""

    __slots__ = (
        "_empty",
        "_ending",
        "_fed",
        "_given",
        "_incoming",
        "_is_over",
        "_left",
        "_next",
        "_outgoing",
        "_owed",
        "_read_into",
        "_reads",
        "_records",
        "_tail",
        "_torn",
        "_unpaid",
        "raw",
        "session",
    )

    def __init__(self, sock: socket.socket, context: ssl.SSLContext, host: str | None) -> None:
        """With `host` as its client, else as its server. Raises ValueError for a host that can't be asked for."""
        context.sslobject_class = TlsSession
        self._incoming, self._outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        session = context.wrap_bio(
            self._incoming, self._outgoing, server_side=host is None, server_hostname=host or None
        )
        assert isinstance(session, TlsSession), "as the context has it"
        self.session = session
        self.raw = sock
        # Typeshed has it read into a bytearray only, and tell nothing.
        self._read_into = cast("Callable[[int, memoryview], int]", session.read)
        self._left = memoryview(b"")
        """What is encrypted and was not taken yet."""
        self._owed = 0
        """Bytes that are in it, and that whoever sends has not been told of."""
        self._fed = self._given = self._unpaid = 0
        """Bytes of the last piece, what came of it, and what nothing came of."""
        self._records = self._reads = self._empty = 0
        """Records that ended in what was fed last, how often something came of it, and how many hold nothing so far,
        beyond one for each that does.
        """
        self._next, self._tail = 0, b""
        """Where the next record begins, from the end of the last piece on, and how that ended where it begins there."""
        self._torn = -1
        """Bytes that have come of a record that is not whole; less than none where OpenSSL is to say what there is."""
        self._is_over = False
        """Whether others are to have their turn before more is read."""
        self._ending: Exception | None = None
        """What ended the connection behind what was given last."""

    def do_handshake(self) -> None:
        """A step of it; what there is to say is said in any case."""
        try:
            self._step()
        finally:
            self._flush()

    def _step(self) -> None:
        while True:
            try:
                self.session.do_handshake()
            except ssl.SSLWantReadError:
                if not self._flush():
                    raise ssl.SSLWantWriteError from None
                if not self._feed():
                    raise
            else:
                self._fed = self._records = 0
                if not self._flush():
                    raise ssl.SSLWantWriteError
                return

    def recv_into(self, room: memoryview) -> int | None:
        """Bytes that were received into `room`; 0 at the end, None where there are none yet.

        Less than all means that nothing is left, or that others are to have their turn before the socket is read again
        (which None says once more to who asks again nevertheless); it then is readable. Raises OSError and ValueError,
        behind what came before.
        """
        if self._ending is not None or self._is_over:
            self._go_on()
            return None
        received = 0
        try:
            while received < len(room):
                count = self._read(room[received:])
                if count == 0:
                    self._end(None, received)
                    return received
                received += count or 0
                self._given += count or 0
                self._reads += count is not None
                if count and (received == len(room) or self._incoming.pending or self.session.pending()):
                    continue
                # To ask OpenSSL once more where it has nothing would cost an exception to hear so.
                if not self._has_earned_more() or not self._feed():
                    break
        except (OSError, ValueError) as error:
            self._torn = -1
            # OpenSSL has an alert ready that tells the other side what was wrong.
            with suppress(OSError):
                self._flush()
            if not received:
                raise
            self._end(error, received)
            return received
        if not received:
            self._is_over = False
            return None
        return received

    def _read(self, room: memoryview) -> int | None:
        """What OpenSSL has; None: nothing yet. Raises OSError and ValueError."""
        if self._incoming.pending <= self._torn and not self.session.pending():
            # No record is whole: to ask would cost an exception to hear so.
            return None
        try:
            return self._read_into(len(room), room)
        except ssl.SSLWantReadError:
            return None

    def _go_on(self) -> None:
        """Begin another turn, unless the last one found the end. Raises OSError and ValueError."""
        self._is_over = False
        ending, self._ending = self._ending, None
        try:
            if ending is not None:
                raise ending
        finally:
            # It would keep this frame, and the frame it.
            del ending

    def _end(self, error: Exception | None, received: int) -> None:
        """Keep it for who asks again; who waits before that hears of it, although all was read."""
        self._ending, self._torn = error, -1
        if received:
            with suppress(OSError):
                self.raw.shutdown(socket.SHUT_RD)

    def _has_earned_more(self) -> bool:
        """Whether another piece may be read in this turn, by what the last one held. Raises EmptyRecords."""
        fed, given = self._fed, self._given
        self._fed = self._given = 0
        # Each record that holds something pays for one of full size: some pad theirs, so that nobody sees how long
        # they are.
        self._unpaid = 0 if given else self._unpaid + fed
        self._empty = max(0, self._empty + self._records - 2 * self._reads)
        self._records = self._reads = 0
        if self._unpaid > UNPAID_BYTES_MAX or self._empty > EMPTY_RECORDS_MAX:
            raise EmptyRecords(ONLY_KEYS)
        if self._outgoing.pending:
            # A record with new keys (KeyUpdate) is answered by one.
            self._flush()
            if self._outgoing.pending > UNSENT_BYTES_MAX:
                raise EmptyRecords(ONLY_KEYS)
        if not fed:
            return True
        if fed < PIECE_BYTES:
            # Less came than was asked for, so the socket is empty.
            return False
        self._is_over = (fed - given) * POOR_SHARE > fed
        return not self._is_over

    def _feed(self) -> bool:
        """Whether there was something to read, be it the end. Raises OSError."""
        try:
            count = self.raw.recv_into(_piece)
        except BlockingIOError:
            return False
        if count:
            self._count_records(count)
            self._incoming.write(_piece[:count])
        else:
            self._incoming.write_eof()
            self._torn = -1
        self._fed = count
        return True

    def _count_records(self, count: int) -> None:
        """Count those that end in the piece: the header of one may have begun at the end of the last piece."""
        at, tail, begin = self._next, self._tail, -1
        if at > 0:
            self._records += at <= count
        while at + HEADER_BYTES <= count:
            high, low = at + HEADER_BYTES - 2, at + HEADER_BYTES - 1
            size = (_piece[high] if high >= 0 else tail[high]) << 8 | (_piece[low] if low >= 0 else tail[low])
            begin, at = at, at + HEADER_BYTES + size
            self._records += at <= count
        if self._next > count:
            self._torn += count if self._torn >= 0 else 0
        elif at == count:
            self._torn = 0
        else:
            is_data = begin >= 0 and at - begin <= PIECE_BYTES and _piece[begin : begin + 3] == DATA_HEADER
            self._torn = count - begin if at > count and is_data else -1
        self._next = at - count
        if self._next < 0:
            self._tail = (tail + _piece[:count])[1 - HEADER_BYTES :]

    def send(self, data: memoryview) -> int:
        """How many bytes have left; 0: the same bytes are to come again, with or without more behind them."""
        if not self._owed:
            self._owed = self.session.write(data[:RECORD_BYTES_MAX])
        if not self._flush():
            return 0
        sent, self._owed = self._owed, 0
        return sent

    def _flush(self) -> bool:
        """Whether all that is encrypted has left."""
        while self._left or self._outgoing.pending:
            left = self._left or memoryview(self._outgoing.read())
            try:
                self._left = left[self.raw.send(left) :]
            except BlockingIOError:
                self._left = left
                return False
        return True

    def say_goodbye(self) -> None:
        """Tell the other end that this is the end and not a cut, as far as it takes that now; raises nothing."""
        with suppress(OSError, ValueError):
            # It does not wait for the other end to say the same, so it nearly always "wants to read".
            self.session.unwrap()
        with suppress(OSError):
            self._flush()
