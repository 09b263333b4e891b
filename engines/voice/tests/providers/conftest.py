"""Fixtures of the providers' tests."""

import pytest

from switchboard_engine.providers import Services

from .keys import all_keys


@pytest.fixture(scope="session")
def keys(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Return an environment with a key of every vendor."""
    return all_keys(tmp_path_factory.mktemp("keys"))


@pytest.fixture
def services(keys: dict[str, str]) -> Services:
    """Return services with all keys."""
    return Services(keys)
