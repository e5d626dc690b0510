"""A client of the server's HTTP, with nothing but Python's own library: `client.py URL PART [ADDRESS OF THRIFT]`."""

import base64
import json
import socket
import struct
import sys
import threading
import time
import urllib.error
import urllib.parse
import urllib.request

URL = sys.argv[1]


def ask(method, path, body=None, **headers):
    """The status, the headers and the body of an answer."""
    names = {name.replace("_", "-"): value for name, value in headers.items()}
    if isinstance(body, (dict, list)):
        body, names = json.dumps(body).encode(), {"Content-Type": "application/json", **names}
    elif isinstance(body, str):
        body = body.encode()
    request = urllib.request.Request(URL + path, data=body, method=method, headers=names)
    try:
        with urllib.request.urlopen(request, timeout=30) as answer:
            return answer.status, answer.headers, answer.read()
    except urllib.error.HTTPError as error:
        return error.code, error.headers, error.read()


def sql(text, params=None, path="/sql", **headers):
    status, _, body = ask("POST", path, {"sql": text, "params": params}, **headers)
    answer = json.loads(body)
    assert status == 200, answer
    return answer


def rows(text, params=None, **headers):
    return sql(text, params, **headers)["rows"]


def is_equal(one, other):
    assert one == other, f"{one!r} is not {other!r}"


def forms():
    """Keeps away: a value that is another in one form than in the others, and digits that are lost."""
    sql("create table f (id bigint primary key, name text, price decimal(12, 2), at timestamp, raw blob, ok boolean)")
    insert = "insert into f values ($1, $2, $3, $4::timestamp, $5, $6)"
    price = {"type": "decimal(12,2)", "value": "1234567890.12"}
    sql(insert, [9007199254740993, 'a "b", c', price, "2026-01-31 10:11:12.5", {"base64": "AP8="}, True])
    sql(insert, [-1, None, None, None, None, None])
    sql(insert, [2, "", {"type": "decimal(12,2)", "value": "0.10"}, "1900-01-01 00:00:00", {"base64": ""}, False])
    query = {"sql": "select * from f order by id desc"}
    answer = sql(query["sql"])
    is_equal([column["name"] for column in answer["columns"]], ["id", "name", "price", "at", "raw", "ok"])
    is_equal([column["type"] for column in answer["columns"]],
             ["bigint", "text", "decimal(12,2)", "timestamp", "blob", "boolean"])
    first = ["9007199254740993", 'a "b", c', "1234567890.12", "2026-01-31 10:11:12.5", "AP8=", True]
    is_equal(answer["rows"][0], first)
    is_equal(answer["rows"][2], [-1, None, None, None, None, None])
    is_equal((answer["tag"], answer["count"], answer["affected"]), ("SELECT", 3, None))
    status, _, body = ask("POST", "/sql?format=objects", query)
    is_equal(json.loads(body)["rows"][1]["price"], "0.10")
    status, headers, body = ask("POST", "/sql", query, Accept="application/x-ndjson")
    is_equal(headers["Content-Type"], "application/x-ndjson")
    lines = [json.loads(line) for line in body.splitlines()]
    is_equal(list(lines[0].values()), first)
    status, headers, body = ask("POST", "/sql", query, Accept="text/csv")
    is_equal(body.decode().splitlines()[1].split(",")[0], "9007199254740993")
    status, headers, body = ask("POST", "/sql", query, Accept="text/plain")
    assert b"(3 rows)" in body and b"1234567890.12" in body, body
    status, _, body = ask("POST", "/sql?format=parquet", query)
    is_equal((body[:4], body[-4:]), (b"PAR1", b"PAR1"))
    status, headers, body = ask("POST", "/sql?format=arrow", query)
    is_equal((status, body[-8:]), (200, b"\xff\xff\xff\xff\x00\x00\x00\x00"))
    is_equal(ask("POST", "/sql?format=xml", query)[0], 400)
    is_equal(ask("POST", "/sql", query, Accept="image/png")[0], 406)
    # What is loaded again is what it was.
    for form in ["csv", "ndjson", "parquet", "arrow"]:
        _, _, body = ask("POST", f"/sql?format={form}", {"sql": "select id, price, at, ok from f"})
        status, _, told = ask("POST", f"/tables/again_{form}/load?mode=create&format={form}", body)
        is_equal((status, json.loads(told).get("rows")), (200, 3))
        # Texts have no types: there a fraction is read as a double.
        sums = "sum(id::bigint)::text" + ("" if form in ("csv", "ndjson") else ", sum(price)::text, max(at)::text")
        is_equal(rows(f"select {sums} from again_{form}"), rows(f"select {sums} from f"))


