"""How long it takes from the start of the process to the first answer, the import of every module included.

It must not know what the bridge does meanwhile.
"""

import sys
import time
from pathlib import Path

from bridge.demo.kafka_broker import ask_api_versions
from tests.benchmarks.bridge_child import bridge_child
from tests.benchmarks.broker import BenchBroker
from tests.benchmarks.figures import Baseline, Figure, Target, middle, spread
from tests.benchmarks.processes import command

ROUNDS = 7
FIRST_ANSWER_S = Target(bound=0.5)
BARE = "import sys, trio; trio.run(trio.sleep, 0); print('ready', flush=True); sys.stdin.read()"


def measure_startup(broker: BenchBroker, directory: Path) -> list[Figure]:
    """Start the bridge and a bare trio program in turns; wall time to the first answer, and CPU until then."""
    answered: list[float] = []
    cpu: list[float] = []
    bare: list[float] = []
    bare_cpu: list[float] = []
    # An installer compiles what it installs, so the first start does that here, whatever the shell says of it.
    compiled = {"PYTHONDONTWRITEBYTECODE": "", "PYTHONPYCACHEPREFIX": str(directory / "compiled")}
    with bridge_child(broker.bootstrap, directory, environment=compiled):
        pass
    for _ in range(ROUNDS):
        with command([sys.executable, "-c", BARE], directory, compiled) as child:
            bare.append(child.ready_s)
            bare_cpu.append(child.cpu_s())
        with bridge_child(broker.bootstrap, directory, environment=compiled) as (address, child):
            host, _, port = address.rpartition(":")
            begin = time.monotonic()
            ask_api_versions(host, int(port))
            answered.append(child.ready_s + time.monotonic() - begin)
            cpu.append(child.cpu_s())
    name = "python that imports trio"
    return [
        Figure(
            name="from start to first answer",
            value=middle(answered),
            unit="s",
            target=FIRST_ANSWER_S,
            baseline=Baseline(name=name, value=middle(bare)),
            note=spread(answered),
        ),
        Figure(
            name="CPU until the first answer",
            value=middle(cpu),
            unit="s",
            baseline=Baseline(name=name, value=middle(bare_cpu)),
            note=spread(cpu),
        ),
    ]
