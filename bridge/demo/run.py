"""A run of the demo as a user meets it: the report, the figures as JSON, one sentence for a failure, the exit status.
It must not know what the run consists of.
"""

import json
import shutil
import signal
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

from rich.console import Console

from bridge.demo.demo_error import DemoError
from bridge.demo.fleet import FleetError
from bridge.demo.judge import Verdict
from bridge.demo.kafka_launch_error import KafkaLaunchError
from bridge.demo.performance import Interrupted, first_cause, perform
from bridge.demo.programme import Programme
from bridge.demo.report import Report, verdict_report
from bridge.demo.stage import make_stage
from bridge.demo.table import conclusion, draw_report

PROMISED_KEYS = (
    "records_produced",
    "records_lost",
    "records_duplicated",
    "double_ownership",
    "rebalances",
    "members_rolled",
    "members_disturbed",
    "max_stall_ms",
    "protocols_seen",
    "ok",
)
STATUS_OK, STATUS_FAILED, STATUS_SIGNAL = 0, 1, 128


def run_demo(programme: Programme, json_file: TextIO | None) -> int:
    """Run it; returns the exit status: 0 for an ok verdict, 1 for any failure, 128 + N when signal N ended it."""
    stage = make_stage(tui=programme.tui)
    directory = Path(tempfile.mkdtemp(prefix="epochbridge-demo-"))
    status = STATUS_FAILED
    try:
        with _sigterm_as_interrupt():
            verdict = perform(programme, stage, directory)
        _report(stage.console, verdict, json_file)
        status = STATUS_OK if verdict.ok else STATUS_FAILED
    except BaseException as fault:
        cause = first_cause(fault)
        sentence, status = explain(cause)
        if sentence is None:
            raise
        Console(stderr=True).print(sentence, style="red", highlight=False, markup=False, soft_wrap=True)
    finally:
        _tidy(directory, keep=status == STATUS_FAILED)
    return status


def explain(cause: BaseException) -> tuple[str | None, int]:
    """A sentence and the exit status for what ended a run; no sentence for what should not happen at all."""
    match cause:
        case DemoError() | FleetError() | KafkaLaunchError():
            return str(cause), STATUS_FAILED
        case Interrupted(number=number):
            return f"EB-DEMO-010: ended as asked ({cause}); all its processes are gone.", STATUS_SIGNAL + number
        case KeyboardInterrupt():
            sentence = "EB-DEMO-010: ended as asked; all its processes are gone."
            return sentence, STATUS_SIGNAL + signal.SIGINT
        case _:
            return None, STATUS_FAILED


def promised(report: Report) -> Report:
    """The figures that `--json` writes: exactly these keys, in this order."""
    return {key: report[key] for key in PROMISED_KEYS}


def _report(console: Console, verdict: Verdict, json_file: TextIO | None) -> None:
    console.print(draw_report(verdict))
    console.print(conclusion(verdict), highlight=False, markup=False, soft_wrap=not console.is_terminal)
    if json_file is not None:
        json_file.write(json.dumps(promised(verdict_report(verdict)), indent=2) + "\n")
        json_file.flush()


def _tidy(directory: Path, *, keep: bool) -> None:
    if keep:
        Console(stderr=True).print(f"What every process wrote is kept in {directory}.", highlight=False, soft_wrap=True)
    else:
        shutil.rmtree(directory, ignore_errors=True)


@contextmanager
def _sigterm_as_interrupt() -> Iterator[None]:
    # Only counts while a Kafka is fetched and started; later the run listens for signals itself.
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
