"""SQLAlchemy's own tests of dialects, which are run by its plugin of pytest."""

import pytest

import ambo_sqlalchemy  # noqa: F401

pytest.register_assert_rewrite("sqlalchemy.testing.assertions")

from sqlalchemy.testing.plugin.pytestplugin import *  # noqa: E402, F403

import provision  # noqa: E402, F401
