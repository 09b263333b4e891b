"""Calls to the leg: who is let in, and what becomes of them."""

from collections.abc import Callable
from ipaddress import ip_network

import pytest

from switchboard_engine.legs import Answered, LegError, Outcome, Telephony

from .conftest import Conversation, Stack, Watch
from .peer import Peer
from .sound import RECOGNISED, tone, usual_power

pytestmark = pytest.mark.asyncio(loop_scope="session")

OURS = "+12025550100"
CAROL = ("carol", "s3cret")


def by_address(network: str = "127.0.0.0/8", number: str = OURS, trunk_id: str = "ip") -> Telephony:
    """A trunk whose calls are known by their address."""
    return Telephony(trunk_id=trunk_id, address="127.0.0.1:9", from_=number, allowed_inbound_ips=(ip_network(network),))


def by_digest() -> Telephony:
    """A trunk whose calls are known by a digest."""
    return Telephony(trunk_id="digest", address="127.0.0.1:9", from_=OURS, username=CAROL[0], password=CAROL[1])


def uri(stack: Stack, number: str = OURS) -> str:
    """The leg's address of a number."""
    return f"sip:{number}@127.0.0.1:{stack.port}"


async def test_a_call_of_an_ip_trunk_is_answered(
    stack: Stack, peer: Peer, converse: Callable[..., Conversation]
) -> None:
    await stack.leg.set_trunks([by_address()])
    dialog = await peer.call(uri(stack), stack.address, user="+15550100")
    assert dialog.last.status == 180
    arrival = await stack.arrival()
    assert (arrival.from_, arrival.to, arrival.trunk_id) == ("+15550100", OURS, "ip")
    assert arrival.external_id == dialog.call_id
    watch = Watch(arrival.line)
    conversation = converse(arrival.line)
    await conversation.start()
    await arrival.ring()
    line = await arrival.answer()
    assert (await dialog.final()).status == 200
    await watch.wait(Answered)
    await conversation.say(tone(440, 0.5, 16_000))
    dialog.media.play(tone(1000, 0.6))
    await dialog.media.played()
    assert usual_power(dialog.media.samples()[1_000:3_500], 440) > RECOGNISED
    assert usual_power(conversation.tap.samples()[3_000:8_000], 1000, 16_000) > RECOGNISED
    assert not [request for request in peer.seen if request.method == "INVITE" and not request.status]
    await line.hangup()
    await dialog.expect("BYE")
    assert (await watch.ended()).by == "assistant"


async def test_the_trunk_of_the_called_number_is_named(stack: Stack, peer: Peer) -> None:
    await stack.leg.set_trunks([by_address(), by_address(number="+442071838750", trunk_id="other")])
    dialog = await peer.call(uri(stack, "00442071838750"), stack.address)
    arrival = await stack.arrival()
    assert (arrival.trunk_id, arrival.to) == ("other", "00442071838750")
    await arrival.reject(404)
    assert (await dialog.final()).status == 404


async def test_a_call_with_a_digest_is_let_in(stack: Stack, peer: Peer) -> None:
    await stack.leg.set_trunks([by_digest()])
    dialog = await peer.call(uri(stack), stack.address, credentials=CAROL)
    assert dialog.last.status == 180
    arrival = await stack.arrival()
    assert (arrival.trunk_id, arrival.to) == ("digest", OURS)
    await arrival.reject()
    assert (await dialog.final()).status == 486


@pytest.mark.parametrize("credentials", [("carol", "wrong"), ("mallory", "s3cret")])
async def test_a_wrong_digest_is_refused_without_detail(stack: Stack, peer: Peer, credentials: tuple[str, str]) -> None:
    await stack.leg.set_trunks([by_digest()])
    before = stack.leg.admission.refused["digest"]
    dialog = await peer.call(uri(stack), stack.address, credentials=credentials)
    assert dialog.last.first == "SIP/2.0 403 Forbidden"
    assert stack.leg.admission.refused["digest"] == before + 1
    assert stack.arrivals.empty()


async def test_a_digest_of_another_call_is_worth_nothing(stack: Stack, peer: Peer) -> None:
    await stack.leg.set_trunks([by_digest()])
    first = await peer.call(uri(stack), stack.address)
    assert first.last.status == 401
    stolen = await peer.call(uri(stack), stack.address, credentials=CAROL, challenge=first.last["www-authenticate"])
    assert stolen.last.status == 403


async def test_a_stranger_is_refused_and_counted(stack: Stack, peer: Peer) -> None:
    await stack.leg.set_trunks([by_address("192.0.2.0/24")])
    before = stack.leg.admission.refused["address"]
    dialog = await peer.call(uri(stack), stack.address)
    assert dialog.last.first == "SIP/2.0 403 Forbidden"
    assert stack.leg.admission.refused["address"] == before + 1
    assert stack.arrivals.empty()


async def test_the_caller_gives_up_while_it_rings(stack: Stack, peer: Peer) -> None:
    await stack.leg.set_trunks([by_address()])
    dialog = await peer.call(uri(stack), stack.address)
    arrival = await stack.arrival()
    watch = Watch(arrival.line)
    dialog.cancel()
    ended = await watch.ended()
    assert (ended.by, ended.outcome) == ("customer", Outcome.CANCELLED)
    with pytest.raises(LegError):
        await arrival.answer()
    await arrival.reject()


async def test_a_status_that_refuses_nothing_is_an_error(stack: Stack, peer: Peer) -> None:
    await stack.leg.set_trunks([by_address()])
    dialog = await peer.call(uri(stack), stack.address)
    arrival = await stack.arrival()
    with pytest.raises(ValueError, match="200"):
        await arrival.reject(200)
    watch = Watch(arrival.line)
    await arrival.reject(603)
    assert (await dialog.final()).first == "SIP/2.0 603 Decline"
    ended = await watch.ended()
    assert (ended.by, ended.outcome) == ("assistant", Outcome.REJECTED)


async def test_a_peers_refer_places_no_call(stack: Stack, peer: Peer) -> None:
    await stack.leg.set_trunks([by_address()])
    dialog = await peer.call(uri(stack), stack.address)
    arrival = await stack.arrival()
    watch = Watch(arrival.line)
    await arrival.answer()
    await dialog.final()
    await watch.wait(Answered)
    dialog.request("REFER", headers=f"Refer-To: <sip:+1900@{peer.address}>\r\n")
    notify = await dialog.expect("NOTIFY")
    while "terminated" not in notify["subscription-state"]:
        notify = await dialog.expect("NOTIFY")
    assert "603" in notify.body
    assert peer.taken_calls.empty()
    dialog.bye()
    await watch.ended()
