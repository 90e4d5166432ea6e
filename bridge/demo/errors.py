"""Why the demo could not go on, or a Kafka could not be had: exceptions with a stable code in their message."""


class DemoError(Exception):
    """The demo could not be told to its end; the verdict on a told one is no error.

    The message opens with a code `EB-DEMO-nnn`, then says what happened, the value seen and the next step.
    """


class KafkaLaunchError(Exception):
    """A broker could not be resolved, started or reached; the fault is the machine's or the operator's, not Kafka's.

    The message opens with a code `EB-KAFKA-nnn`, then says what happened, the value seen and the next step.
    """
