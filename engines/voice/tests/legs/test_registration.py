"""Trunks that we register with."""

import asyncio
import socket
from dataclasses import replace

import pytest
from baresip import Account, UserAgent

from support.ports import free_port
from switchboard_engine.client.checks import DETAIL_MAX
from switchboard_engine.legs import Answered, Outcome, Telephony, TrunkState, TrunkStatus
from switchboard_engine.legs.settings import SipSettings
from switchboard_engine.legs.sip import diagnosis, registration
from switchboard_engine.legs.sip.registration import Registrations

from .conftest import Stack, Watch
from .peer import Peer
from .processes import WAIT_S, Host

pytestmark = pytest.mark.asyncio(loop_scope="session")


PASSWORD = "s3cret"


def trunk(peer: Peer, trunk_id: str, password: str = PASSWORD) -> Telephony:
    """A trunk that calls us by our registration."""
    return Telephony(
        trunk_id=trunk_id,
        address=peer.address,
        from_="+12025550100",
        username="carol",
        password=password,
        register=True,
    )


async def test_a_registration_is_made_lost_found_and_taken_back(
    stack: Stack, peer: Peer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(registration, "RETRY_S", 0.1)
    peer.credentials, peer.expires_s = ("carol", "s3cret"), 2
    await stack.leg.set_trunks([trunk(peer, "r1")])
    await stack.status("registered", "r1")
    peer.registrar_status = 503
    lost = await stack.status("lost", "r1")
    assert lost.detail.startswith("The registrar cannot do it at present (503 Service Unavailable): ")
    stack.statuses.clear()
    peer.registrar_status = 200
    await stack.status("registered", "r1")
    peer.deregistered.clear()
    await stack.leg.set_trunks([])
    await asyncio.wait_for(peer.deregistered.wait(), 5)


async def test_the_registrars_calls_reach_us_without_a_digest(stack: Stack, peer: Peer) -> None:
    peer.credentials = ("carol", "s3cret")
    await stack.leg.set_trunks([trunk(peer, "r2")])
    await stack.status("registered", "r2")
    contact = peer.contacts[f"sip:carol@{peer.address}"]
    dialog = await peer.call(contact, stack.address, to="<sip:+12025550100@127.0.0.1>")
    assert dialog.last.status == 180
    arrival = await stack.arrival()
    assert (arrival.trunk_id, arrival.to) == ("r2", "+12025550100")
    watch = Watch(arrival.line)
    await arrival.answer()
    await dialog.final()
    await watch.wait(Answered)
    dialog.bye()
    await watch.ended()
    await stack.leg.set_trunks([])


async def test_a_wrong_password_is_told_and_not_tried_again(stack: Stack, peer: Peer) -> None:
    peer.credentials = ("carol", "s3cret")
    await stack.leg.set_trunks([trunk(peer, "r3", password="wrong")])
    status = await stack.status("wrong-credentials", "r3")
    assert status.detail == "The registrar refused the user name or password (401 Unauthorized): check both."
    tried = peer.registrations
    await asyncio.sleep(1)
    assert peer.registrations == tried
    await stack.leg.set_trunks([])


async def test_a_call_that_is_refused_does_not_end_a_registration(stack: Stack, peer: Peer) -> None:
    peer.credentials = ("carol", PASSWORD)
    await stack.leg.set_trunks([trunk(peer, "r5")])
    await stack.status("registered", "r5")
    ended = await Watch(await stack.leg.dial(trunk(peer, "r5", password="wrong"), "+12025550123")).ended()
    assert ended.outcome is Outcome.WRONG_CREDENTIALS
    assert [status.state for status in stack.statuses if status.trunk_id == "r5"] == [TrunkState.REGISTERED]
    await stack.leg.set_trunks([])


@pytest.mark.parametrize("forgets", [False, True])
async def test_a_stack_closes_while_a_registrar_is_silent(forgets: bool) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as silent:
        silent.bind(("127.0.0.1", 0))
        silent.setblocking(False)
        members = {"trunk_id": 1, "address": f"127.0.0.1:{silent.getsockname()[1]}", "username": "carol"}
        host = await Host.run(free_port(), trunks=[{**members, "password": PASSWORD}])
        async with asyncio.timeout(20):
            assert (await asyncio.get_running_loop().sock_recv(silent, 4_096)).startswith(b"REGISTER ")
        if forgets:
            host.tell("forget")
            await host.wrote("forgotten")
            await asyncio.sleep(1)
        host.end_input()
        assert await host.ended() == 0, host.errors()
        await host.stop()


async def test_a_registration_that_is_answered_after_its_trunk_went_is_taken_back(stack: Stack, peer: Peer) -> None:
    peer.registrar_status = 0
    await stack.leg.set_trunks([trunk(peer, "r6")])
    async with asyncio.timeout(WAIT_S):
        while not peer.registrations:  # noqa: ASYNC110 - as the peer hears it
            await asyncio.sleep(0.01)
        await stack.leg.set_trunks([])
        await asyncio.sleep(0.2)
        # One request at a time: what was sent again has the same number.
        assert len({message["cseq"] for message in peer.seen if message.method == "REGISTER"}) == 1
        peer.registrar_status = 200
        await peer.deregistered.wait()
    assert [status for status in stack.statuses if status.trunk_id == "r6"] == []


async def test_no_more_trunks_are_registered_than_the_stack_has_room_for(peer: Peer) -> None:
    statuses: list[TrunkStatus] = []
    asked: list[str] = []

    async def agent_of(of: Account) -> UserAgent:
        asked.append(of.aor().partition(":")[2].partition("@")[0])
        await asyncio.Event().wait()
        raise AssertionError

    async def stop(handle: int) -> None:
        raise AssertionError(handle)

    kept = Registrations(agent_of, stop, statuses.append, most=2)
    trunks = {f"m{number}": replace(trunk(peer, f"m{number}"), username=f"user{number}") for number in range(4)}
    await kept.replace(trunks, 300)
    await asyncio.sleep(0)
    assert asked == ["user0", "user1"]
    assert [(status.trunk_id, status.state) for status in statuses] == [("m2", "lost"), ("m3", "lost")]
    assert statuses[0].detail.startswith("A worker of the engine registers 2 trunks at most: ")
    assert len(statuses[0].detail) <= DETAIL_MAX
    statuses.clear()
    await kept.replace({name: trunks[name] for name in ("m1", "m2", "m3")}, 300)
    await asyncio.sleep(0)
    assert asked == ["user0", "user1", "user2"]
    assert [status.trunk_id for status in statuses] == ["m3"]
    await kept.replace({}, 300)


async def test_half_of_the_accounts_are_left_to_calls() -> None:
    assert SipSettings("127.0.0.1").registrations_max == 450


async def test_a_trunk_that_cannot_be_told_to_the_stack_is_lost(stack: Stack, peer: Peer) -> None:
    bad = Telephony(trunk_id="r4", address=peer.address, username='ca"rol\r\n', password="x", register=True)
    await stack.leg.set_trunks([bad])
    assert (await stack.status("lost", "r4")).detail == diagnosis.UNSENDABLE
    await stack.leg.set_trunks([])
