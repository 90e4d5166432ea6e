"""Long names are told apart and not kept."""

from translators.dialects.kept_names import NAME_CHARS_MAX, KeptNames, kept_name

LONG = "n" * 32_767


def test_ordinary_name_is_itself_and_a_long_one_is_short_and_its_own() -> None:
    """Names that begin alike are no less different."""
    for name in ("", "orders", "n" * NAME_CHARS_MAX):
        assert kept_name(name) == name
    others = [LONG, LONG[:-1], f"{LONG[:-1]}m", f"{LONG[:-1]}m"]
    kept = [kept_name(name) for name in others]
    assert len(set(kept)) == 3
    assert kept[2] == kept[3]
    assert max(map(len, kept)) < NAME_CHARS_MAX + 40


def test_last_names_are_remembered_and_the_oldest_forgotten() -> None:
    """Also long ones; what is put again is young again."""
    names: KeptNames[int] = KeptNames(2)
    names.put("a", 1)
    names.put(LONG, 2)
    names.put("a", 3)
    names.put("b", 4)
    assert [names.get(one) for one in ("a", LONG, "b", "c")] == [3, None, 4, None]
    assert ("a" in names, LONG in names, len(names)) == (True, False, 2)
    names.put(LONG, 5)
    assert LONG in names
    names.drop(LONG)
    names.drop("nobody's")
    assert (LONG in names, len(names)) == (False, 1)
