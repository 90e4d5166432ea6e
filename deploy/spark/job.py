"""The program that spark-submit runs: `spark-submit … job.py run --events … --out …`.

It must not know any job; the rest of the code comes beside it, packaged by `deploy.spark.package`.
"""

import sys

import click

from bridge.analytics.command import analytics


def main() -> int:
    """Run one `analytics` command; what it can't do is one sentence and status 1."""
    try:
        analytics.main(prog_name="analytics", standalone_mode=False)
    except click.ClickException as problem:
        problem.show()
        return problem.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(main())
