"""Reads of SIP messages just what the leg needs: the start line, headers, the codec that an SDP answer chose.

The stack has parsed every message by itself (RFC 3261); this is for what it does not pass on.
"""

import re
from dataclasses import dataclass
from functools import cached_property
from typing import Self
from urllib.parse import unquote

COMPACT = {"i": "call-id", "f": "from", "t": "to", "m": "contact", "v": "via", "l": "content-length"}
SEQUENCE_DIGITS = 10
STATIC_CODECS = {0: "PCMU", 3: "GSM", 8: "PCMA", 9: "G722"}  # RFC 3551 section 6

_SECRET = re.compile(r"^((?:proxy-)?authorization:|a=crypto:)[^\r\n]*", re.IGNORECASE | re.MULTILINE)
_URI = re.compile(r"sips?:(?:([^@;>\s]*)@)?([^;>?\s]*)", re.IGNORECASE)
_AUDIO = re.compile(r"^m=audio (\d+) \S+ (\d+)", re.MULTILINE)


@dataclass(frozen=True)
class Message:
    """A request or a response; header names are in lower case, the first of several headers of a name counts."""

    start: tuple[str, str, str]
    headers: dict[str, str]
    body: str
    fields: tuple[tuple[str, str], ...] = ()

    @classmethod
    def parse(cls, packet: bytes) -> Self | None:
        """Parse a packet; None where it is no SIP message, such as a keep-alive (RFC 5626 section 4.4.1)."""
        head, _, body = packet.lstrip(b"\r\n").decode("utf-8", "replace").partition("\r\n\r\n")
        lines = re.sub(r"\r\n[ \t]+", " ", head).split("\r\n")
        first, _, rest = lines[0].partition(" ")
        second, _, third = rest.partition(" ")
        if "SIP/2.0" not in (first, third):
            return None
        parts = (line.partition(":") for line in lines[1:])
        named = ((name.strip().lower(), value.strip()) for name, _, value in parts)
        fields = tuple((COMPACT.get(name, name), value) for name, value in named)
        return cls((first, second, third), dict(reversed(fields)), body, fields)

    def all(self, name: str) -> list[str]:
        """Return the values of all headers of a name, in order."""
        return [value for known, value in self.fields if known == name]

    @cached_property
    def sequence(self) -> int:
        """The number in CSeq, 0 where it is none."""
        number = self.headers.get("cseq", "").partition(" ")[0]
        return int(number) if number.isascii() and number.isdecimal() and len(number) <= SEQUENCE_DIGITS else 0

    @property
    def is_response(self) -> bool:
        """Whether it answers a request."""
        return self.start[0] == "SIP/2.0"

    @property
    def status(self) -> int | None:
        """The status of a response, 100 to 699."""
        return int(self.start[1]) if self.is_response and self.start[1].isdigit() else None

    @property
    def request_uri(self) -> str:
        """The address that a request is for."""
        return self.start[1]

    @cached_property
    def method(self) -> str:
        """The method of the request, or of the request that is answered."""
        return self.headers.get("cseq", "").rpartition(" ")[2] if self.is_response else self.start[0]

    @property
    def call_id(self) -> str:
        """The Call-ID, empty where it is missing."""
        return self.headers.get("call-id", "")

    @cached_property
    def codec(self) -> str | None:
        """The first codec of the body's audio, by its name; None without audio."""
        found = _AUDIO.search(self.body)
        if found is None:
            return None
        payload = int(found[2])
        named = re.search(rf"^a=rtpmap:{payload} ([^/\s]+)", self.body, re.MULTILINE)
        return named[1].upper() if named else STATIC_CODECS.get(payload, str(payload))


def without_secrets(packet: bytes) -> str:
    """Return a message for the log: without digests and SRTP keys."""
    return _SECRET.sub(r"\1 ...", packet.decode("utf-8", "replace"))


def user(text: str) -> str:
    """Return the user of the SIP URI in a header's value, `""` where there is none."""
    found = _URI.search(text)
    return unquote(found[1].partition(":")[0]) if found and found[1] else ""


def address_of_record(text: str) -> str:
    """Return `user@host` or `user@host:port` of the SIP URI in a header's value, without its parameters."""
    found = _URI.search(text)
    return f"{unquote(found[1] or '')}@{found[2]}" if found else ""