def errors():
    """Keeps away: errors without a place, a code, a status of their own, and half results that look whole."""
    status, headers, body = ask("POST", "/sql", {"sql": "select\n * from nothing"})
    problem = json.loads(body)
    is_equal((status, headers["Content-Type"]), (404, "application/problem+json"))
    is_equal((problem["code"], problem["kind"]), ("42P01", "not_found"))
    for text, status, code in [("selec 1", 400, "42601"), ("select 1/0", 422, "22012"), ("select nope(1)", 404, "42883")]:
        got, _, body = ask("POST", "/sql", {"sql": text})
        is_equal((got, json.loads(body)["code"]), (status, code))
    sql("create table e (id int primary key)")
    sql("insert into e values (1)")
    got, _, body = ask("POST", "/sql", {"sql": "insert into e values (1)"})
    is_equal((got, json.loads(body)["code"]), (422, "23505"))
    is_equal(ask("POST", "/sql", {"sql": "select 1", "sq": 1})[0], 400)
    is_equal(ask("POST", "/sql", "{", Content_Type="application/json")[0], 400)
    is_equal(ask("POST", "/sql", "x", Content_Type="image/png")[0], 415)
    is_equal(ask("GET", "/sql?query=select%201%20as%20n")[0], 200)
    is_equal(ask("GET", "/sql?query=delete%20from%20e")[0], 405)
    is_equal(ask("GET", "/nothing")[0], 404)
    is_equal(ask("DELETE", "/sql")[0], 405)
    # The rows before the one that fails have gone: the transfer breaks off.
    late = "select 1 / (500000 - n) from range(1000000) t(n)"
    try:
        request = urllib.request.Request(URL + "/sql?format=ndjson", data=late.encode(), method="POST",
                                         headers={"Content-Type": "text/plain"})
        with urllib.request.urlopen(request, timeout=30) as answer:
            answer.read()
        raise AssertionError("half a result looks whole")
    except urllib.error.HTTPError:
        pass  # it failed before its first rows were sent
    except OSError:
        pass
    except Exception as error:
        assert "IncompleteRead" in type(error).__name__, error


def batches():
    """Keeps away: half a batch that stays."""
    sql("create table b (id int primary key)")
    statements = ["insert into b values (1)", {"sql": "insert into b values ($1)", "params": [2]}, "select count(*) from b"]
    status, _, body = ask("POST", "/batch", {"statements": statements})
    results = json.loads(body)["results"]
    is_equal((status, results[1]["affected"], results[2]["rows"]), (200, 1, [[2]]))
    status, _, body = ask("POST", "/batch", {"statements": ["insert into b values (3)", "insert into b values (1)"]})
    is_equal((status, json.loads(body)["statement"]), (422, 1))
    is_equal(rows("select count(*) from b"), [[2]])
    is_equal(ask("POST", "/batch", {"statements": ["begin"]})[0], 400)
    ask("POST", "/batch", {"statements": ["insert into b values (4)", "insert into b values (1)"], "transaction": False})
    is_equal(rows("select count(*) from b"), [[3]])


