"""A sequence written down as a scenario in the form of tests/conformance/wire/scenarios, to be put among them.

It knows that form, and must not know what is right.
"""

import re
from collections.abc import Iterator

from tests.conformance.random.sequences import Course, Drawn, Move
from tests.support.conformance.steps import Call

USUAL = re.compile(r"(?:owned=\{\}|generation=-1|user_data=None|rack=None|keep=None|parked=False)(?:, )?")
LONG_TEXT = re.compile(r"'x{50,}'")


def scenario_of(drawn: Drawn, kafka: Course) -> str:
    """The sequence as source, with what Kafka parked and when that was answered."""
    lines = "".join(f"        {line},\n" for line in steps_of(drawn, kafka))
    return f'    native(\n        "drawn from seed {drawn.seed}",\n        "K",\n{lines}    ),'


def steps_of(drawn: Drawn, kafka: Course) -> Iterator[str]:
    """Each step, and after it the answers that were waited for since an earlier one."""
    arrived = {one.asked: step for step, seen in enumerate(kafka, 1) for one in seen.answers}
    for number, move in enumerate(drawn.moves, 1):
        text = written(move)
        yield f"parked({text})" if isinstance(move, Call) and arrived.get(number) != number else text
        for asked, step in arrived.items():
            call = drawn.moves[asked - 1]
            if step == number and asked < number and isinstance(call, Call):
                yield f'Await(who="{call.who}")'


def written(move: Move) -> str:
    """One step as source, without what is usual."""
    text = LONG_TEXT.sub('"x" * 5000', repr(move))
    if isinstance(move, Call):
        text = USUAL.sub("", text)
    return text.replace(", )", ")").replace("(, ", "(")
