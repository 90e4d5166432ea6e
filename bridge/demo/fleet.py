"""A fleet of client processes around one group: each started, read, stopped or killed, until all settle."""

import contextlib
import os
import signal
import subprocess
from collections import Counter
from collections.abc import AsyncIterator, Callable, Collection, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import trio

from bridge.demo.events import Committed, Consumed, Event, EventError, Failed, Partition, Produced, decode_event, now_ns
from bridge.demo.fleet_specs import MemberSpec, ProducerSpec, Target, member_command, producer_command
from bridge.demo.judge_evidence import ClientLog, Evidence, Step
from bridge.demo.judge_ownership import owned_at

# ------------------------------------------------------------------------------------ fleet process
# One client process of the fleet: started, read line by line, stopped or killed by its own id.

LINE_BYTES_MAX = 1 << 20
READ_BYTES = 1 << 16
ERROR_TAIL_CHARS = 2000


class ClientProcess:
    """A running (or dead) client; its events are read by `run`, which lives in the fleet's nursery."""

    def __init__(self, seat: str, number: int, directory: Path) -> None:
        self.seat = seat
        self.number = number
        self.events: list[Event] = []
        self.died_ns: int | None = None
        self.wanted_dead = False
        self.frozen = False
        self.exit_status: int | None = None
        self._errors = directory / f"{number:03d}-{seat}.stderr"
        self._process: trio.Process | None = None
        self._over = trio.Event()

    async def run(self, command: Sequence[str], task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """Start the program and read its events until it has died; on cancellation it is killed."""
        with self._errors.open("wb") as errors:
            self._process = await trio.lowlevel.open_process(
                list(command), stdout=subprocess.PIPE, stderr=errors, start_new_session=True
            )
        try:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(self._wait_death, self._process)
                nursery.start_soon(self._read, self._process)
                task_status.started()
        finally:
            if self._process.returncode is None:
                self._kill_session(self._process)
                with trio.CancelScope(shield=True):
                    await self._process.wait()
        self._over.set()

    @property
    def alive(self) -> bool:
        """Whether the process has started and not died."""
        return self._process is not None and self.died_ns is None

    @property
    def failed(self) -> bool:
        """Whether it died although nobody asked it to, or with another status than 0 although only asked to stop."""
        return self.died_ns is not None and (not self.wanted_dead or self.exit_status not in {0, -9})

    def log(self) -> ClientLog:
        """A snapshot for the judge."""
        return ClientLog(seat=self.seat, number=self.number, events=tuple(self.events), died_ns=self.died_ns)

    def errors(self) -> str:
        """The end of what the process wrote to standard error."""
        return self._errors.read_text(errors="replace")[-ERROR_TAIL_CHARS:] if self._errors.exists() else ""

    def freeze(self) -> None:
        """SIGSTOP: it neither heartbeats nor processes, as under a long garbage collection or on a hung host."""
        if self._process is not None and self.died_ns is None:
            os.killpg(self._process.pid, signal.SIGSTOP)
            self.frozen = True

    def thaw(self) -> None:
        """SIGCONT: it goes on where it was."""
        if self._process is not None and self.died_ns is None:
            os.killpg(self._process.pid, signal.SIGCONT)
        self.frozen = False

    def nudge(self) -> None:
        """SIGUSR1: it does what it was made to do when told to; the programs of this package know nothing of it."""
        if self._process is not None and self.died_ns is None:
            self._process.send_signal(signal.SIGUSR1)

    async def stop(self, grace_s: float) -> None:
        """SIGTERM, and wait until all its events are read; after `grace_s` it is killed and that is written down."""
        self.wanted_dead = True
        if self._process is None or self.died_ns is not None:
            return
        self._process.terminate()
        with trio.move_on_after(grace_s) as waiting:
            await self._over.wait()
        if waiting.cancelled_caught:
            self.events.append(Failed(at_ns=now_ns(), reason=f"still there {grace_s} s after SIGTERM: killed"))
            await self.kill()

    async def kill(self) -> None:
        """SIGKILL, and wait until all its events are read."""
        self.wanted_dead = True
        if self._process is not None and self.died_ns is None:
            self._kill_session(self._process)
        await self._over.wait()

    @staticmethod
    def _kill_session(process: trio.Process) -> None:
        # The whole session: a member may be a wrapper around another program, which must not outlive it.
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)

    async def _wait_death(self, process: trio.Process) -> None:
        self.exit_status = await process.wait()
        self.died_ns = now_ns()

    async def _read(self, process: trio.Process) -> None:
        assert process.stdout is not None, "it was started with a pipe"
        unread = b""
        while chunk := await process.stdout.receive_some(READ_BYTES):
            *lines, unread = (unread + chunk).split(b"\n")
            self._take(lines)
            if len(unread) > LINE_BYTES_MAX:
                self.events.append(Failed(at_ns=now_ns(), reason=f"a line of more than {LINE_BYTES_MAX} bytes dropped"))
                unread = b""

    def _take(self, lines: Sequence[bytes]) -> None:
        for line in lines:
            try:
                self.events.append(decode_event(line.decode(errors="replace")))
            except EventError as error:
                self.events.append(Failed(at_ns=now_ns(), reason=str(error)))


