"""Ambo as a driver of ADBC, for programs of any language that have a driver manager. `adbc_driver_ambo.dbapi` is PEP 249 over it.

>>> from adbc_driver_ambo import dbapi
>>> with dbapi.connect() as con, con.cursor() as cursor:
...     _ = cursor.execute("select 6 * 7 as answer")
...     cursor.fetch_arrow_table().to_pylist()
[{'answer': 42}]
"""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import ambo
from ambo import _ambo

if TYPE_CHECKING:
    from adbc_driver_manager import AdbcDatabase

__all__ = ["ENTRYPOINT", "connect", "driver_path", "install"]

#: The function that makes a driver of the library.
ENTRYPOINT = "AdbcDriverAmboInit"


def driver_path() -> str:
    """The library of the driver: that of the package `ambo`."""
    return str(_ambo.__file__)


def connect(uri: str | os.PathLike[str] = ":memory:", *, db_kwargs: Mapping[str, str] | None = None) -> AdbcDatabase:
    """A database, by its path or an address such as `ambo:///path`. `db_kwargs` are options of `ambo.connect`, as texts."""
    import adbc_driver_manager

    options = {"uri": os.fspath(uri), **(db_kwargs or {})}
    return adbc_driver_manager.AdbcDatabase(driver=driver_path(), entrypoint=ENTRYPOINT, **options)


def install(folder: str | os.PathLike[str] | None = None) -> Path:
    """Writes the manifest by which driver managers find the driver as `ambo`: into the virtual environment, or for the user."""
    if folder is None:
        environment = sys.prefix if sys.prefix != sys.base_prefix else os.environ.get("CONDA_PREFIX")
        folder = Path(environment) / "etc/adbc/drivers" if environment else _folder_of_user()
    system = {"Linux": "linux", "Darwin": "macos", "Windows": "windows"}[platform.system()]
    machine = {"x86_64": "amd64", "AMD64": "amd64", "aarch64": "arm64"}.get(platform.machine(), platform.machine())
    manifest = Path(folder) / "ambo.toml"
    manifest.parent.mkdir(parents=True, exist_ok=True)
    version = ambo.connect().info()["version"].split()[1]
    manifest.write_text(
        f"""manifest_version = 1
name = 'Ambo'
version = '{version}'
publisher = 'Ambo'
license = 'MIT OR Apache-2.0'

[ADBC]
version = '1.1.0'

[Driver]
entrypoint = '{ENTRYPOINT}'

[Driver.shared]
{system}_{machine} = '{driver_path()}'
""",
        encoding="utf-8",
    )
    return manifest


def _folder_of_user() -> Path:
    if sys.platform == "darwin":
        return Path.home() / "Library/Application Support/ADBC/Drivers"
    return Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config") / "adbc/drivers"
