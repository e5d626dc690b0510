"""IPython and notebooks: Ctrl-C at the prompt, statements by jupysql."""

from __future__ import annotations

import sys
import time

import pytest

pexpect = pytest.importorskip("pexpect")
pytest.importorskip("IPython")


def test_control_c_at_the_prompt_ends_a_query_and_leaves_the_transaction() -> None:
    shell = pexpect.spawn(
        sys.executable,
        ["-m", "IPython", "--simple-prompt", "--no-banner", "--no-confirm-exit", "--colors=NoColor"],
        encoding="utf-8",
        timeout=60,
        echo=False,
    )
    try:
        shell.expect(r"In \[1\]: ")
        shell.sendline("import ambo; con = ambo.connect(); _ = con.execute('create table t (a int)'); con.begin(); _ = con.execute('insert into t values (1)')")
        shell.expect(r"In \[2\]: ")
        shell.sendline("print('be' + 'gun'); con.execute('select count(*) from range(100000000000) as a (n)').fetchall()")
        shell.expect("begun")
        time.sleep(0.7)
        asked = time.monotonic()
        shell.sendintr()
        shell.expect("KeyboardInterrupt")
        took = time.monotonic() - asked
        shell.expect(r"In \[3\]: ")
        shell.sendline("print(con.in_transaction, con.execute('select * from t').fetchall())")
        shell.expect(r"True \[\(1,\)\]")
    finally:
        shell.close(force=True)
    # 0.3 s, and what IPython and a busy machine take to draw where it stopped.
    assert took < 1.0, took


def test_jupysql_runs_statements(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    # It tells its makers what it is used for, unless it is told not to.
    monkeypatch.setenv("PLOOMBER_STATS_ENABLED", "false")
    pytest.importorskip("sql.magic")
    # Where the wheel is installed, SQLAlchemy finds the dialect by itself.
    import ambo_sqlalchemy  # noqa: F401
    from IPython.core.interactiveshell import InteractiveShell

    shell = InteractiveShell.instance()
    try:
        for line in ("%load_ext sql", "%sql ambo://", "%sql create table t (a int, b text)", "%sql insert into t values (1, 'one'), (2, 'two')"):
            shell.run_cell(line).raise_error()
        found = shell.run_cell("%sql select b from t order by a")
        found.raise_error()
        assert [tuple(row) for row in found.result] == [("one",), ("two",)]
        assert list(found.result.DataFrame()["b"]) == ["one", "two"]
    finally:
        InteractiveShell.clear_instance()
