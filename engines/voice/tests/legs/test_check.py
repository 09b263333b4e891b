"""What the leg says of trunks that a user has checked."""

import asyncio
import socket
import ssl
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import dns.asyncresolver
import dns.flags
import dns.message
import dns.rrset
import pytest
import pytest_asyncio

from support.ports import free_port
from switchboard_engine.client.checks import CHECK_SECONDS, CheckStep
from switchboard_engine.legs import Telephony
from switchboard_engine.legs.settings import SipSettings
from switchboard_engine.legs.sip import check as module
from switchboard_engine.legs.sip import registration
from switchboard_engine.legs.sip.check import check
from switchboard_engine.legs.sip.exchange import CLOSE_S

from .conftest import Stack, make_certificate
from .peer import Peer

pytestmark = pytest.mark.asyncio(loop_scope="session")

PASSWORD = "s3cret"
SETTINGS = SipSettings("127.0.0.1", ca_file="")
WRONG = "The {} refused the user name or password"
CHECK_ADDRESS = "check address, port and transport"
NO_ANSWER = f"There was no answer within 1 s: {CHECK_ADDRESS}, and firewalls on the way."


def trunk_at(address: str, **members: Any) -> Telephony:
    """Return a trunk that is registered."""
    kept = {"username": "carol", "password": PASSWORD, "register": True, **members}
    return Telephony(trunk_id="c1", address=address, from_="+12025550100", **kept)


async def told(trunk: Telephony, settings: SipSettings = SETTINGS) -> list[tuple[str, bool, str]]:
    """Return the steps of a check, none of which tells the password."""
    steps: list[CheckStep] = await check(trunk, settings)
    assert not [step for step in steps if PASSWORD in step.detail or "wrong-one" in step.detail]
    assert all(step.detail.endswith(".") or step.detail.startswith("not tried: ") for step in steps)
    return [(step.name, step.ok, step.detail) for step in steps]


@pytest_asyncio.fixture(loop_scope="session")
async def registrar(peer: Peer) -> Peer:
    """Have the peer ask for a password."""
    peer.credentials = ("carol", PASSWORD)
    return peer


async def test_a_good_trunk_is_well_in_every_step(registrar: Peer) -> None:
    assert await told(trunk_at(registrar.address)) == [
        ("resolve", True, f"The address is {registrar.address}."),
        ("reach", True, f"{registrar.address} answers by UDP (200 OK)."),
        ("register", True, "The registrar accepts the user name and password."),
    ]


async def test_who_is_registered_stays_so(stack: Stack, registrar: Peer) -> None:
    trunk = trunk_at(registrar.address)
    await stack.leg.set_trunks([trunk])
    await stack.status("registered", "c1")
    contact = registrar.contacts[f"sip:carol@{registrar.address}"]
    assert [step.ok for step in await stack.leg.check(trunk)] == [True, True, True]
    assert registrar.contacts[f"sip:carol@{registrar.address}"] == contact
    assert not registrar.deregistered.is_set()
    await stack.leg.set_trunks([])


async def test_a_wrong_password_is_told(registrar: Peer) -> None:
    steps = await told(trunk_at(registrar.address, password="wrong-one"))
    assert steps[2] == ("register", False, f"{WRONG.format('registrar')} (401 Unauthorized): check both.")
    assert registrar.registrations == 2
    steps = await told(trunk_at(registrar.address, password=""))
    asked = "The registrar asks for user name and password (401 Unauthorized): the trunk has no password."
    assert steps[2] == ("register", False, asked)


@pytest.mark.parametrize(
    ("status", "sentence"),
    [
        (403, "The registrar forbids it (403 "),
        (404, "The registrar does not know the user (404 "),
        (486, "The registrar refuses the request (486 "),
        (503, "The registrar cannot do it at present (503 "),
    ],
)
async def test_a_registrar_that_refuses_is_quoted(registrar: Peer, status: int, sentence: str) -> None:
    registrar.registrar_status = status
    (_, ok, detail) = (await told(trunk_at(registrar.address)))[2]
    assert not ok
    assert detail.startswith(sentence)