# -------------------------------------------------------------------------------------------- fleet
# A fleet of client processes around one group: starts, stops, kills, rolls members, and waits until all settle.


def unsettled(members: Sequence[ClientLog], partitions: Collection[Partition], since_ns: int, at_ns: int) -> str | None:
    """Why the live `members` are not settled, or None when nothing has changed after `since_ns`.

    While there are partitions for all, each member must own one: a newcomer that has not joined yet is not settled.
    """
    owned = {log.who: owned_at(log, at_ns) for log in members}
    owners = Counter(partition for mine in owned.values() for partition in mine)
    wrong = sorted(f"{p.topic}-{p.partition} has {owners[p]} owners" for p in partitions if owners[p] != 1)
    idle = [who for who, mine in owned.items() if not mine]
    if wrong:
        return "; ".join(wrong)
    if idle and len(members) <= len(partitions):
        return f"{', '.join(idle)} owns nothing yet"
    moving = [log.who for log in members if any(event.at_ns > since_ns for event in log.rebalances())]
    return f"{', '.join(moving)} still changes" if moving else None


def unread(producers: Sequence[ClientLog], members: Sequence[ClientLog]) -> str | None:
    """Which partitions have records that no member has come to yet, or None."""
    ends = {event.partition: event.last for log in producers for event in log.events if isinstance(event, Produced)}
    read: dict[Partition, int] = {}
    for event in (event for log in members for event in log.events):
        if isinstance(event, Consumed):
            read[event.partition] = max(event.last, read.get(event.partition, -1))
    return _behind(ends, {one: read.get(one, -1) for one in ends}, "read up to")


def unconfirmed(members: Sequence[ClientLog], since_ns: int) -> str | None:
    """Which live `members` have not had a commit taken after `since_ns`, or None: a commit proves membership."""
    confirmed = {
        log.who for log in members for event in log.events if isinstance(event, Committed) and event.at_ns > since_ns
    }
    absent = [log.who for log in members if log.who not in confirmed]
    return f"{', '.join(absent)} had no commit taken since" if absent else None


def uncommitted(members: Sequence[ClientLog]) -> str | None:
    """Which partitions have been read farther than they are committed, or None."""
    read: dict[Partition, int] = {}
    committed: dict[Partition, int] = {}
    for event in (event for log in members for event in log.events):
        if isinstance(event, Consumed):
            read[event.partition] = max(event.last + 1, read.get(event.partition, 0))
        elif isinstance(event, Committed):
            committed |= {one: max(offset, committed.get(one, 0)) for one, offset in event.offsets}
    return _behind(read, {one: committed.get(one, 0) for one in read}, "committed")


def _behind(ends: Mapping[Partition, int], reached: Mapping[Partition, int], done: str) -> str | None:
    short = sorted(
        f"{partition.topic}-{partition.partition}: {done} {reached[partition]} of {end}"
        for partition, end in ends.items()
        if reached[partition] < end
    )
    return "; ".join(short) or None


def last_failures(members: Sequence[ClientLog]) -> str:
    """The last thing that went wrong for each member, for error messages."""
    last = {log.who: event.reason for log in members for event in log.events if isinstance(event, Failed)}
    return "; ".join(f"{who}: {reason}" for who, reason in last.items()) or "no member reported a failure"


LOOK_S = 0.05
STOP_GRACE_S = 20.0


class FleetError(Exception):
    """The fleet did not do as asked: EB-FLEET-001 not in time, -002 a client died by itself, -003 no such seat."""


