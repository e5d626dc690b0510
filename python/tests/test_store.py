"""What the store does beside statements and mappings: backups, changes since a moment, ranges, feeds of append tables."""

from __future__ import annotations

import datetime
import pickle
import subprocess
import sys
import threading
from pathlib import Path

import pyarrow
import pytest

import ambo


def test_a_backup_is_a_database_as_it_was(path: str, tmp_path: Path) -> None:
    with ambo.connect(path) as con:
        con.execute("create table t as select value as a from range(100000) as r (value)")
        towns = con.kv("towns", key="str", value="int")
        towns["Bergen"] = 1
        con.settle()
        first = con.backup(tmp_path / "backup")
        assert first.moment == con.moment and first.page_bytes > 0 and first.linked + first.copied > 0
        assert ambo.verify_backup(tmp_path / "backup") == []
        towns["Cork"] = 2
        with ambo.connect(tmp_path / "backup", read_only=True) as then:
            assert then.execute("select count(*) from t").fetchone() == (100_000,)
            assert dict(then.kv("towns", key="str", value="int")) == {"Bergen": 1}
        second = con.backup(tmp_path / "backup")
        assert second.kept == first.linked + first.copied and second.moment > first.moment
        with pytest.raises(ambo.ProgrammingError):
            con.backup(path)
    report = ambo.restore(tmp_path / "backup", tmp_path / "restored")
    assert report.moment == second.moment
    with ambo.connect(tmp_path / "restored") as con:
        assert dict(con.kv("towns", key="str", value="int")) == {"Bergen": 1, "Cork": 2}
        assert con.check() == []
    with pytest.raises(ambo.Error):
        ambo.verify_backup(tmp_path / "none")


BESIDE = """
import sys, ambo
with ambo.connect(sys.argv[1], beside=True) as con:
    con.execute("checkpoint")
    print(con.execute("select count(*) from t").fetchone()[0], con.check())
    try:
        con.execute("delete from t")
    except ambo.Error as error:
        print("beside" in str(error))
"""


def test_another_process_reads_beside_the_one_that_writes(path: str) -> None:
    with ambo.connect(path) as con:
        con.execute("create table t as select value as a from range(1000) as r (value)")
        for more in (0, 7):
            con.execute(f"insert into t select value from range({more}) as r (value)")
            run = subprocess.run(
                [sys.executable, "-c", BESIDE, path], capture_output=True, text=True, timeout=300, check=False
            )
            assert run.stdout.split("\n")[:2] == [f"{1000 + more} []", "True"], run.stderr
        assert con.check() == []


def test_a_backup_of_an_encrypted_database_needs_its_key(path: str, tmp_path: Path) -> None:
    (tmp_path / "key").write_text("ab" * 32)
    options = {"key_file": str(tmp_path / "key")}
    with ambo.connect(path, **options) as con:
        con.kv("towns", key="str", value="int")["Bergen"] = 1
        con.backup(tmp_path / "backup")
    assert ambo.verify_backup(tmp_path / "backup", **options) == []
    with pytest.raises(ambo.Error):
        ambo.verify_backup(tmp_path / "backup")
    ambo.restore(tmp_path / "backup", tmp_path / "again", **options)
    with pytest.raises(ambo.Error):
        ambo.connect(tmp_path / "again")
    with ambo.connect(tmp_path / "again", **options) as con:
        assert dict(con.kv("towns", key="str", value="int")) == {"Bergen": 1}
        assert con.check() == []


def test_changes_come_once_and_in_order(path: str) -> None:
    with ambo.connect(path, keep_log_bytes="64MiB", default_storage="btree") as con:
        con.execute("create table t (id bigint primary key, name text, at timestamp, amount decimal(8, 2))")
        towns = con.kv("towns", key="str", value="int")
        snapshot = con.snapshot()
        assert snapshot.moment == con.moment
        at = datetime.datetime(2026, 1, 2, 3, 4, 5)
        with con.transaction():
            con.execute("insert into t values (1, 'one', ?, 1.5), (2, 'two', null, null)", (at,))
            towns["Bergen"] = 7
        con.execute("delete from t where id = 2")
        towns.clear()
        con.execute("create table u (a int)")

        changes = con.changes(snapshot.moment)
        assert iter(changes) is changes
        commits = list(changes)
        assert all(isinstance(commit, ambo.Commit) for commit in commits)
        first, second, third, fourth = commits
        amount = con.execute("select amount from t").fetchone()
        assert amount is not None
        assert sorted(first.rows) == [
            ambo.Change("main.t", (1,), "written", (1, "one", at, amount[0])),
            ambo.Change("main.t", (2,), "written", (2, "two", None, None)),
            ambo.Change("main.towns", ("Bergen",), "written", ("Bergen", 7)),
        ]
        assert second.rows == [ambo.Change("main.t", (2,), "deleted", None)] and second.ranges == []
        assert third.rows == [] and third.ranges == [ambo.DeletedRange("main.towns", b"", None)]
        assert fourth.defines and not first.defines
        assert changes.until == fourth.moment == con.moment
        assert list(con.changes(changes.until)) == []
        assert [commit.moment for commit in con.changes(second.moment)] == [third.moment, fourth.moment]
        with pytest.raises(ambo.ProgrammingError):
            con.changes(con.moment + 1)
        with pytest.raises(TypeError, match="until"):
            pickle.dumps(changes)
        left = con.changes(snapshot.moment)
    with pytest.raises(ambo.ProgrammingError, match="closed"):
        next(left)