async def test_a_registration_that_fails_is_told_as_its_check_tells_it(
    stack: Stack, registrar: Peer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(registration, "RETRY_S", 0.1)
    nobody = f"127.0.0.1:{free_port()}"
    trunks = {
        "wrong-credentials": trunk_at(registrar.address, password="wrong-one"),
        "lost": trunk_at(nobody, transport="tcp"),
    }
    for number, (state, trunk) in enumerate(trunks.items()):
        named = replace(trunk, trunk_id=f"same-{number}")
        await stack.leg.set_trunks([named])
        status = await stack.status(state, named.trunk_id)
        assert status.detail == next(step.detail for step in await stack.leg.check(named) if not step.ok)
    registrar.registrar_status = 404
    named = trunk_at(registrar.address)
    await stack.leg.set_trunks([replace(named, trunk_id="same-2")])
    assert (await stack.status("refused", "same-2")).detail == (await told(named))[2][2]
    await stack.leg.set_trunks([])


async def test_a_trunk_that_is_not_registered_proves_itself_where_it_is_asked_to(registrar: Peer) -> None:
    trunk = trunk_at(registrar.address, register=False)
    assert [step for step, _, _ in await told(trunk)] == ["resolve", "reach"]
    registrar.asks_options = True
    assert (await told(trunk))[1:] == [
        ("reach", True, f"{registrar.address} answers by UDP (401 Unauthorized)."),
        ("register", True, "The trunk accepts the user name and password."),
    ]
    steps = await told(replace(trunk, password="wrong-one"))
    assert steps[2] == ("register", False, f"{WRONG.format('trunk')} (401 Unauthorized): check both.")
    assert [step for step, _, _ in await told(replace(trunk, password=""))] == ["resolve", "reach"]


NOT_REACHED = ("register", False, "not tried: the trunk was not reached")


@pytest.mark.parametrize("transport", ["udp", "tcp", "tls"])
async def test_an_address_that_nobody_listens_on_is_told(transport: Any) -> None:
    steps = await told(trunk_at(f"127.0.0.1:{free_port()}", transport=transport))
    assert steps[1:] == [("reach", False, f"Nothing listens there: {CHECK_ADDRESS}."), NOT_REACHED]


async def test_the_steps_fit_into_what_a_check_may_take() -> None:
    assert 3 * module.STEP_S + module.HOPS_MAX * CLOSE_S <= CHECK_SECONDS


async def test_a_registrar_that_falls_silent_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "STEP_S", 1.0)
    async with by_stream(lambda request: answers(request) if request.startswith(b"OPTIONS") else b"") as address:
        steps = await told(trunk_at(address, transport="tcp"))
    silent = "The trunk was reached, but did not answer the registration within 1 s: ask who runs it."
    assert steps[2] == ("register", False, silent)


async def test_name_servers_that_are_silent_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "STEP_S", 1.0)

    async def hang(*_: object, **__: object) -> None:
        await asyncio.Event().wait()

    monkeypatch.setattr(dns.asyncresolver, "resolve", hang)
    steps = await told(trunk_at("pbx.example"))
    silent = "The name servers gave no answer within 1 s: try again, or write an IP address."
    assert steps == [("resolve", False, silent), ("reach", False, "not tried: the address was not found"), NOT_REACHED]


async def test_an_address_that_is_silent_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "STEP_S", 1.0)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as silent:
        silent.bind(("127.0.0.1", 0))
        steps = await told(trunk_at(f"127.0.0.1:{silent.getsockname()[1]}"))
        silent.setblocking(False)
        assert silent.recv(4_096) == silent.recv(4_096)  # it is sent again
    assert steps[1:] == [("reach", False, NO_ANSWER), NOT_REACHED]


@pytest.mark.parametrize("address", ["", "host:port", "host:99999", "[::1", "a b"])
async def test_an_address_that_is_none_is_told(address: str) -> None:
    steps = await told(trunk_at(address))
    assert [(name, ok) for name, ok, _ in steps] == [("resolve", False), ("reach", False), ("register", False)]
    assert steps[1:] == [("reach", False, "not tried: the address was not found"), NOT_REACHED]


async def test_members_that_no_header_can_carry_are_told(peer: Peer) -> None:
    steps = await told(trunk_at(peer.address, username='ca"rol\r\nX: y'))
    assert steps[0][1] is False
    assert peer.seen == []


