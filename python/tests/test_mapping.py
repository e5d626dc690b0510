"""Key-value tables as Python's own tests have mappings, where those are installed."""

from __future__ import annotations

import pytest

import ambo

mapping_tests = pytest.importorskip("test.mapping_tests")


class TestMapping(mapping_tests.BasicTestMappingProtocol):  # type: ignore[misc]
    """Python's own tests of mappings."""

    type2test = dict

    def setUp(self) -> None:
        self.con = ambo.connect()
        self.count = 0

    def tearDown(self) -> None:
        assert self.con.check() == []
        self.con.close()

    def _reference(self) -> dict:
        return {b"1": b"2", b"key1": b"value1", b"key2": b"1"}

    def _empty_mapping(self):
        self.count += 1
        return self.con.kv(f"kv{self.count}")

    def __init__(self, *args, **kw) -> None:
        super().__init__(*args, **kw)
        self.reference = self._reference().copy()
        key, value = self.reference.popitem()
        self.other = {key: value}
        key, value = self.reference.popitem()
        self.inmapping = {key: value}
        self.reference[key] = value

    def test_update(self) -> None:
        d = self._empty_mapping()
        d.update(self.reference)
        assert dict(d) == self.reference
        d.update(list(self.other.items()))
        assert dict(d) == self.reference | self.other
        for wrong in (42, [42], [(b"a",)]):
            with pytest.raises((TypeError, ValueError)):
                d.update(wrong)
        with pytest.raises(TypeError):
            d.update(named=b"keys are bytes")

    def test_popitem(self) -> None:
        d = self._full_mapping(self.reference)
        assert d.popitem() == max(self.reference.items())
        with pytest.raises(KeyError):
            self._empty_mapping().popitem()
