"""Faults as people read them."""

from bridge.config.faults import ConfigError, Fault, FaultCode


def test_fault_without_a_line_names_its_source() -> None:
    """The command line has no lines."""
    fault = Fault(code=FaultCode.MISSING, source="command line", key="bootstrap", seen="nothing", allowed="HOST:PORT")
    assert (
        str(ConfigError([fault])) == "command line: bootstrap: nothing; allowed: HOST:PORT; add the key [EB-CONFIG-008]"
    )