class NameServer(asyncio.DatagramProtocol):
    """Answers with the records of `records`, by name and type; a name that has none does not exist."""

    def __init__(self, records: dict[tuple[str, str], list[str]]) -> None:
        self._records = records

    def connection_made(self, transport: Any) -> None:
        self._transport = transport

    def datagram_received(self, data: bytes, addr: tuple[str, int]) -> None:
        query = dns.message.from_wire(data)
        (question,) = query.question
        name, kind = str(question.name).rstrip("."), dns.rdatatype.to_text(question.rdtype)
        response = dns.message.make_response(query)
        response.flags |= dns.flags.RA
        if values := self._records.get((name, kind)):
            response.answer.append(dns.rrset.from_text_list(question.name, 60, "IN", kind, values))
        elif not any(name == known for known, _ in self._records):
            response.set_rcode(dns.rcode.NXDOMAIN)
        self._transport.sendto(response.to_wire(), addr)


@asynccontextmanager
async def names(
    monkeypatch: pytest.MonkeyPatch, hosts: dict[str, list[str]], servers: dict[str, list[str]] | None = None
) -> AsyncIterator[None]:
    """Have names resolved by `hosts`, and SRV by a server that knows `servers`."""
    records = {(name, "SRV"): values for name, values in (servers or {}).items()}
    server, _ = await asyncio.get_running_loop().create_datagram_endpoint(lambda: NameServer(records), ("127.0.0.1", 0))
    resolver = dns.asyncresolver.Resolver(configure=False)
    resolver.nameservers, resolver.port = ["127.0.0.1"], server.get_extra_info("sockname")[1]
    monkeypatch.setattr(dns.asyncresolver, "resolve", resolver.resolve)

    def getaddrinfo(host: str, *_: object) -> list[tuple[Any, ...]]:
        if host not in hosts:
            raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")
        return [(socket.AF_INET, socket.SOCK_DGRAM, 17, "", (address, 0)) for address in hosts[host]]

    monkeypatch.setattr(socket, "getaddrinfo", getaddrinfo)
    try:
        yield
    finally:
        server.close()


async def test_a_name_that_does_not_resolve_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    async with names(monkeypatch, {}):
        for address in ("pbx.example", "pbx.example:5060"):
            assert await told(trunk_at(address)) == [
                ("resolve", False, "pbx.example has no IPv4 address: check how it is written."),
                ("reach", False, "not tried: the address was not found"),
                NOT_REACHED,
            ]


async def test_a_name_is_found_as_the_stack_finds_it(monkeypatch: pytest.MonkeyPatch, registrar: Peer) -> None:
    hosts = {"pbx.example": ["127.0.0.9"], "a.example": ["127.0.0.1"], "b.example": ["127.0.0.2"]}
    records = [f"20 0 {registrar.port} b.example.", f"10 0 {registrar.port} a.example."]
    async with names(monkeypatch, hosts, {"_sip._udp.pbx.example": records}):
        by_srv, with_port = trunk_at("pbx.example"), trunk_at("pbx.example:5070")
        found = f"pbx.example is at 127.0.0.1:{registrar.port}, 127.0.0.2:{registrar.port}."
        assert [ok for _, ok, _ in await told(by_srv)] == [True, True, True]
        assert (await told(by_srv))[0] == ("resolve", True, found)
        assert (await told(with_port))[0][2] == "pbx.example is at 127.0.0.9:5070."
        assert (await told(replace(by_srv, transport="tcp")))[0][2] == "pbx.example is at 127.0.0.9:5060."
        proxy = replace(with_port, outbound_proxy=registrar.address)
        assert (await told(proxy))[0][2] == f"The address is {registrar.address}."
    assert registrar.seen[-1]["route"] == f"<sip:{registrar.address};transport=udp;lr>"


async def test_the_second_address_is_tried_where_the_first_is_dead(
    monkeypatch: pytest.MonkeyPatch, registrar: Peer
) -> None:
    async with names(monkeypatch, {"pbx.example": ["127.0.0.2", "127.0.0.1"]}):
        steps = await told(trunk_at(f"pbx.example:{registrar.port}"))
    assert steps[1] == ("reach", True, f"{registrar.address} answers by UDP (200 OK).")


def answers(request: bytes, status: str = "200 OK", header: str = "") -> bytes:
    """Return an answer to a request."""
    lines = request.decode().split("\r\n")
    copied = [line for line in lines if line.lower().startswith(("via:", "from:", "to:", "call-id:", "cseq:"))]
    more = [header] if header else []
    return "\r\n".join([f"SIP/2.0 {status}", *copied, *more, "Content-Length: 2", "", "ok"]).encode()


