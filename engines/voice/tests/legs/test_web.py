"""The leg of browsers, with aiortc in a browser's place."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable

import aiohttp
import numpy as np
import pytest
import pytest_asyncio
from pipecat.frames.frames import InterruptionFrame

from support.ports import free_port
from switchboard_engine.legs import Answered, Arrival, LegError, Outcome, Telephony
from switchboard_engine.legs.settings import WebSettings
from switchboard_engine.legs.web import leg as web_leg
from switchboard_engine.legs.web.leg import WebLeg

from .browser import HZ, Browser
from .conftest import Conversation, Watch, either_machine
from .sound import AUDIBLE, RECOGNISED, audible, tone, usual_power

pytestmark = pytest.mark.asyncio(loop_scope="session")


class Door:
    """The leg and its address."""

    def __init__(self, leg: WebLeg, url: str) -> None:
        self.leg, self.url = leg, url
        self._incoming = leg.incoming()

    async def arrival(self) -> Arrival:
        """Return the next browser."""
        return await asyncio.wait_for(anext(self._incoming), 5)


@pytest_asyncio.fixture(loop_scope="session")
async def door() -> AsyncIterator[Door]:
    """Open the door."""
    port = free_port()
    leg = WebLeg(WebSettings("127.0.0.1", port))
    await leg.start()
    yield Door(leg, f"http://127.0.0.1:{port}")
    await leg.stop()


async def test_a_browser_talks_and_hears(door: Door, converse: Callable[..., Conversation]) -> None:
    async with Browser() as browser:
        calling = asyncio.create_task(browser.call(door.url, "tok"))
        arrival = await door.arrival()
        assert (arrival.token, arrival.from_, arrival.trunk_id) == ("tok", "https://shop.example", "")
        conversation = converse(arrival.line)
        await conversation.start()
        line = await arrival.answer()
        watch = Watch(line)
        assert await calling == 200
        await watch.wait(Answered)
        browser.microphone.samples = tone(1000, 1.5, HZ)
        await conversation.say(tone(440, 1.5, 24_000), 24_000)
        await asyncio.sleep(2.0)
        assert usual_power(audible(conversation.tap.samples()), 1000, 16_000) > RECOGNISED
        assert usual_power(audible(browser.samples()), 440, HZ) > RECOGNISED
        await line.hangup()
        ended = await watch.ended()
        assert (ended.by, ended.outcome) == ("assistant", Outcome.COMPLETED)
        await line.hangup()


@either_machine
async def test_an_interruption_silences_at_once(
    door: Door, converse: Callable[..., Conversation], late_ms: int
) -> None:
    async with Browser() as browser:
        calling = asyncio.create_task(browser.call(door.url, "tok"))
        arrival = await door.arrival()
        conversation = converse(arrival.line)
        await conversation.start()
        watch = Watch(await arrival.answer())
        await calling
        await watch.wait(Answered)
        await conversation.say(tone(440, 4.0, 16_000))
        await asyncio.sleep(1.0)
        interrupted_at = time.time()
        await conversation.worker.queue_frame(InterruptionFrame())
        await asyncio.sleep(0.6)
        loud = [at for at, samples in browser.heard if np.max(np.abs(samples)) > AUDIBLE]
        assert loud
        # The browser's own jitter buffer, which aiortc plays too, is part of it.
        assert 1000 * (max(loud) - interrupted_at) < 250 + late_ms
        await watch.line.hangup()


async def test_a_browser_that_closes_ends_the_line(door: Door, converse: Callable[..., Conversation]) -> None:
    async with Browser() as browser:
        calling = asyncio.create_task(browser.call(door.url, "tok"))
        arrival = await door.arrival()
        conversation = converse(arrival.line)
        await conversation.start()
        watch = Watch(await arrival.answer())
        await calling
        await watch.wait(Answered)
    ended = await watch.ended(wait_s=10)
    assert (ended.by, ended.outcome) == ("customer", Outcome.COMPLETED)


@pytest.mark.parametrize(("status", "told"), [(403, 403), (409, 409), (200, 403), (603, 403)])
async def test_a_browser_is_refused(door: Door, status: int, told: int) -> None:
    async with Browser() as browser:
        calling = asyncio.create_task(browser.call(door.url, "old"))
        arrival = await door.arrival()
        watch = Watch(arrival.line)
        await arrival.reject(status)
        assert await calling == told
        assert (await watch.ended()).outcome == Outcome.REJECTED
        with pytest.raises(LegError):
            await arrival.answer()


@pytest.mark.parametrize(
    "body",
    [
        "",
        "[]",
        "{}",
        '{"token":"t"}',
        '{"token":"","sdp":"x"}',
        '{"token":1,"sdp":"x"}',
        "\x00",
        '{"sdp":1,"token":"t"}',
    ],
)
async def test_a_request_that_is_none_is_400(door: Door, body: str) -> None:
    async with aiohttp.ClientSession() as session, session.post(f"{door.url}/web/calls", data=body) as response:
        assert response.status == 400


@pytest.mark.parametrize("offer", ["", "hello", "v=0\r\nm=video 9 RTP/AVP 96\r\n", "v=0\r\nm=audio x\r\n"])
async def test_an_offer_that_is_none_is_400(door: Door, offer: str) -> None:
    async with aiohttp.ClientSession() as session:
        asking = asyncio.create_task(session.post(f"{door.url}/web/calls", json={"token": "t", "sdp": offer}))
        arrival = await door.arrival()
        watch = Watch(await arrival.answer())
        assert (await asking).status == 400
        assert (await watch.ended()).by == "engine"


async def test_a_page_of_another_origin_may_ask(door: Door) -> None:
    async with aiohttp.ClientSession() as session, session.options(f"{door.url}/web/calls") as response:
        assert (response.status, response.headers["Access-Control-Allow-Methods"]) == (204, "POST")


async def test_too_many_that_wait_are_turned_away(door: Door, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(web_leg, "WAITING_MAX", 0)
    async with Browser() as browser:
        assert await asyncio.wait_for(browser.call(door.url, "t"), 5) == 503


async def test_a_browser_that_leaves_while_it_waits_ends_the_line(door: Door) -> None:
    async with Browser() as browser:
        calling = asyncio.create_task(browser.call(door.url, "t"))
        arrival = await door.arrival()
        watch = Watch(arrival.line)
        calling.cancel()
        ended = await watch.ended()
        assert (ended.by, ended.outcome) == ("customer", Outcome.CANCELLED)
        with pytest.raises(LegError, match="gone"):
            await arrival.answer()


async def test_nobody_decides(door: Door, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(web_leg, "DECIDE_S", 0.1)
    async with Browser() as browser:
        assert await browser.call(door.url, "t") == 503


async def test_a_path_that_is_never_found_ends_the_line(door: Door, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(web_leg, "CONNECT_S", 0.2)
    async with Browser() as browser, aiohttp.ClientSession() as session:
        body = {"token": "t", "sdp": await browser.offer()}
        asking = asyncio.create_task(session.post(f"{door.url}/web/calls", json=body))
        watch = Watch(await (await door.arrival()).answer())
        assert (await asking).status == 200
        assert (await watch.ended()).outcome == Outcome.UNREACHABLE


async def test_a_browser_is_not_called(door: Door) -> None:
    with pytest.raises(LegError):
        await door.leg.dial(Telephony(trunk_id="", address="x"), "y")
