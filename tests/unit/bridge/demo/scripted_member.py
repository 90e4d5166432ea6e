"""A member process without Kafka: claims the partitions of topic "t" named before "--" until SIGTERM.

It must not know any client library.
"""

import os
import signal
import sys
import time

from bridge.demo.events import Assigned, Ended, EventWriter, Mode, Partition, Revoked, Started, now_ns
from bridge.demo.members.process import parse_member_options

cut = sys.argv.index("--")
partitions = tuple(Partition("t", int(word)) for word in sys.argv[1:cut])
options = parse_member_options(sys.argv[cut + 1 :])
writer = EventWriter(sys.stdout)
signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
writer.write(
    Started(
        at_ns=now_ns(),
        seat=options.name,
        client_id=options.client_id,
        library="scripted",
        library_version="1",
        protocol=options.protocol,
        assignor="",
        instance_id=None,
        pid=os.getpid(),
    )
)
time.sleep(0.05)
writer.write(Assigned(at_ns=now_ns(), partitions=partitions, mode=Mode.EAGER))
signal.sigwait({signal.SIGTERM})
writer.write(Revoked(at_ns=now_ns(), partitions=partitions, mode=Mode.EAGER))
writer.write(Ended(at_ns=now_ns()))
