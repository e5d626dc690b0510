"""What drivers may ask of Flight SQL and those of these tests do not. Says nothing where all is right.

The arguments: the address of Flight, and that of HTTP. There may be three sessions.
"""

import json
import sys
import threading
import time
import urllib.request

import pyarrow
import pyarrow.flight

from flight_sql import Client, command, fails, field, fields

ENDLESS = "with recursive t (n) as (select 1 union all select n % 7 + 1 from t) select max(n) from t"


def http(path, **more):
    request = urllib.request.Request(f"http://{sys.argv[2]}{path}", **more)
    with urllib.request.urlopen(request, timeout=30) as answer:
        return answer.read().decode()


def tickets(client):
    ticket = client.info("insert into t values (2)").endpoints[0].ticket
    assert client.ask("select count(*) as n from t") == {"n": [1]}, "what is said of a statement does not run it"
    client.get(ticket)
    fails(lambda: client.get(ticket), "a ticket is good for once")
    assert client.ask("select count(*) as n from t") == {"n": [2]}
    fails(lambda: client.get(pyarrow.flight.Ticket(b"nothing")), "")
    fails(lambda: client.get(pyarrow.flight.Ticket(command("TicketStatementQuery", (1, b"x")))), "no such ticket")
    fails(lambda: client.get(pyarrow.flight.Ticket(command("CommandPreparedStatementQuery", (1, b"x")))), "no such prepared")
    fails(lambda: client.act("Nothing", b""), "Nothing")
    fails(lambda: list(client.client.list_flights()), "mplemented")


def schemas(client):
    def of(name, *parts):
        descriptor = pyarrow.flight.FlightDescriptor.for_command(command(name, *parts))
        return client.client.get_schema(descriptor, client.options).schema

    query = (1, "select id, 'x' as name from t")
    assert of("CommandStatementQuery", query).names == ["id", "name"]
    assert of("CommandGetTableTypes").names == ["table_type"]
    fails(lambda: of("CommandStatementQuery", (1, "select missing from t")), "missing")
    # Nothing is kept for a ticket that nobody has: there may be 1,000 of them.
    for _ in range(1001):
        of("CommandStatementQuery", query)


def savepoints(client):
    transaction = client.begin()
    client.ask("insert into t values (10)", transaction)
    named = command("ActionBeginSavepointRequest", (1, transaction), (2, 'a "point"'))
    point = client.act("BeginSavepoint", named)[1]
    client.ask("insert into t values (11)", transaction)
    client.act("EndSavepoint", command("ActionEndSavepointRequest", (1, point), (2, 2)))
    client.ask("insert into t values (12)", transaction)
    fails(lambda: client.act("EndSavepoint", command("ActionEndSavepointRequest", (1, point), (2, 0))), "release or a rollback")
    client.act("EndSavepoint", command("ActionEndSavepointRequest", (1, point), (2, 1)))
    fails(lambda: client.end(transaction, 0), "a commit or a rollback")
    client.end(transaction, 1)
    assert client.ask("select id from t where id >= 10 order by id") == {"id": [10, 12]}
    fails(lambda: client.ask("select 1", transaction), "no such session")
    fails(lambda: client.end(transaction, 1), "no such session")
    fails(lambda: client.ask("select 1", b"\xff"), "UTF-8")


def busy(client):
    # One request of a transaction at a time, and as many sessions as there may be.
    transaction = client.begin()
    reader = client.client.do_get(client.info("select range from range(0, 10000000)", transaction).endpoints[0].ticket, client.options)
    reader.read_chunk()
    fails(lambda: client.ask("select 1", transaction), "one at a time")
    reader.cancel()
    others = [client.begin(), client.begin()]
    fails(lambda: client.ask("select 1"), "there are 3 sessions already")
    for other in others:
        client.end(other, 2)
    end = time.monotonic() + 10
    while True:
        try:
            client.end(transaction, 2)
            break
        except pyarrow.flight.FlightError:
            # What was sent last is still being ended.
            assert time.monotonic() < end
            time.sleep(0.01)


def cancels(client):
    info = client.info("insert into t values (99)")
    asked = field(1, info.serialize())
    answered = list(client.client.do_action(pyarrow.flight.Action("CancelFlightInfo", asked), client.options))
    assert fields(answered[0].body.to_pybytes()) == {1: 1}
    fails(lambda: client.get(info.endpoints[0].ticket), "no such ticket")
    info = client.info(ENDLESS)
    query = command("ActionCancelQueryRequest", (1, info.serialize()))
    told = []
    timer = threading.Timer(0.3, lambda: told.append(client.act("CancelQuery", query)))
    timer.start()
    fails(lambda: client.get(info.endpoints[0].ticket), "57014")
    timer.join()
    assert told == [{1: 1}], told
    # Another door sees it, and ends it.
    timer = threading.Thread(target=stop_by_http)
    timer.start()
    fails(lambda: client.ask(ENDLESS), "57014")
    timer.join()
    # A deadline is the client's, and the statement ends with it.
    short = Client(sys.argv[1], pyarrow.flight.FlightCallOptions(timeout=0.3))
    fails(lambda: short.ask(ENDLESS), "eadline")
    end = time.monotonic() + 2
    while "active" in http("/queries") and "recursive" in http("/queries"):
        assert time.monotonic() < end, http("/queries")
        time.sleep(0.01)


