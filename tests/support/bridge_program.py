"""The bridge as a program of its own, for tests: address, rules and settings are its arguments.

It must not know what is done through it.
"""

import logging
import sys
from collections.abc import Sequence
from functools import partial

import trio

from bridge.app import serve
from bridge.config import GroupRule, load
from bridge.migration.route import Road


def main(arguments: Sequence[str]) -> None:
    """Serve until SIGTERM; arguments: broker, listener, comma-separated globs of embedded groups, KEY=VALUE ..."""
    bootstrap, listen, globs, *settings = arguments
    logging.basicConfig(level=logging.INFO, stream=sys.stderr, format="%(asctime)s %(levelname)s %(name)s %(message)s")
    rules = [GroupRule(glob, Road.EMBEDDED) for glob in globs.split(",") if glob]
    config = load(None, {}, [f"bootstrap={bootstrap}", f"listen={listen}", *settings], rules)
    trio.run(partial(serve, config, ready=partial(print, flush=True)))


if __name__ == "__main__":
    main(sys.argv[1:])
