"""Why the demo could not go on, as one exception with a stable code in its message.
It must not know which part of the demo raises it.
"""


class DemoError(Exception):
    """The demo could not be told to its end; the verdict on a told one is no error.

    The message opens with a code `EB-DEMO-nnn`, then says what happened, the value seen and the next step.
    """