def sessions():
    """Keeps away: transactions that leak into other requests, or stay for ever."""
    sql("create table s (id int primary key)")
    session = json.loads(ask("POST", "/sessions")[2])["session"]
    sql("begin", Ambo_Session=session)
    sql("insert into s values (1)", Ambo_Session=session)
    is_equal(rows("select count(*) from s", Ambo_Session=session), [[1]])
    is_equal(rows("select count(*) from s"), [[0]])
    sql("commit", Ambo_Session=session)
    is_equal(rows("select count(*) from s"), [[1]])
    sql("begin", Ambo_Session=session)
    sql("insert into s values (2)", Ambo_Session=session)
    is_equal(ask("DELETE", f"/sessions/{session}")[0], 204)
    is_equal(rows("select count(*) from s"), [[1]])
    is_equal(ask("POST", "/sql", {"sql": "select 1"}, Ambo_Session=session)[0], 404)
    idle = json.loads(ask("POST", "/sessions?idle_ms=300")[2])["session"]
    sql("begin", Ambo_Session=idle)
    time.sleep(2)
    is_equal(ask("POST", "/sql", {"sql": "select 1"}, Ambo_Session=idle)[0], 404)
    # A batch in a transaction is a part of it.
    session = json.loads(ask("POST", "/sessions")[2])["session"]
    sql("begin", Ambo_Session=session)
    is_equal(ask("POST", "/batch", {"statements": ["insert into s values (3)"]}, Ambo_Session=session)[0], 200)
    is_equal(ask("POST", "/batch", {"statements": ["insert into s values (4)", "insert into s values (1)"]},
                 Ambo_Session=session)[0], 422)
    is_equal(rows("select count(*) from s", Ambo_Session=session), [[2]])
    sql("rollback", Ambo_Session=session)
    is_equal(rows("select count(*) from s"), [[1]])


