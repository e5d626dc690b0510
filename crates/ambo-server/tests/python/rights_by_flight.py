"""What a role may do by Flight SQL. Says nothing where all is right.

The arguments: the address, "denied" or "granted", and a role and its password. What is granted are rights to table `open` and sequence `numbers`.
"""

import base64
import sys

import pyarrow
import pyarrow.flight

from flight_sql import Client, command, fails, field

ADDRESS, HOW, ROLE, PASSWORD = sys.argv[1:]
DENIED = "permission denied"


def client():
    key = base64.b64encode(f"{ROLE}:{PASSWORD}".encode())
    options = pyarrow.flight.FlightCallOptions(timeout=30, headers=[(b"authorization", b"Basic " + key)])
    return Client(f"grpc://{ADDRESS}", options)


def ingest(of, table, rows, if_missing=2):
    """Puts rows into a table; if_missing: 1 makes it, 2 fails."""
    options = field(1, if_missing) + field(2, 2)
    body = command("CommandStatementIngest", (1, options), (2, table))
    descriptor = pyarrow.flight.FlightDescriptor.for_command(body)
    writer, reader = of.client.do_put(descriptor, rows.schema, of.options)
    with writer:
        writer.write_table(rows)
        writer.done_writing()
        reader.read()


def put(of, body):
    descriptor = pyarrow.flight.FlightDescriptor.for_command(body)
    writer, reader = of.client.do_put(descriptor, pyarrow.schema([]), of.options)
    with writer:
        writer.done_writing()
        reader.read()


def tables(of):
    body = command("CommandGetTables")
    info = of.client.get_flight_info(pyarrow.flight.FlightDescriptor.for_command(body), of.options)
    return of.get(info.endpoints[0].ticket)["table_name"]


def main():
    of = client()
    rows = pyarrow.table({"id": pyarrow.array([7], pyarrow.int32()), "n": pyarrow.array([70], pyarrow.int32())})
    for always in [
        "select * from secret",
        "create table made (id int)",
        "drop table open",
        "grant select on secret to public",
        "select setval('numbers', 100)",
        "select nextval('others')",
        "delete from open",
        "update open set n = 1",
    ]:
        fails(lambda: of.ask(always), DENIED)
    fails(lambda: of.act("CreatePreparedStatement", command("ActionCreatePreparedStatementRequest", (1, "select * from secret"))), DENIED)
    fails(lambda: put(of, command("CommandStatementUpdate", (1, "insert into secret values (9)"))), DENIED)
    fails(lambda: ingest(of, "secret", rows.select(["id"])), DENIED)
    fails(lambda: ingest(of, "made", rows, 1), DENIED)
    assert "secret" not in tables(of), tables(of)
    transaction = of.begin()
    fails(lambda: of.ask("select * from secret", transaction), DENIED)
    of.end(transaction, 2)
    if HOW == "denied":
        for now in ["select * from open", "insert into open values (8, 80)", "select nextval('numbers')"]:
            fails(lambda: of.ask(now), DENIED)
        fails(lambda: ingest(of, "open", rows), DENIED)
        assert "open" not in tables(of), tables(of)
    else:
        ingest(of, "open", rows)
        assert of.ask("select n from open where id = 7") == {"n": [70]}
        assert list(of.ask("select nextval('numbers')").values()) == [[1]]
        assert "open" in tables(of), tables(of)


main()
