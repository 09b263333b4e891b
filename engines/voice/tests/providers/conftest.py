"""Fixtures of the providers' tests."""

from collections.abc import Iterator

import pytest
from loguru import logger

from switchboard_engine.providers import ProviderServices

from .keys import SECRET, all_keys


@pytest.fixture(autouse=True)
def no_key_in_logs(caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    """Fail any test in which a key is logged, by whatever library: Pipecat logs by itself."""
    logged: list[str] = []
    sink = logger.add(logged.append, level="DEBUG")
    yield
    logger.remove(sink)
    assert SECRET not in caplog.text
    assert not [message for message in logged if SECRET in message]


@pytest.fixture(scope="session")
def keys(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Return an environment with a key of every vendor."""
    return all_keys(tmp_path_factory.mktemp("keys"))


@pytest.fixture
def services(keys: dict[str, str]) -> ProviderServices:
    """Return services with all keys."""
    return ProviderServices(keys)