class Fleet:
    """The processes of one run; what they print to standard error is kept in `directory`.

    `partitions` is what must be owned; set it anew when partitions are added.
    """

    def __init__(self, nursery: trio.Nursery, target: Target, partitions: Iterable[Partition], directory: Path) -> None:
        self.partitions = frozenset(partitions)
        self.target = target
        self._nursery = nursery
        self.directory = directory
        self._members: list[ClientProcess] = []
        self._producers: list[ClientProcess] = []
        self._steps: list[Step] = []

    async def start(self, spec: MemberSpec, bootstrap: str | None = None) -> ClientProcess:
        """Start a member process, at another address than the others if one is given; it joins in the background,
        `wait_settled` waits for it.
        """
        member = self._new(spec.seat)
        self._members.append(member)
        await self._nursery.start(member.run, member_command(spec, self._target_at(bootstrap)))
        return member

    async def start_producer(self, spec: ProducerSpec, bootstrap: str | None = None) -> ClientProcess:
        """Start a producer process, at another address if one is given."""
        producer = self._new(spec.seat)
        self._producers.append(producer)
        await self._nursery.start(producer.run, producer_command(spec, self._target_at(bootstrap)))
        return producer

    async def stop(self, seat: str) -> None:
        """Stop the live process of a seat cleanly: commit, leave, close."""
        await self._sitting(seat).stop(STOP_GRACE_S)

    async def kill(self, seat: str) -> None:
        """Kill the live process of a seat hard."""
        await self._sitting(seat).kill()

    def freeze(self, seat: str) -> None:
        """Freeze the live process of a seat; until it is thawed, `wait_settled` does without it."""
        self._sitting(seat).freeze()

    def thaw(self, seat: str) -> None:
        """Let a frozen process go on."""
        self._sitting(seat).thaw()

    def nudge(self, seat: str) -> None:
        """Let the live process of a seat do what its program does on SIGUSR1."""
        self._sitting(seat).nudge()

    async def roll(self, spec: MemberSpec) -> ClientProcess:
        """Stop a seat's process and start another one, of any kind, in its place."""
        await self.stop(spec.seat)
        return await self.start(spec)

    @asynccontextmanager
    async def step(self, name: str, *, is_unnoticed: bool = False) -> AsyncIterator[None]:
        """Mark a step of the story; inside, change something and wait until the fleet is settled again.

        With `is_unnoticed` the judge counts every callback in it.
        """
        began_ns = now_ns()
        yield
        self._steps.append(Step(name=name, began_ns=began_ns, ended_ns=now_ns(), is_unnoticed=is_unnoticed))

    async def wait_settled(self, stable_ms: int = 1500, timeout_s: float = 60.0) -> None:
        """Wait until every partition has one live owner, every live member takes part, and nothing moves any more."""

        def missing() -> str | None:
            at_ns = now_ns()
            return unsettled(self._live(), self.partitions, at_ns - stable_ms * 1_000_000, at_ns)

        await self._wait(missing, "the fleet to settle", timeout_s)

    async def wait_confirmed(self, timeout_s: float = 60.0) -> None:
        """Wait until the coordinator has taken a commit of every live member from now on; records must flow."""
        since_ns = now_ns()
        await self._wait(lambda: unconfirmed(self._live(), since_ns), "a commit of every member", timeout_s)

    async def wait_read(self, timeout_s: float = 60.0) -> None:
        """Wait until members have come to the end of everything produced so far."""
        await self._wait(lambda: unread(self._logs(self._producers), self.logs()), "all records to be read", timeout_s)

    async def wait_committed(self, timeout_s: float = 60.0) -> None:
        """Wait until all that was read is committed, so that whoever is stopped has nothing left to commit."""
        await self._wait(lambda: uncommitted(self.logs()), "all records to be committed", timeout_s)

    async def stop_producers(self) -> None:
        """Stop every producer cleanly; all its records are acknowledged or reported afterwards."""
        for producer in self._producers:
            await producer.stop(STOP_GRACE_S)

    async def stop_all(self) -> None:
        """Stop producers, then all members at once, cleanly."""
        await self.stop_producers()
        async with trio.open_nursery() as nursery:
            for member in self._members:
                nursery.start_soon(member.stop, STOP_GRACE_S)

    def logs(self) -> tuple[ClientLog, ...]:
        """A snapshot of every member's log, dead ones included, in start order."""
        return self._logs(self._members)

    def evidence(self, offsets: Mapping[Partition, int] | None = None) -> Evidence:
        """All that the judge may see; `offsets` as the broker reports them (`read_committed`)."""
        return Evidence(
            producers=self._logs(self._producers), members=self.logs(), steps=tuple(self._steps), offsets=offsets
        )

    def _target_at(self, bootstrap: str | None) -> Target:
        return self.target if bootstrap is None else replace(self.target, bootstrap=bootstrap)

    def _live(self) -> list[ClientLog]:
        return [member.log() for member in self._members if member.alive and not member.frozen]

    @staticmethod
    def _logs(processes: Iterable[ClientProcess]) -> tuple[ClientLog, ...]:
        return tuple(process.log() for process in processes)

    def _new(self, seat: str) -> ClientProcess:
        return ClientProcess(seat, len(self._members) + len(self._producers) + 1, self.directory)

    def _sitting(self, seat: str) -> ClientProcess:
        live = [process for process in (*self._members, *self._producers) if process.seat == seat and process.alive]
        if not live:
            raise FleetError(f"EB-FLEET-003: no live process sits in seat {seat!r}; start one first.")
        return live[-1]

    async def _wait(self, missing: Callable[[], str | None], what: str, timeout_s: float) -> None:
        reason: str | None = "nothing was seen"
        with trio.move_on_after(timeout_s):
            while reason is not None:
                self._check_alive()
                reason = missing()
                await trio.sleep(LOOK_S if reason is not None else 0)
        if reason is not None:
            raise FleetError(
                f"EB-FLEET-001: waited {timeout_s} s for {what}, but {reason}. Last failures: "
                f"{last_failures(self.logs())}. Each client's standard error is in {self.directory}."
            )

    def _check_alive(self) -> None:
        for process in (*self._members, *self._producers):
            if process.failed:
                raise FleetError(
                    f"EB-FLEET-002: {process.seat}#{process.number} died with status {process.exit_status}, unasked. "
                    f"Its standard error ends: {process.errors()}"
                )
