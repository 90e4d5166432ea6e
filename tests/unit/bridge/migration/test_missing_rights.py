"""The sentence about a right that the bridge's user lacks."""

import shlex

from bridge.migration.missing_rights import Resource, Right, refused_on
from translators.dialects.errors import ErrorCode


def test_sentence_names_the_right_and_the_command_that_gives_it() -> None:
    """What can be copied into a shell, whatever the name."""
    told = Right("Describe", Resource.GROUP, "it's mine").missing()
    assert told.startswith("the bridge's user lacks the right DESCRIBE on the group \"it's mine\"; give it, with ")
    assert shlex.split(told.partition("NAME: ")[2]) == [
        *("kafka-acls.sh", "--bootstrap-server", "BROKER", "--add", "--allow-principal", "User:NAME"),
        *("--operation", "Describe", "--group", "it's mine"),
    ]


def test_cluster_has_no_name() -> None:
    """The tool's option stands alone."""
    told = Right("Describe", Resource.CLUSTER).missing()
    assert "the right DESCRIBE on the cluster; give it" in told
    assert told.endswith("--operation Describe --cluster")


def test_codes_say_on_what_a_right_is_missing() -> None:
    """Every other error is about something else."""
    found = {code: refused_on(code) for code in ErrorCode if refused_on(code) is not None}
    assert found == {
        ErrorCode.GROUP_AUTHORIZATION_FAILED: Resource.GROUP,
        ErrorCode.TOPIC_AUTHORIZATION_FAILED: Resource.TOPIC,
        ErrorCode.CLUSTER_AUTHORIZATION_FAILED: Resource.CLUSTER,
    }
