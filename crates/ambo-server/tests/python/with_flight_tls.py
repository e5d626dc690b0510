"""Flight SQL with a certificate. The arguments: the address, the certificate, and one that is another's."""

import sys

import pyarrow.flight

from flight_sql import Client, fails


def client(certificate, scheme="grpc+tls", **more):
    with open(certificate, "rb") as file:
        certificate = file.read()
    return Client(f"{scheme}://{sys.argv[1]}", tls_root_certs=certificate, override_hostname="localhost", **more)


one = client(sys.argv[2])
fails(lambda: one.ask("select 1"), "token, is needed")
fails(lambda: one.client.authenticate_basic_token("ada", "wrong"), "no role has this password")
header = one.client.authenticate_basic_token("ada", "a secret")
assert header[0] == b"authorization" and header[1].startswith(b"Bearer "), header
one.options = pyarrow.flight.FlightCallOptions(headers=[header], timeout=30)
assert one.ask("select 1 as one") == {"one": [1]}
# A token that was given opens no more than the role may do, and another's nothing.
one.options = pyarrow.flight.FlightCallOptions(headers=[(header[0], header[1][:-1] + b"x")], timeout=30)
fails(lambda: one.ask("select 1"), "no role has this password or token")
fails(lambda: client(sys.argv[3]).ask("select 1"), "ailed")
fails(lambda: Client(f"grpc://{sys.argv[1]}").ask("select 1"), "")