def test_a_load_that_the_log_does_not_have_is_told(path: str) -> None:
    with ambo.connect(path, keep_log_bytes="64MiB") as con:
        con.execute("create table t (a bigint)")
        begin = con.moment
        con.ingest("t", pyarrow.table({"a": range(200_000)}))
        kinds = [type(change) for change in con.changes(begin)]
        assert ambo.Unlogged in kinds


def test_changes_that_are_no_longer_kept_are_an_error(path: str) -> None:
    with ambo.connect(path) as con:
        kv = con.kv("kv")
        for n in range(10):
            kv[b"%d" % n] = b""
        con.flush()
        con.compact()
    with ambo.connect(path) as con, pytest.raises(ambo.NotFoundError):
        con.changes(1)


def test_ranges_are_deleted(con: ambo.Connection) -> None:
    kv = con.kv("kv", key="int", value="str")
    kv.update({n: str(n) for n in range(10)})
    before = con.snapshot()[kv]
    kv.delete_range(2, 5)
    assert list(kv) == [0, 1, 5, 6, 7, 8, 9]
    kv.delete_range(5, 7, start_inclusive=False, stop_inclusive=True)
    assert list(kv) == [0, 1, 5, 8, 9]
    with pytest.raises(KeyError), con.transaction():
        kv.delete_range(8)
        assert list(kv) == [0, 1, 5]
        raise KeyError
    assert list(kv) == [0, 1, 5, 8, 9]
    assert len(before) == 10
    with pytest.raises(ambo.ProgrammingError, match="as it was"):
        before.delete_range(0)
    kv.delete_range()
    assert len(kv) == 0
    texts = con.kv("texts", key="str", value="str")
    texts.update({"a": "", "ab": "", "abc": "", "b": ""})
    texts.delete_prefix("ab")
    assert list(texts) == ["a", "b"]
    with pytest.raises(TypeError):
        texts.delete_prefix(b"a")


def test_who_locks_a_key_is_waited_for(path: str) -> None:
    with ambo.connect(path) as one, ambo.connect(path) as other:
        kv = one.kv("kv", key="str", value="int")
        kv["a"] = 1
        with pytest.raises(ambo.ProgrammingError, match="transaction"):
            kv.lock("a")
        one.begin()
        kv.lock("a")
        of_other = other.kv("kv", key="str", value="int")
        other.begin()
        begun = threading.Event()
        said: list[str] = []

        def write() -> None:
            begun.set()
            of_other.lock("a")
            of_other["a"] = 2
            said.append("written")

        thread = threading.Thread(target=write)
        thread.start()
        begun.wait()
        thread.join(0.2)
        assert said == []
        one.rollback()
        thread.join(10)
        assert said == ["written"]
        other.commit()
        assert kv["a"] == 2


def test_rows_of_a_source_come_once(path: str) -> None:
    with ambo.connect(path) as con:
        con.execute("create table points (x bigint, y double) storage = append")
        feed = con.feed("points", "sensor")
        assert feed.token is None
        assert feed.push(pyarrow.table({"x": range(50_000), "y": [0.5] * 50_000})) == 50_000
        assert con.execute("select count(*) from points").fetchone() == (0,)
        assert feed.checkpoint(b"line 50000") == 50_000
        feed.push(pyarrow.table({"x": [1], "y": [1.5]}))
        layout = feed.record_layout()
        assert layout == {"itemsize": 24, "offsets": {"x": 0, "y": 8}, "nulls": {"x": (16, 0), "y": (16, 1)}}
        assert feed.push_records(bytes(24 * 10)) == 10
        with pytest.raises(ambo.Error, match="whole records"):
            feed.push_records(bytes(23))
        with pytest.raises(ambo.Error):
            con.feed("points", "other").push(pyarrow.table({"z": ["text"]}))
        with pytest.raises(ambo.NotFoundError):
            con.feed("none", "sensor")
    with pytest.raises(ambo.ProgrammingError, match="closed"):
        feed.checkpoint(b"")
    with ambo.connect(path) as con:
        feed = con.feed("points", "sensor")
        assert feed.token == b"line 50000"
        assert feed.checkpoint(b"end") == 0
        assert con.execute("select count(*), sum(x) from points").fetchone() == (50_000, 49_999 * 25_000)
        assert con.check() == []


def test_uqi_sees_the_transaction(con: ambo.Connection) -> None:
    kv = con.kv("numbers", key="int", value="int")
    kv[1] = 10
    with pytest.raises(KeyError), con.transaction():
        kv[2] = 20
        assert con.uqi("SUM($record) FROM numbers")[0][1] == 30
        raise KeyError
    assert con.uqi("SUM($record) FROM numbers")[0][1] == 10
    with con.transaction(read_only=True):
        assert con.uqi("COUNT($key) FROM numbers")[0][1] == 1


def test_space_is_given_back(path: str) -> None:
    with ambo.connect(path, default_storage="btree") as con:
        kv = con.kv("kv")
        kv.update((b"%06d" % n, b"x" * 500) for n in range(20_000))
        con.flush()
        con.compact()
        before = con.info()["figures"]["file_bytes"]
        kv.clear()
        con.vacuum()
        assert con.info()["figures"]["file_bytes"] < before / 2


def test_texts_are_compared_by_their_collation(con: ambo.Connection) -> None:
    con.execute("create table t (name text collate nocase primary key)")
    con.execute("insert into t values ('Ada')")
    assert con.execute("select name from t where name = 'ADA'").fetchall() == [("Ada",)]
    with pytest.raises(ambo.IntegrityError):
        con.execute("insert into t values ('ada')")
