"""What is wrong with a trunk, in sentences that say what to do: the same of its registration as of its check."""

import errno
import re
import ssl
from typing import Literal

from ..leg import Telephony
from .exchange import CHALLENGES

_QUOTED_CHARS_MAX = 60
_FORBIDDEN = 403
_NOT_FOUND = 404
_SERVER_FAILURES = range(500, 600)
_CHECK_ADDRESS = "check address, port and transport"

UNSENDABLE = "The trunk has a member with characters that SIP cannot carry: check user name, number and address."
UNFOUND = "The address is not found: check how it is written."


def of_answer(by: Literal["registrar", "trunk"], status: int, reason: str, trunk: Telephony) -> str:
    """Say what a final response means that refuses us; whoever sent it decides neither length nor characters."""
    said = quoted(status, reason, trunk.password)
    if status in CHALLENGES:
        if trunk.username and trunk.password:
            return f"The {by} refused the user name or password ({said}): check both."
        missing = "password" if trunk.username else "user name"
        return f"The {by} asks for user name and password ({said}): the trunk has no {missing}."
    if status == _FORBIDDEN:
        return f"The {by} forbids it ({said}): check user name and password, and whether it lets our address in."
    if status == _NOT_FOUND:
        return f"The {by} does not know the user ({said}): check user name and address."
    if status in _SERVER_FAILURES:
        return f"The {by} cannot do it at present ({said}): if that lasts, ask who runs it."
    return f"The {by} refuses the request ({said}): ask who runs it."


def unknown_proof(status: int, reason: str, trunk: Telephony) -> str:
    """Say that a challenge is none that is known here."""
    said = quoted(status, reason, trunk.password)
    return f"The trunk asks for another proof than a digest with MD5 or SHA-256 ({said}): ask who runs it."


def unresolved(within_s: float) -> str:
    """Say that no name server answered."""
    return f"The name servers gave no answer within {within_s:.0f} s: try again, or write an IP address."


def no_answer(within_s: float) -> str:
    """Say that nothing came back."""
    return f"There was no answer within {within_s:.0f} s: {_CHECK_ADDRESS}, and firewalls on the way."


def no_answer_to_credentials(within_s: float) -> str:
    """Say that who had answered before did not do so when it was asked for a registration, or shown credentials."""
    return f"The trunk was reached, but did not answer the registration within {within_s:.0f} s: ask who runs it."


def of_error(error: OSError, within_s: float) -> str:
    """Say what an error of the network means; `within_s` is how long an answer was waited for."""
    match error:
        case ssl.SSLCertVerificationError():
            return (
                f"The certificate is not trusted ({_tidy(error.verify_message)}): it needs an authority that we know."
            )
        case ssl.SSLError():
            reason = getattr(error, "reason", None) or "the handshake failed"  # only OpenSSL's own errors have one
            return f"There is no TLS ({_tidy(reason)}): check port and transport."
        case TimeoutError():
            return no_answer(within_s)
        case ConnectionRefusedError():
            return f"Nothing listens there: {_CHECK_ADDRESS}."
        case _ if error.errno == errno.EDESTADDRREQ:  # the stack says so of a name that it does not find
            return UNFOUND
        case _:
            return f"The connection failed ({_tidy(error.strerror or str(error))}): {_CHECK_ADDRESS}."


def of_stack(text: str, within_s: float) -> str:
    """Say what the SIP stack means, which writes `Connection refused [111]`, and nothing where nothing came."""
    if not text:
        return no_answer(within_s)
    numbered = re.fullmatch(r"(.*) \[(\d+)\]", text, re.DOTALL)
    return of_error(OSError(int(numbered[2]), numbered[1]) if numbered else OSError(0, text), within_s)


def quoted(status: int, reason: str, password: str = "") -> str:
    """Return status and reason without the password."""
    return f"{status} {_tidy(reason.replace(password, '…') if password else reason)}".strip()


def _tidy(text: str) -> str:
    return "".join(filter(str.isprintable, text))[:_QUOTED_CHARS_MAX]
