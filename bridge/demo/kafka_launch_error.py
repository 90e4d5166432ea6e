"""Why a Kafka broker could not be had, as one exception with a stable code in its message.

It knows no step of the launch; each step raises it with its own code and the way out.
"""


class KafkaLaunchError(Exception):
    """A broker could not be resolved, started or reached; the fault is the machine's or the operator's, not Kafka's.

    The message opens with a code `EB-KAFKA-nnn`, then says what happened, the value seen and the next step.
    """
