"""How a trunk is told to the stack."""

import re
from urllib.parse import quote

from baresip import Account

from ..leg import LegError, SipTransportName, Telephony

CODECS = ("pcmu", "pcma", "g722/16000/1")
_DIALABLE = re.compile(r"[+0-9A-Za-z*#._-]{1,64}")
_SRTP = {"off": (), "optional": ("mediaenc=srtp",), "required": ("mediaenc=srtp-mand",)}
# Requests outside of a dialog are not served. Without any video codec the stack has no video stream, for whose sake it
# would send a re-INVITE 100 ms after each answer.
_ALWAYS = ("inreq_allowed=no", "video_codecs=none")


def uri(telephony: Telephony, to: str) -> str:
    """Return the SIP URI of a number on a trunk.

    Raises:
        LegError: the number has characters that no number or extension has.
    """
    if not _DIALABLE.fullmatch(to):
        raise LegError(f"{to!r} cannot be dialed")
    return f"sip:{quote(to, safe='+*')}@{telephony.address};transport={telephony.transport}"


def route(telephony: Telephony) -> str | None:
    """Return the URI of the trunk's outbound proxy, None where it has none."""
    if not telephony.outbound_proxy:
        return None
    return f"sip:{telephony.outbound_proxy};transport={telephony.transport};lr"


def nat(stun_server: str) -> tuple[str, ...]:
    """Return the parameters by which an account asks a STUN server (`host:port`) where its audio goes."""
    return ("medianat=stun", f"stunserver=stun:{stun_server}") if stun_server else ()


def calling(telephony: Telephony, nat: tuple[str, ...] = ()) -> Account:
    """Return the account that calls from the trunk: its number in From, its user name in the digest.

    Raises:
        LegError: a member has characters that SIP's headers cannot carry.
    """
    return _account(telephony, telephony.from_ or telephony.username or "anonymous", 0, nat)


def registering(telephony: Telephony, interval_s: int, nat: tuple[str, ...] = ()) -> Account:
    """Return the account that registers the trunk, each `interval_s` seconds; raises as `calling`."""
    return _account(telephony, telephony.username, interval_s, nat)


def door(address: str, transport: SipTransportName, nat: tuple[str, ...] = ()) -> Account:
    """Return the account that takes the calls to us which no registration brought."""
    srtp = _SRTP["optional"] if transport == "tls" else ()
    extra = (*_ALWAYS, "catchall=yes", *srtp, *nat)
    return Account(
        "switchboard", address, "", reg_interval=0, transport=transport, audio_codecs=CODECS, extra_params=extra
    )


def _account(telephony: Telephony, user: str, interval_s: int, nat: tuple[str, ...]) -> Account:
    try:
        return Account(
            user,
            telephony.address,
            telephony.password,
            registrar=route(telephony),
            reg_interval=interval_s,
            transport=telephony.transport,
            audio_codecs=CODECS,
            auth_user=telephony.username or None,
            extra_params=(*_ALWAYS, *_SRTP[telephony.srtp], *nat),
        )
    except ValueError as error:
        raise LegError(f"trunk {telephony.trunk_id} cannot be used: {error}") from error
