"""Speed and memory of the bridge, with a target and a baseline of the same run: `python -m tests.benchmarks`."""