@asynccontextmanager
async def by_stream(answer: Callable[[bytes], bytes], certificate: Path | None = None) -> AsyncIterator[str]:
    """Run the other side of a connection; yields its address."""
    context = None
    if certificate is not None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate)

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                writer.write(answer(await reader.readuntil(b"\r\n\r\n")))
        except (asyncio.IncompleteReadError, OSError):
            writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0, ssl=context)
    yield f"127.0.0.1:{server.sockets[0].getsockname()[1]}"
    server.close()
    await server.wait_closed()


async def test_a_trunk_is_checked_by_its_own_transport(certificate: Path) -> None:
    ping = b"OPTIONS sip:us SIP/2.0\r\nCall-ID: 1\r\nCSeq: 1 OPTIONS\r\n\r\n"  # it may ask us something itself
    async with by_stream(lambda request: ping + answers(request)) as address:
        steps = await told(trunk_at(address, transport="tcp"))
        assert [ok for _, ok, _ in steps] == [True, True, True]
        assert steps[1][2] == f"{address} answers by TCP (200 OK)."
    async with by_stream(answers, certificate) as address:
        steps = await told(trunk_at(address, transport="tls"), replace(SETTINGS, ca_file=str(certificate)))
        assert [ok for _, ok, _ in steps] == [True, True, True]


async def test_an_unknown_authority_is_told(certificate: Path, tmp_path: Path) -> None:
    async with by_stream(answers, make_certificate(tmp_path / "other.pem")) as address:
        steps = await told(trunk_at(address, transport="tls"), replace(SETTINGS, ca_file=str(certificate)))
    assert steps[1][:2] == ("reach", False)
    assert steps[1][2].startswith("The certificate is not trusted (self")
    assert steps[2] == NOT_REACHED


async def test_a_trunk_without_tls_is_told() -> None:
    async def refuse(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        writer.close()

    server = await asyncio.start_server(refuse, "127.0.0.1", 0)
    steps = await told(trunk_at(f"127.0.0.1:{server.sockets[0].getsockname()[1]}", transport="tls"))
    assert steps[1][2].startswith("There is no TLS (")
    server.close()
    await server.wait_closed()


WRONG_PROOF = f"{WRONG.format('registrar')} (401 No): check both."
UNKNOWN_PROOF = "The trunk asks for another proof than a digest with MD5 or SHA-256 (401 No): ask who runs it."


@pytest.mark.parametrize(
    ("challenge", "detail"),
    [
        ('Digest realm="r", nonce="n", algorithm=SHA-256, qop="auth"', WRONG_PROOF),
        ('Digest realm="r", nonce="n", algorithm=SHA-512-256', UNKNOWN_PROOF),
        ("Bearer", UNKNOWN_PROOF),
        ("", UNKNOWN_PROOF),
    ],
)  # fmt: skip
async def test_what_a_registrar_asks_for_is_given_or_told(challenge: str, detail: str) -> None:
    def answer(request: bytes) -> bytes:
        if request.startswith(b"OPTIONS"):
            return answers(request)
        return answers(request, "401 No", f"WWW-Authenticate: {challenge}" if challenge else "")

    async with by_stream(answer) as address:
        assert (await told(trunk_at(address, transport="tcp")))[2] == ("register", False, detail)


@pytest.mark.parametrize(
    ("answer", "detail"),
    [
        (b"", NO_ANSWER),
        (b"x" * 200_000, f"The connection failed (the connection was closed without an answer): {CHECK_ADDRESS}."),
        (b"SIP/2.0 200 OK\r\nContent-Length: 99999999999\r\n\r\n", NO_ANSWER),
        (b"HTTP/1.1 400 Bad Request\r\n\r\n", NO_ANSWER),
    ],
)
async def test_who_speaks_no_sip_is_no_trunk(answer: bytes, detail: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "STEP_S", 1.0)
    async with by_stream(lambda _: answer) as address:
        steps = await told(trunk_at(address, transport="tcp"))
    assert steps[1:] == [("reach", False, detail), NOT_REACHED]


async def test_a_long_reason_is_cut() -> None:
    async with by_stream(lambda request: answers(request, f"603 {'ha' * 5_000}\x07")) as address:
        (_, _, detail) = (await told(trunk_at(address, transport="tcp")))[1]
    assert len(detail) < 130
    assert detail.isprintable()