def keys():
    """Keeps away: keys that become others on their way, and changes of what another has changed."""
    is_equal(ask("GET", "/kv/k/a")[0], 404)
    is_equal(ask("PUT", "/kv/k/a", b"1")[0], 404)
    is_equal(ask("PUT", "/kv/k")[0], 201)
    status, headers, _ = ask("PUT", "/kv/k/a", b"1")
    is_equal(status, 201)
    tag = headers["ETag"]
    status, headers, body = ask("GET", "/kv/k/a")
    is_equal((status, body, headers["ETag"]), (200, b"1", tag))
    is_equal(ask("GET", "/kv/k/a", If_None_Match=tag)[0], 304)
    is_equal(ask("PUT", "/kv/k/a", b"2", If_None_Match="*")[0], 412)
    is_equal(ask("PUT", "/kv/k/a", b"2", If_Match=tag)[0], 204)
    is_equal(ask("PUT", "/kv/k/a", b"3", If_Match=tag)[0], 412)
    is_equal(ask("DELETE", "/kv/k/a", If_Match=tag)[0], 412)
    is_equal(ask("DELETE", "/kv/k/a")[0], 204)
    is_equal(ask("DELETE", "/kv/k/a")[0], 404)
    odd = bytes(range(1, 256))
    path = "/kv/k/" + urllib.parse.quote(odd, safe="")
    is_equal(ask("PUT", path, odd)[0], 201)
    is_equal(ask("GET", path)[2], odd)
    is_equal(json.loads(ask("GET", "/kv/k")[2])["key_base64"], base64.b64encode(odd).decode())
    ask("DELETE", path)
    changes = [{"key": f"n{n:03}", "value": str(n)} for n in range(100)]
    is_equal(json.loads(ask("POST", "/kv/k", changes)[2]), {"changes": 100, "were_there": 0})
    bad = [{"op": "delete", "key": "n000"}, {"key": "n001", "value": "x", "if_none_match": "*"}]
    is_equal(ask("POST", "/kv/k", bad)[0], 412)

    def listed(query):
        return [json.loads(line)["key"] for line in ask("GET", f"/kv/k?{query}")[2].splitlines()]

    is_equal(len(listed("")), 100)
    is_equal(listed("prefix=n00&limit=2"), ["n000", "n001"])
    is_equal(listed("after=n001&limit=2"), ["n002", "n003"])
    is_equal(listed("reverse&limit=2"), ["n099", "n098"])
    is_equal(listed("from=n010&to=n012&keys"), ["n010", "n011"])
    is_equal(json.loads(ask("GET", "/kv/k?prefix=n01&count")[2]), {"count": 10})
    # Many who count: each sees what the others did.
    ask("PUT", "/kv/k/count", b"0")

    def count():
        for _ in range(20):
            while True:
                _, headers, body = ask("GET", "/kv/k/count")
                if ask("PUT", "/kv/k/count", str(int(body) + 1), If_Match=headers["ETag"])[0] == 204:
                    break

    threads = [threading.Thread(target=count) for _ in range(4)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    is_equal(ask("GET", "/kv/k/count")[2], b"80")
    sql("create table columns (id int primary key)")
    is_equal(ask("GET", "/kv/columns/a")[0], 400)


def loads():
    """Keeps away: half a file that stays in a table."""
    sql("create table l (id int primary key, name text)")
    status, _, body = ask("POST", "/tables/l/load", "id,name\n1,a\n2,\n", Content_Type="text/csv")
    is_equal((status, json.loads(body)["rows"]), (200, 2))
    status, _, body = ask("POST", "/tables/l/load", "id,name\n3,c\nx,d\n", Content_Type="text/csv")
    problem = json.loads(body)
    assert status in (400, 422) and "the body" in problem["detail"] and "/tmp" not in problem["detail"], problem
    is_equal(rows("select count(*) from l"), [[2]])
    lines = '{"id": 5, "name": "e"}\n{"id": 6}\n'
    is_equal(ask("POST", "/tables/l/load", lines, Content_Type="application/x-ndjson")[0], 200)
    is_equal(rows("select id, name from l order by id desc"), [[6, None], [5, "e"], [2, None], [1, "a"]])
    is_equal(ask("POST", "/tables/none/load", "a\n1\n", Content_Type="text/csv")[0], 404)
    is_equal(ask("POST", "/tables/l/load", "a\n1\n", Content_Type="image/png")[0], 415)


def guards():
    """Keeps away: pages of other places that work with the database of whoever looks at them."""
    for headers in [{"Host": "evil.example"}, {"Origin": "http://evil.example"}, {"Origin": "null"},
                    {"Sec_Fetch_Site": "cross-site"}, {"Sec_Fetch_Site": "same-site"}]:
        status = ask("POST", "/sql", "select 1", Content_Type="text/plain", **headers)[0]
        assert status in (403, 421), (headers, status)
    is_equal(ask("POST", "/sql", "select 1", Content_Type="text/plain", Origin=URL)[0], 200)
    status, headers, _ = ask("GET", "/")
    assert status == 200 and "default-src 'none'" in headers["Content-Security-Policy"]
    is_equal(headers["X-Content-Type-Options"], "nosniff")
    metrics = ask("GET", "/metrics")[2].decode()
    assert "ambo_http_statements_total" in metrics and "# TYPE ambo_tables gauge" in metrics, metrics
    is_equal(json.loads(ask("GET", "/health")[2])["status"], "ok")
    is_equal(json.loads(ask("GET", "/openapi.json")[2])["openapi"], "3.1.0")


ENDLESS = "with recursive t (n) as (select 1 union all select n % 7 + 1 from t) select max(n) from t"


def running():
    found = json.loads(ask("GET", "/queries")[2])["queries"]
    return [query for query in found if query["state"] == "active" and "recursive" in query["sql"]]


def until(what, seconds=5):
    end = time.time() + seconds
    while not what():
        assert time.time() < end, "it did not happen"
        time.sleep(0.02)


def ends():
    """Keeps away: statements that go on when nobody waits for them."""
    got = []
    thread = threading.Thread(target=lambda: got.append(ask("POST", "/sql", {"sql": ENDLESS})))
    thread.start()
    until(running)
    is_equal(ask("DELETE", f"/queries/{running()[0]['id']}")[0], 202)
    thread.join(5)
    is_equal((got[0][0], json.loads(got[0][2])["code"]), (499, "57014"))
    status, _, body = ask("POST", "/sql?timeout_ms=200", {"sql": ENDLESS})
    is_equal((status, json.loads(body)["code"]), (408, "57014"))
    until(lambda: not running())
    # A client that goes away.
    host, port = URL.removeprefix("http://").split(":")
    body = json.dumps({"sql": ENDLESS})
    with socket.create_connection((host, int(port))) as client:
        head = f"POST /sql HTTP/1.1\r\nHost: {host}:{port}\r\nContent-Type: application/json\r\n"
        client.sendall(f"{head}Content-Length: {len(body)}\r\n\r\n{body}".encode())
        until(running)
    until(lambda: not running())


def results():
    """Keeps away: windows with other rows than the result has."""
    status, _, body = ask("POST", "/results", {"sql": "select n, 'r' || n as name from range(100000) t(n) order by n"})
    first = json.loads(body)
    is_equal((status, first["rows"][:2]), (200, [[0, "r0"], [1, "r1"]]))
    path = f"/results/{first['result']}"
    until(lambda: json.loads(ask("GET", path)[2])["done"])
    last = json.loads(ask("GET", f"{path}?offset=99998&limit=10")[2])
    is_equal((last["rows"], last["total"]), ([[99998, "r99998"], [99999, "r99999"]], 100000))
    middle = json.loads(ask("GET", f"{path}?offset=8190&limit=5")[2])
    is_equal([row[0] for row in middle["rows"]], list(range(8190, 8195)))
    is_equal(ask("DELETE", path)[0], 204)
    is_equal(ask("GET", path)[0], 404)


def tables():
    """Keeps away: a catalog that leaves out what was made."""
    sql("create table c (id int primary key, name text default 'x') storage = column")
    sql("create index by_name on c (name)")
    found = json.loads(ask("GET", "/tables")[2])["tables"]
    assert any(table["name"] == "c" and table["storage"] == "column" for table in found), found
    table = json.loads(ask("GET", "/tables/c")[2])
    is_equal([column["name"] for column in table["columns"]], ["id", "name"])
    is_equal([index["name"] for index in table["indexes"]], ["by_name"])
    assert "CREATE TABLE" in table["create"].upper(), table
    is_equal(ask("GET", "/tables/nothing")[0], 404)
    catalog = json.loads(ask("GET", "/catalog")[2])
    assert "abs" in catalog["functions"] and any(column["table"] == "c" for column in catalog["columns"])


def keks_http():
    """Keeps away: another order of bytes, or other words, than those of KeksDB's own client."""
    def command(name, body=None, **parameters):
        query = "&".join(f"{key}={value}" for key, value in parameters.items())
        status, _, answer = ask("GET" if body is None else "POST", f"/api1/{name}?{query}", body)
        return status, answer

    def record(key, value):
        size = 14 + len(key) + len(value)
        return struct.pack(">ihh", size, 1, len(key)) + key + struct.pack(">hi", 1, len(value)) + value

    place = {"DATABASE_NAME": "shop", "TABLE_NAME": "Items"}
    is_equal(command("create_db", DATABASE_NAME="shop"), (200, b""))
    status, answer = command("create_db", DATABASE_NAME="SHOP")
    is_equal((status, sorted(json.loads(answer))), (500, ["error", "errorClass", "message"]))
    is_equal(command("create_table", ENGINE_NAME="bplus", BTREE_ORDER=400, **place), (200, b""))
    assert "SHOP" in json.loads(command("get_databases")[1])
    is_equal(json.loads(command("get_tables", DATABASE_NAME="shop")[1]), ["ITEMS"])
    is_equal(json.loads(command("get_table_parameters", **place)[1])["engine"]["BTREE_ORDER"], "400")
    is_equal(command("put_entity", KEY_NAME="k1", VALUE_DATA="v1", **place), (200, b""))
    is_equal(command("put_entity", b"\x00\xff", KEY_NAME="k2", **place), (200, b""))
    is_equal(command("get_entity", KEY_NAME="k2", **place), (200, b"\x00\xff"))
    is_equal(command("get_entity", KEY_NAME="none", **place), (200, b""))
    is_equal(command("put_batch_of_entities", record(b"k3", b"v3") + record(b"k4", b"v4"), **place)[0], 200)
    query = {"MIN_VALUE": "k1", "IS_MIN_INCLUSIVE": False, "MAX_VALUE": "k3", "IS_MAX_INCLUSIVE": True, "LIMIT": 10}
    is_equal(command("get_records", json.dumps(query), **place), (200, record(b"k2", b"\x00\xff") + record(b"k3", b"v3")))
    is_equal(command("get_records_cnt", json.dumps(query), **place), (200, b"2"))
    is_equal(command("remove_entity", KEY_NAME="k2", **place)[0], 200)
    is_equal(command("get_entity", KEY_NAME="k2", **place), (200, b""))
    for name in ["optimize_table", "flush_table", "make_checkpoint", "drop_table"]:
        is_equal((name, command(name, **place)[0]), (name, 200))
    is_equal(command("drop_db", DATABASE_NAME="shop")[0], 200)


class Wire:
    """A connection to the port of Thrift."""

    def __init__(self):
        host, port = sys.argv[3].split(":")
        self.file = socket.create_connection((host, int(port)), timeout=20).makefile("rwb")

    def send(self, data):
        self.file.write(data)
        self.file.flush()

    def take(self, form):
        form = ">" + form
        return struct.unpack(form, self.file.read(struct.calcsize(form)))[0]

    def bytes(self):
        return self.file.read(self.take("i"))


def sized(data):
    data = data.encode() if isinstance(data, str) else data
    return struct.pack(">i", len(data)) + data


def keks_thrift():
    """Keeps away: another order of bytes than that of KeksDB's own client."""
    wire = Wire()

    def command(name, *parts, **properties):
        data = b"\0" + sized(name) + b"".join(sized(part) for part in parts)
        if not parts:
            pairs = b"".join(sized(key) + sized(value) for key, value in properties.items())
            data += b"\x0b\x0b" + struct.pack(">i", len(properties)) + pairs
        wire.send(data)
        if wire.take("b"):
            raise LookupError(wire.bytes(), wire.bytes())

    place = {"DATABASE_NAME": "keks", "TABLE_NAME": "t"}
    command("CREATE_DB", DATABASE_NAME="keks")
    command("CREATE_TABLE", ENGINE_NAME="lsm", **place)
    command("PUT_ENTITY", "keks", "t", "a", b"\x00\x01")
    command("GET_ENTITY", "keks", "t", "a")
    is_equal(wire.bytes(), b"\x00\x01")
    command("GET_ENTITY", "keks", "t", "none")
    is_equal(wire.bytes(), b"")
    command("GET_TABLES", DATABASE_NAME="keks")
    is_equal((wire.take("b"), wire.take("i"), wire.bytes()), (11, 1, b"T"))
    command("GET_RECORDS_CNT", LIMIT="5", **place)
    is_equal(wire.take("q"), 1)
    try:
        command("DROP_TABLE", DATABASE_NAME="keks", TABLE_NAME="none")
        raise AssertionError("a table is dropped that is not there")
    except LookupError as error:
        assert b"NONE" in error.args[1], error
    command("REMOVE_ENTITY", "keks", "t", "a")
    command("DROP_DB", DATABASE_NAME="keks")


def service():
    """Keeps away: a service that clients made of ambo.thrift do not understand."""
    wire = Wire()
    text = lambda number, data: b"\x0b" + struct.pack(">h", number) + sized(data)

    def call(name, fields=b"", framed=False):
        message = struct.pack(">I", 0x80010001) + sized(name) + struct.pack(">i", 7) + fields + b"\0"
        wire.send(struct.pack(">i", len(message)) + message if framed else message)
        if framed:
            wire.take("i")
        is_equal((wire.take("I"), wire.bytes().decode(), wire.take("i")), (0x80010002, name, 7))

    call("ping")
    is_equal(wire.take("b"), 0)
    call("createTable", text(1, "thrift"))
    is_equal(wire.take("b"), 0)
    for framed in [False, True]:
        call("put", text(1, "thrift") + text(2, b"k") + text(3, b"\x00v"), framed)
        is_equal(wire.take("b"), 0)
        call("get", text(1, "thrift") + text(2, b"k"), framed)
        # Field 0, a struct, in it field 1, bytes; then both ends.
        is_equal((wire.take("b"), wire.take("h"), wire.take("b"), wire.take("h"), wire.bytes()), (12, 0, 11, 1, b"\x00v"))
        is_equal(wire.take("h"), 0)
    call("begin", b"\x02\x00\x01\x00")
    is_equal(wire.take("b"), 0)
    call("remove", text(1, "thrift") + text(2, b"k"))
    is_equal(wire.take("b"), 0)
    call("exists", text(1, "thrift") + text(2, b"k"))
    is_equal((wire.take("b"), wire.take("h"), wire.take("b"), wire.take("b")), (2, 0, 0, 0))
    call("rollback")
    is_equal(wire.take("b"), 0)
    call("count", text(1, "thrift"))
    is_equal((wire.take("b"), wire.take("h"), wire.take("q"), wire.take("b")), (10, 0, 1, 0))
    call("get", text(1, "nothing") + text(2, b"k"))
    is_equal((wire.take("b"), wire.take("h"), wire.take("b"), wire.take("h"), wire.bytes()), (12, 1, 11, 1, b"42P01"))
    # What is no Thrift ends the connection, and nothing else.
    wrong = Wire()
    wrong.send(b"\xff" * 64)
    is_equal(wrong.file.read(), b"")
    is_equal(rows("select count(*) from thrift"), [[1]])


globals()[sys.argv[2]]()
