"""Commands of Flight SQL without a driver: as bytes of protocol buffers."""

import pyarrow.flight

PACKAGE = "type.googleapis.com/arrow.flight.protocol.sql."


def number(value):
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def field(place, value):
    if isinstance(value, int):
        return number(place << 3) + number(value)
    value = value.encode() if isinstance(value, str) else value
    return number(place << 3 | 2) + number(len(value)) + value


def command(name, *fields):
    body = b"".join(field(place, value) for place, value in fields)
    return field(1, PACKAGE + name) + field(2, body)


def fields(message):
    """The fields of a message, by their places."""
    found, at = {}, 0

    def read():
        nonlocal at
        value = shift = 0
        while True:
            byte = message[at]
            at += 1
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value

    while at < len(message):
        key = read()
        if key & 7 == 0:
            found[key >> 3] = read()
        else:
            length = read()
            found[key >> 3] = bytes(message[at : at + length])
            at += length
    return found


class Client:
    def __init__(self, address, options=None, **more):
        self.client = pyarrow.flight.FlightClient(address, **more)
        self.options = options or pyarrow.flight.FlightCallOptions(timeout=30)

    def info(self, sql, transaction=b""):
        query = command("CommandStatementQuery", (1, sql), *([(2, transaction)] if transaction else []))
        return self.client.get_flight_info(pyarrow.flight.FlightDescriptor.for_command(query), self.options)

    def get(self, ticket):
        return self.client.do_get(ticket, self.options).read_all().to_pydict()

    def ask(self, sql, transaction=b""):
        return self.get(self.info(sql, transaction).endpoints[0].ticket)

    def act(self, name, body):
        """The fields of what an action answers."""
        answers = list(self.client.do_action(pyarrow.flight.Action(name, body), self.options))
        return fields(fields(answers[0].body.to_pybytes())[2]) if answers else {}

    def begin(self):
        return self.act("BeginTransaction", command("ActionBeginTransactionRequest"))[1]

    def end(self, transaction, how):
        self.act("EndTransaction", command("ActionEndTransactionRequest", (1, transaction), (2, how)))


def fails(act, what):
    try:
        act()
    except BaseException as error:
        # What is cancelled pyarrow takes for Ctrl-C.
        said = f"{error} {error.__context__}"
        assert what in said, f"{said} does not say {what}"
        return
    raise AssertionError(f"it was done, and should say {what}")
