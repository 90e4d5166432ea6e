"""Faults as people read them."""

from bridge.config.faults import ConfigError, Fault, FaultCode, error_of, fault_of


def test_fault_without_a_line_names_its_source() -> None:
    """The command line has no lines."""
    fault = Fault(code=FaultCode.MISSING, source="command line", key="bootstrap", seen="nothing", allowed="HOST:PORT")
    assert (
        str(ConfigError([fault])) == "command line: bootstrap: nothing; allowed: HOST:PORT; add the key [EB-CONFIG-008]"
    )


def test_error_about_a_key_says_no_more_of_its_place_than_is_known() -> None:
    """By then a file, variables and the command line are one."""
    error = error_of("listen.ports", "'x' names no port", "NODE=PORT", hint="name one")
    assert str(error) == "configuration: listen.ports: 'x' names no port; allowed: NODE=PORT; name one [EB-CONFIG-004]"
    assert error.faults == (fault_of("listen.ports", "'x' names no port", "NODE=PORT", hint="name one"),)
