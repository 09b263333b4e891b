"""Every random test draws from one seed, which the head of a run prints; SWITCHBOARD_TEST_SEED sets it."""

import logging
import os
import random
import tempfile
from collections.abc import AsyncIterator, Iterator

import pytest

from support.fake_service import TOKEN, FakeService

SEED = int(os.environ.get("SWITCHBOARD_TEST_SEED") or random.SystemRandom().randrange(1 << 32))
os.environ["SWITCHBOARD_TEST_SEED"] = str(SEED)  # where several processes share the tests, they share the seed


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    """Give hypothesis the seed, unless the command line does, and temporary files a directory of this run."""
    if config.getoption("hypothesis_seed", None) is None:
        config.option.hypothesis_seed = str(SEED)
    if not hasattr(config, "workerinput"):  # processes that share the tests inherit it
        folder = tempfile.TemporaryDirectory(prefix="switchboard-tests-", ignore_cleanup_errors=True)
        os.environ["TMPDIR"] = tempfile.tempdir = folder.name
        config.add_cleanup(folder.cleanup)


def pytest_report_header() -> str:
    """Say how to repeat the run."""
    return f"SWITCHBOARD_TEST_SEED={SEED}"


@pytest.fixture
def seed() -> int:
    """Return the seed of the run, and print it with a failure."""
    print(f"SWITCHBOARD_TEST_SEED={SEED}")
    return SEED


@pytest.fixture(autouse=True)
def no_token_in_logs(caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    """Fail any test in which the token is logged, at any level and by any library."""
    caplog.set_level(logging.DEBUG)
    yield
    assert TOKEN not in "\n".join(record.getMessage() for record in caplog.get_records("call"))
    assert TOKEN not in caplog.text


@pytest.fixture
async def service() -> AsyncIterator[FakeService]:
    """Run a service, and check that the engine did nothing that it must not do."""
    async with FakeService() as running:
        yield running
    assert running.wrongs == []
