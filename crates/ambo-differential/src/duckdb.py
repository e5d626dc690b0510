"""DuckDB as a process: a statement as JSON on a line, and on the next line its answer."""

import datetime
import json
import sys

import duckdb

ROWS_MAX = 50_000
LETTERS = {
    "TINYINT": "I", "SMALLINT": "I", "INTEGER": "I", "BIGINT": "I", "HUGEINT": "I", "UHUGEINT": "I", "BIGNUM": "I",
    "UTINYINT": "I", "USMALLINT": "I", "UINTEGER": "I", "UBIGINT": "I",
    "FLOAT": "R", "DOUBLE": "R", "BOOLEAN": "B", "VARCHAR": "T", "BLOB": "X", "DATE": "A", "TIME": "M",
    "TIMESTAMP": "P", "TIMESTAMP_S": "P", "TIMESTAMP_MS": "P", "TIMESTAMP_NS": "P",
    "TIMESTAMP WITH TIME ZONE": "Z", "UUID": "U", "BIGINT[]": "L",
}
# How values come that Python has in a smaller range.
# What has no end is the greatest and the least number, as it is kept.
ENDLESS = "case when isfinite({{0}}) then {} when {{0}} > date '1970-01-01' then {} when {{0}} < date '1970-01-01' then -{} end"
MOMENT = ENDLESS.format("epoch_us({0})", 2**63 - 1, 2**63 - 1)
NUMBERS = {
    "A": ENDLESS.format("date_diff('day', date '1970-01-01', {0})", 2**31 - 1, 2**31 - 1),
    "M": "epoch_us({0})",
    "P": MOMENT,
    "Z": MOMENT,
    "?": "cast({0} as varchar)",
}


def letter(kind):
    name = str(kind)
    return "D" if name.startswith("DECIMAL") else LETTERS.get(name, "?")


def cell(value, letter):
    if value is None or letter == "B":
        return value
    if letter == "X":
        return bytes(value).hex()
    if letter == "L":
        return "[" + ", ".join("NULL" if item is None else str(item) for item in value) + "]"
    return str(value)


def connect():
    connection = duckdb.connect(":memory:")
    connection.execute("set threads = 1; set integer_division = true; set TimeZone = 'UTC'; set errors_as_json = false; set enable_progress_bar = false")
    return connection


def run(connection, statement):
    word = statement.lstrip("( ").split(None, 1)[0].lower()
    if word in ("select", "with", "values", "from", "table"):
        relation = connection.sql(statement)
        types = "".join(map(letter, relation.types))
        names = ['"' + name.replace('"', '""') + '"' for name in relation.columns]
        columns = [NUMBERS.get(kind, "{0}").format(name) for kind, name in zip(types, names)]
        if any(kind in NUMBERS for kind in types):
            relation = relation.project(", ".join(columns))
        rows = relation.limit(ROWS_MAX + 1).fetchall()
    else:
        connection.execute(statement)
        if connection.description is None:
            return {"n": 0}
        rows = connection.fetchmany(ROWS_MAX + 1)
        names = [column[0] for column in connection.description]
        if names == ["Count"]:
            return {"n": rows[0][0] if rows else 0}
        if " returning " not in statement:
            return {"n": 0}
        types = "".join(letter(column[1]) for column in connection.description)
        if any(kind in NUMBERS for kind in types):
            raise ValueError("RETURNING of dates and times is not compared")
    if len(rows) > ROWS_MAX:
        return {"many": True}
    return {"t": types, "r": [[cell(value, kind) for value, kind in zip(row, types)] for row in rows]}


def main():
    connection = connect()
    for line in sys.stdin:
        statement = json.loads(line)
        try:
            if statement is None:
                connection.close()
                connection = connect()
                answer = {"n": 0}
            else:
                answer = run(connection, statement)
        except Exception as error:
            answer = {"e": str(error)}
        print(json.dumps(answer), flush=True)


main()
