"""`python -m adbc_driver_ambo` writes the manifest by which driver managers find the driver, and says where."""

import sys

from . import install

if __name__ == "__main__":
    sys.stdout.write(f"{install(*sys.argv[1:2])}\n")
