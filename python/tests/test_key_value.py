"""Key-value tables as mappings."""

from __future__ import annotations

import random
from collections.abc import MutableMapping

import pytest

import ambo

@pytest.mark.parametrize(("kind", "keys"), [
    ("bytes", [b"", b"\0", b"a", b"a\0", b"\xff", b"\xff\xff"]),
    ("str", ["", "A", "a", "ä", "\U0010ffff"]),
    ("int", [-(2**63), -5, 0, 5, 2**63 - 1]),
])
@pytest.mark.parametrize("value", ["bytes", "str", "int"])
def test_all_kinds_are_in_order(con: ambo.Connection, kind, keys, value) -> None:
    kv = con.kv("kv", key=kind, value=value)
    make = {"bytes": lambda n: bytes([n]), "str": lambda n: f"v{n}", "int": lambda n: n}[value]
    shuffled = list(enumerate(keys))
    random.Random(5).shuffle(shuffled)
    for n, key in shuffled:
        kv[key] = make(n)
    assert list(kv) == keys and list(reversed(kv)) == keys[::-1]
    assert list(kv.items()) == [(key, make(n)) for n, key in enumerate(keys)]
    assert list(kv.values()) == [make(n) for n in range(len(keys))]
    assert list(kv.range(keys[1], keys[3])) == [(keys[1], make(1)), (keys[2], make(2))]
    assert list(kv.range(keys[1], keys[3], start_inclusive=False, stop_inclusive=True)) == [(keys[2], make(2)), (keys[3], make(3))]
    assert [key for key, _ in kv.range(stop=keys[2], reverse=True, limit=1)] == [keys[1]]
    assert kv.count() == len(kv) == len(keys) and kv.count(keys[1], keys[3]) == 2
    cursor = kv.cursor()
    assert cursor.seek(keys[2], "gt") and cursor.key == keys[3] and cursor.value == make(3)
    assert cursor.prev() and cursor.key == keys[2] and not cursor.seek(keys[0], "lt") and not cursor.valid
    assert con.execute("select count(*) from kv").fetchone() == (len(keys),)


def test_a_mapping_is_one(con: ambo.Connection) -> None:
    kv = con.kv("kv")
    assert isinstance(kv, MutableMapping)
    kv.update({b"a": b"1", b"ab": b"2", b"b": b"3"})
    assert kv == {b"a": b"1", b"ab": b"2", b"b": b"3"} and kv != {b"a": b"1"} and kv != 5
    assert list(kv.prefix(b"a")) == [(b"a", b"1"), (b"ab", b"2")]
    assert kv.get(b"x") is None and kv.get(b"x", b"d") == b"d" and kv.pop(b"x", None) is None and kv.setdefault(b"a", b"9") == b"1"
    assert (b"a", b"1") in kv.items() and b"3" in kv.values() and b"a" in kv.keys()
    with pytest.raises(KeyError) as raised:
        kv[b"x"]
    assert raised.value.args == (b"x",)
    for wrong in ("a", 5, None):
        with pytest.raises(TypeError):
            kv[wrong]
    kv[bytearray(b"buffer")] = memoryview(b"view")
    assert kv[b"buffer"] == b"view"
    with pytest.raises(OverflowError):
        con.kv("ints", key="int")[2**63]
    with pytest.raises(ambo.ProgrammingError):
        con.kv("kv", key="int")
    kv.clear()
    assert not kv and len(kv) == 0


def test_keys_that_are_integers_have_sums(con: ambo.Connection) -> None:
    kv = con.kv("kv", key="int", value="bytes")
    assert kv.sum_keys() == 0
    kv.update({n: b"" for n in (2**63 - 1, 2**63 - 2, -5, 7)})
    assert kv.sum_keys() == 2**64 - 1 and kv.sum_keys(-5, 7) == -5
    with con.transaction():
        kv[100] = b""
        assert kv.sum_keys(0, 1000) == 107
    with pytest.raises(ambo.ProgrammingError, match="no sum"):
        con.kv("texts", key="str").sum_keys()


def test_pairs_are_those_of_their_moment(con: ambo.Connection) -> None:
    kv = con.kv("kv", key="int", value="int")
    kv.update({n: n for n in range(100)})
    for key in kv:
        del kv[key]
        kv[key + 1000] = key
    assert len(kv) == 100 and min(kv) == 1000


def test_writes_join_the_transaction(con: ambo.Connection, path: str) -> None:
    kv = con.kv("kv", key="str", value="int")
    with pytest.raises(ZeroDivisionError), con.transaction():
        kv["a"] = 1
        kv.update(b=2, c=3)
        assert dict(kv) == {"a": 1, "b": 2, "c": 3}
        assert con.execute("select sum(value)::int from kv").fetchone() == (6,)
        1 / 0
    assert dict(kv) == {}
    with con.transaction():
        kv["a"] = 1
        with pytest.raises(KeyError), con.transaction():
            kv["a"] = 2
            raise KeyError
        assert kv["a"] == 1
    assert dict(kv) == {"a": 1}
    before = con.snapshot()
    with con.transaction(read_only=True):
        assert kv["a"] == 1
        with pytest.raises(ambo.ProgrammingError, match="read only"):
            kv["a"] = 2
    kv["a"] = 5
    assert before[kv]["a"] == 1 and kv["a"] == 5 and list(before[kv].items()) == [("a", 1)]
    with pytest.raises(ambo.ProgrammingError):
        before[kv]["a"] = 1


def test_a_batch_is_one_commit(con: ambo.Connection) -> None:
    one, other = con.kv("one", key="str", value="str"), con.kv("other", key="int", value="bytes")
    with con.batch() as batch:
        batch.put(one, "a", "1")
        batch.put(other, 5, b"5")
        batch.delete(one, "missing")
        assert len(batch) == 3 and len(one) == 0
    assert one["a"] == "1" and other[5] == b"5"
    with pytest.raises(KeyError), con.batch() as batch:
        batch.put(one, "b", "2")
        raise KeyError
    assert "b" not in one
    with pytest.raises(TypeError):
        con.batch().put(one, 5, "x")


def test_retry_runs_again_after_a_conflict(path: str) -> None:
    con, other = ambo.connect(path), ambo.connect(path)
    mine, theirs = con.kv("kv", key="str", value="int"), other.kv("kv", key="str", value="int")
    mine["n"] = 0
    attempts = []

    def act(_: ambo.Connection) -> int:
        attempts.append(1)
        before = mine["n"]
        if len(attempts) < 3:
            theirs["n"] = theirs["n"] + 10
        mine["n"] = before + 1
        return before

    assert con.retry(act) == 20 and mine["n"] == 21 and len(attempts) == 3
    con.close()
    other.close()


def test_a_value_is_read_into_what_is_there(con: ambo.Connection) -> None:
    kv = con.kv("kv")
    kv[b"long"], kv[b"none"] = b"x" * 10_000, b""
    into = bytearray(b"before")
    assert kv.get(b"long", into=into) is into and into == b"x" * 10_000
    assert kv.get(b"none", into=into) is into and into == b""
    assert kv.get(b"gone", 5, into=into) == 5
    view = memoryview(into)
    with pytest.raises(BufferError):
        kv.get(b"long", into=into)
    view.release()
    with pytest.raises(TypeError, match="values are bytes"):
        numbers = con.kv("numbers", key="str", value="int")
        numbers["one"] = 1
        numbers.get("one", into=into)
