"""What is found by its connection, without a look at the rest."""

from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bridge.coordinators.by_connection import Line, OfConnections

KEYS, CONNECTIONS = st.integers(0, 5), st.integers(0, 3)


def holds(found: OfConnections[int, int], expected: Mapping[int, int]) -> bool:
    """Whether it is this dictionary, in this order, and nothing is kept of a connection of which there is nothing."""
    by_connection: dict[int, list[int]] = {}
    for key, connection in expected.items():
        by_connection.setdefault(connection, []).append(key)
    listed = {connection: sorted(keys) for connection, keys in found._keys_of.items()}
    return list(found.items()) == list(expected.items()) and listed == {
        connection: sorted(keys) for connection, keys in by_connection.items()
    }


@given(
    st.lists(
        st.tuples(st.just("put"), KEYS, CONNECTIONS)
        | st.tuples(st.just("pop"), KEYS, CONNECTIONS)
        | st.tuples(st.just("lose"), KEYS, CONNECTIONS)
    )
)
def test_it_is_a_dictionary_from_which_connections_go(steps: list[tuple[str, int, int]]) -> None:
    """Beside a plain one in which all is looked through."""
    found, expected = OfConnections[int, int](lambda connection: connection), dict[int, int]()
    for what, key, connection in steps:
        if what == "put":
            found[key] = expected[key] = connection
        elif what == "pop":
            assert found.pop(key, None) == expected.pop(key, None)
        else:
            gone = {one: it for one, it in expected.items() if it == connection}
            assert sorted(found.of(connection)) == sorted(gone)
            assert found.lose(connection) == gone
            expected = {one: it for one, it in expected.items() if one not in gone}
        assert holds(found, expected)
        assert (len(found), key in found, found.get(key)) == (len(expected), key in expected, expected.get(key))
    found.clear()
    assert holds(found, {})


def test_line_gives_out_what_came_first_and_forgets_what_came_by_a_connection() -> None:
    """But for what stays all the same: somebody has said that he leaves."""
    line: Line[tuple[int, str]] = Line(lambda item: item[0])
    for item in ((1, "a"), (2, "b"), (1, "leaves"), (2, "c"), (3, "d")):
        line.append(item)
    line.forget(1, lambda item: item[1] == "leaves")
    assert list(line) == [(2, "b"), (1, "leaves"), (2, "c"), (3, "d")]
    assert line.popleft() == (2, "b")
    assert line.take(lambda item: item[0] == 2) == [(2, "c")]
    line.append((2, "e"))
    assert (line.take(), len(line), bool(line)) == ([(1, "leaves"), (3, "d"), (2, "e")], 0, False)
    with pytest.raises(IndexError):
        line.popleft()