def stop_by_http():
    end = time.monotonic() + 20
    while time.monotonic() < end:
        for query in json.loads(http("/queries"))["queries"]:
            if query["protocol"] == "flight" and query["state"] == "active":
                http(f"/queries/{query['id']}", method="DELETE")
                return
        time.sleep(0.01)


def limits(client):
    # Of one message, and of what is bound.
    fails(lambda: client.info("select '" + "x" * (2 << 20) + "'"), "too large")
    prepared = client.act("CreatePreparedStatement", command("ActionCreatePreparedStatementRequest", (1, "select $1::text")))
    descriptor = pyarrow.flight.FlightDescriptor.for_command(command("CommandPreparedStatementQuery", (1, prepared[1])))
    batch = pyarrow.record_batch([pyarrow.array(["x" * 1000])], ["$1"])

    def bind(times):
        writer, reader = client.client.do_put(descriptor, batch.schema, client.options)
        with writer:
            for _ in range(times):
                writer.write_batch(batch)
            writer.done_writing()
            reader.read()

    fails(lambda: bind(3000), "ingest the rows")
    bind(2)
    info = client.client.get_flight_info(descriptor, client.options)
    fails(lambda: client.get(info.endpoints[0].ticket), "2 were bound")
    bind(1)
    info = client.client.get_flight_info(descriptor, client.options)
    assert len(list(client.get(info.endpoints[0].ticket).values())[0][0]) == 1000
    client.act("ClosePreparedStatement", command("ActionClosePreparedStatementRequest", (1, prepared[1])))
    fails(lambda: bind(1), "no such prepared")


def broken(client):
    # Rows that do not come to their end.
    options = field(1, 2) + field(2, 2)
    ingest = command("CommandStatementIngest", (1, options), (2, "t"))
    schema = pyarrow.schema([("id", pyarrow.int32())])
    descriptor = pyarrow.flight.FlightDescriptor.for_command(ingest)
    before = client.ask("select count(*) as n from t")
    writer, _ = client.client.do_put(descriptor, schema, pyarrow.flight.FlightCallOptions(timeout=1))
    for nth in range(1000, 1100):
        writer.write_batch(pyarrow.record_batch([pyarrow.array([nth], pyarrow.int32())], schema=schema))
    time.sleep(2.5)
    fails(writer.close, "eadline")
    writer, reader = client.client.do_put(descriptor, schema, client.options)
    writer.write_batch(pyarrow.record_batch([pyarrow.array([2000], pyarrow.int32())], schema=schema))
    writer.done_writing()
    assert fields(reader.read().to_pybytes()) == {1: 1}
    writer.close()
    end = time.monotonic() + 5
    while client.ask("select count(*) as n from t") != {"n": [before["n"][0] + 1]}:
        assert time.monotonic() < end, client.ask("select count(*) as n from t")
        time.sleep(0.05)


def ingested(client):
    # Rows of a transaction are rolled back with it. (ADBC's driver 1.13 does not say which transaction its rows are of.)
    transaction = client.begin()
    schema = pyarrow.schema([("id", pyarrow.int32())])
    ingest = command("CommandStatementIngest", (1, field(1, 2) + field(2, 2)), (2, "t"), (6, transaction))
    writer, reader = client.client.do_put(pyarrow.flight.FlightDescriptor.for_command(ingest), schema, client.options)
    writer.write_batch(pyarrow.record_batch([pyarrow.array([3000, 3001], pyarrow.int32())], schema=schema))
    writer.done_writing()
    assert fields(reader.read().to_pybytes()) == {1: 2}
    writer.close()
    many = "select count(*) as n from t where id >= 3000"
    assert (client.ask(many, transaction), client.ask(many)) == ({"n": [2]}, {"n": [0]})
    client.end(transaction, 2)
    assert client.ask(many) == {"n": [0]}


def types(client):
    info = client.client.get_flight_info(pyarrow.flight.FlightDescriptor.for_command(command("CommandGetXdbcTypeInfo")), client.options)
    assert {"bigint", "text", "decimal"} <= set(client.get(info.endpoints[0].ticket)["type_name"])


def empty(client):
    # A table without rows has its columns.
    ingest = command("CommandStatementIngest", (1, field(1, 1) + field(2, 1)), (2, "none"))
    schema = pyarrow.schema([("id", pyarrow.int32()), ("t", pyarrow.string())])
    writer, reader = client.client.do_put(pyarrow.flight.FlightDescriptor.for_command(ingest), schema, client.options)
    writer.done_writing()
    assert fields(reader.read().to_pybytes()).get(1, 0) == 0
    writer.close()
    assert client.ask("select count(id) as i, count(t) as t from none") == {"i": [0], "t": [0]}


def metrics():
    told = http("/metrics")
    for line in ('ambo_flight_requests_total{method="DoGet",code="0"}', 'ambo_flight_requests_total{method="GetFlightInfo",code="3"}'):
        assert line in told, told


sys.argv[1] = f"grpc://{sys.argv[1]}"
one = Client(sys.argv[1])
for part in (tickets, schemas, savepoints, busy, cancels, broken, ingested, types, empty, limits):
    part(one)
metrics()
