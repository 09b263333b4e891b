"""What an answer means, what may be repeated, and what never leaves the process."""

import logging
from random import Random
from typing import Any

import pytest
from aiohttp import web

from support.fake_service import TOKEN, FakeService, Fault
from switchboard_engine.client.backoff import Backoff, persist
from switchboard_engine.client.errors import (
    BusyError,
    ConflictError,
    FailingError,
    ForbiddenError,
    InvalidError,
    NotFoundError,
    RefusedError,
    ServiceError,
    TemporaryError,
    TooLargeError,
    UnauthenticatedError,
    UnreachableError,
    from_answer,
)
from switchboard_engine.client.service import Service


@pytest.mark.parametrize(
    ("status", "kind", "is_temporary"),
    [
        (400, RefusedError, False),
        (401, UnauthenticatedError, False),
        (403, ForbiddenError, False),
        (404, NotFoundError, False),
        (408, FailingError, True),
        (409, ConflictError, False),
        (410, RefusedError, False),
        (413, TooLargeError, False),
        (415, RefusedError, False),
        (422, InvalidError, False),
        (429, BusyError, True),
        (500, FailingError, True),
        (502, FailingError, True),
        (503, BusyError, True),
        (504, FailingError, True),
    ],
)
def test_what_a_status_means(status: int, kind: type[ServiceError], is_temporary: bool) -> None:
    error = from_answer(status, {"message": "So it is."}, 0.0)
    assert type(error) is kind
    assert isinstance(error, TemporaryError) is is_temporary
    assert (error.message, error.status, str(error)) == ("So it is.", status, f"{status}: So it is.")


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ({"next_seq": 5}, 5),
        ({"next_seq": 0}, None),
        ({"next_seq": True}, None),
        ({"next_seq": "5"}, None),
        ({"message": []}, None),
    ],
)
def test_the_number_of_a_conflict(body: dict[str, Any], expected: int | None) -> None:
    error = from_answer(409, body, 0.0)
    assert isinstance(error, ConflictError)
    assert (error.next_seq, error.message) == (expected, "The service gave no reason.")


@pytest.mark.parametrize(
    ("fault", "kind"),
    [
        (Fault.DROP_BEFORE, UnreachableError),
        (Fault.DROP_AFTER, UnreachableError),
        (Fault.TRUNCATED, UnreachableError),
        (Fault.REDIRECT, UnreachableError),
        (Fault.BUSY, BusyError),
        (Fault.BROKEN, FailingError),
    ],
)
async def test_what_a_fault_is_to_the_caller(service: FakeService, fault: Fault, kind: type[ServiceError]) -> None:
    service.plan = lambda _kind, _nth: fault
    async with Service(service.url, TOKEN) as client:
        with pytest.raises(kind) as failure:
            await client.get("/engine", timeout=1)
        assert TOKEN not in f"{failure.value} {failure.value!r} {client!r}"


async def test_a_redirect_is_not_followed_but_named(service: FakeService) -> None:
    service.plan = lambda _kind, _nth: Fault.REDIRECT
    async with Service(service.url, TOKEN) as client:
        with pytest.raises(UnreachableError, match="answers with a redirect"):
            await client.post("/engine/claim", {}, timeout=1)


async def test_nobody_listens() -> None:
    async with Service("http://127.0.0.1:1", TOKEN) as client:
        with pytest.raises(UnreachableError, match=r"GET /engine: no answer from the service \(ClientConnector"):
            await client.get("/engine", timeout=1)


async def _answering(answer: web.Response) -> tuple[web.AppRunner, str]:
    async def handle(_request: web.Request) -> web.Response:
        return answer

    app = web.Application()
    app.router.add_route("*", "/engine", handle)
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    return runner, f"http://127.0.0.1:{runner.addresses[0][1]}"


@pytest.mark.parametrize(
    ("header", "retry_after"), [("7", 7.0), ("", 0.0), ("-3", 0.0), ("Wed, 21 Oct 2026 07:28:00 GMT", 0.0)]
)
async def test_the_pause_that_a_service_asks_for(header: str, retry_after: float) -> None:
    answer = web.json_response({"message": "Later."}, status=503, headers={"Retry-After": header})
    runner, url = await _answering(answer)
    async with Service(url, TOKEN) as client:
        with pytest.raises(BusyError) as busy:
            await client.get("/engine", timeout=1)
    assert busy.value.retry_after == retry_after
    await runner.cleanup()


@pytest.mark.parametrize("body", [b"[]", b"null", b"{", b"\xff", b"x" * (9 << 20)])
async def test_a_body_that_is_no_object_is_no_answer(body: bytes) -> None:
    runner, url = await _answering(web.Response(body=body))
    async with Service(url, TOKEN) as client:
        with pytest.raises(UnreachableError):
            await client.get("/engine", timeout=5)
    await runner.cleanup()


@pytest.mark.parametrize("url", ["", "service", "ftp://service", "http://", "https://service/?a=1", "https://s/#a"])
def test_what_is_no_url(url: str) -> None:
    with pytest.raises(ValueError, match="URL"):
        Service(url, TOKEN)


@pytest.mark.parametrize("token", ["", "two words", "line\nbreak", "ünïcode"])
def test_what_is_no_token(token: str) -> None:
    with pytest.raises(ValueError, match="token") as error:
        Service("https://service", token)
    assert token == "" or token not in str(error.value)


def test_plain_http_off_loopback_is_warned_of(caplog: pytest.LogCaptureFixture) -> None:
    for url in ("http://127.0.0.1:8080", "http://localhost", "https://service.example"):
        Service(url, TOKEN)
    assert caplog.messages == []
    Service("http://service.example", TOKEN)
    assert "plain http" in caplog.text


async def test_the_client_logs_no_token_even_when_the_library_does(
    service: FakeService, caplog: pytest.LogCaptureFixture
) -> None:
    logging.getLogger("aiohttp").setLevel(logging.DEBUG)
    async with Service(service.url, TOKEN) as client:
        await client.get("/engine", timeout=1)
        with pytest.raises(NotFoundError):
            await client.post("/engine/calls/9/events", {"events": []}, timeout=1)
    assert TOKEN not in caplog.text


def test_pauses_grow_to_a_bound_and_are_jittered(seed: int) -> None:
    backoff = Backoff(0.2, 5.0, Random(seed))
    pauses = [backoff.pause() for _ in range(40)]
    for number, pause in enumerate(pauses):
        step = min(5.0, 0.2 * 2**number)
        assert step / 2 <= pause <= step
    assert len(set(pauses)) == 40
    backoff.reset()
    assert backoff.pause() <= 0.2
    assert 9.0 <= backoff.pause(BusyError("later", 503, None, 9.0)) <= 9.0 * 1.2
    assert backoff.pause(BusyError("much later", 503, None, 1e6)) <= 18


async def test_what_is_persisted_in_and_for_how_long() -> None:
    tries = 0

    async def attempt() -> str:
        nonlocal tries
        tries += 1
        if tries < 4:
            raise UnreachableError("away")
        return "there"

    assert await persist(attempt, Backoff(0.001, 0.002), 1.0) == "there"
    tries = -1000
    with pytest.raises(UnreachableError):
        await persist(attempt, Backoff(0.001, 0.002), 0.02)

    async def refused() -> str:
        nonlocal tries
        tries += 1
        raise InvalidError("never", 422)

    tries = 0
    with pytest.raises(InvalidError):
        await persist(refused, Backoff(0.001, 0.002), 1.0)
    assert tries == 1
