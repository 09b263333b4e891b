"""What the service answers, as frozen records (docs/api.md, The engine interface).

Members that are unknown are ignored, and one that is missing or of another type counts as absent, so that a newer
service can be served. `raw` keeps an object as it came.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

PROTOCOL = 2
"""Edition of the engine interface that this package speaks."""

Json = Mapping[str, Any]
"""A JSON object as it was read."""

_RUNNING = frozenset({"initiated", "ringing", "in-progress"})


@dataclass(frozen=True, slots=True)
class ServiceInfo:
    """Answer of `GET /engine`."""

    protocol: int
    release: str
    event_types: frozenset[str]
    lease_seconds: float
    limits: Json

    @classmethod
    def read(cls, answer: Json) -> "ServiceInfo":
        """Read the answer; a lease that is not given is 30 s."""
        return cls(
            protocol=integer(answer, "protocol") or 1,
            release=text(answer, "release") or "unknown",
            event_types=frozenset(kind for kind in _items(answer, "event_types") if isinstance(kind, str)),
            lease_seconds=number(answer, "lease_seconds") or 30.0,
            limits=mapping(answer, "limits"),
        )


@dataclass(frozen=True, slots=True)
class CallInfo:
    """The call object; phone numbers are E.164, None if withheld or not known."""

    id: int
    type: str
    status: str
    assistant_id: int | None
    assistant_phone_number: str | None
    client_phone_number: str | None
    from_raw: str | None
    variables: Json = field(repr=False)
    created_at: str | None
    raw: Json = field(repr=False)


@dataclass(frozen=True, slots=True)
class Telephony:
    """How to reach the far end: `kind` is sip, twilio or web; `dial` is already in the trunk's calling format.

    Credentials are there only for tokens made for telephony, and never in the text form of this record.
    """

    kind: str
    trunk_id: int | None
    caller: str | None
    dial: str | None
    address: str | None
    transport: str | None
    username: str | None
    password: str | None = field(repr=False)
    outbound_proxy: str | None
    raw: Json = field(repr=False)

    @classmethod
    def read(cls, entry: Json) -> "Telephony":
        """Read the object `telephony` of a call, or an entry of `trunks`; `caller` is its member `from`."""
        return cls(
            kind=text(entry, "kind") or "",
            trunk_id=integer(entry, "trunk_id"),
            caller=text(entry, "from"),
            dial=text(entry, "dial"),
            address=text(entry, "address"),
            transport=text(entry, "transport"),
            username=text(entry, "username"),
            password=text(entry, "password"),
            outbound_proxy=text(entry, "outbound_proxy"),
            raw=entry,
        )


@dataclass(frozen=True, slots=True)
class CatalogueEntry:
    """A voice, model, language or provider; `engine` is the catalogue's opaque `{vendor, model, voice_id, …}`."""

    id: int | None
    name: str | None
    code: str | None
    engine: Json
    raw: Json = field(repr=False)


@dataclass(frozen=True, slots=True)
class Function:
    """A function that the model may call: `parameters` is JSON Schema, `timeout` seconds.

    `kind` is `tool` (the service makes the request), `builtin` (the engine carries it out) or `search`. What a built-in
    function needs besides, such as a transfer's number, is in `raw`.
    """

    name: str
    description: str
    parameters: Json
    kind: str
    timeout: float | None
    raw: Json = field(repr=False)


@dataclass(frozen=True, slots=True)
class Timings:
    """Time limits of a call, seconds."""

    ringing_time: int
    max_duration: int
    max_silence_duration: int | None
    max_initial_silence_duration: int | None
    reengagement_interval: int | None


@dataclass(frozen=True, slots=True)
class Turns:
    """How the end of the customer's turn is found; `stop_ms` is silence, `min_words` those that interrupt."""

    strategy: str | None
    stop_ms: int | None
    min_words: int | None
    threshold: float | None


@dataclass(frozen=True, slots=True)
class Assistant:
    """The compiled assistant: texts have their variables filled in; every stored member is in `raw`."""

    name: str
    mode: str
    prompt: str | None = field(repr=False)
    greeting: str | None = field(repr=False)
    reengagement: str | None = field(repr=False)
    voicemail: str | None = field(repr=False)
    knowledge: str | None = field(repr=False)
    voice: CatalogueEntry | None
    spoken_language: CatalogueEntry | None
    secondary_languages: tuple[CatalogueEntry, ...]
    llm_model: CatalogueEntry | None
    multimodal_model: CatalogueEntry | None
    chat_llm_fallback: CatalogueEntry | None
    synthesizer_provider: CatalogueEntry | None
    transcriber_provider: CatalogueEntry | None
    functions: tuple[Function, ...]
    timings: Timings
    turns: Turns
    record: bool
    allow_interruptions: bool
    wait_for_customer: bool
    raw: Json = field(repr=False)

    @classmethod
    def read(cls, entry: Json) -> "Assistant":
        """Read the member `assistant` of a claimed call."""
        functions = (_function(function) for function in entries(entry, "functions"))
        return cls(
            name=text(entry, "name") or "",
            mode=text(entry, "mode") or "pipeline",
            prompt=text(entry, "prompt"),
            greeting=text(entry, "greeting"),
            reengagement=text(entry, "reengagement"),
            voicemail=text(entry, "voicemail"),
            knowledge=text(entry, "knowledge"),
            voice=_catalogue(entry, "voice"),
            spoken_language=_catalogue(entry, "spoken_language"),
            secondary_languages=tuple(_entry(language) for language in entries(entry, "secondary_languages")),
            llm_model=_catalogue(entry, "llm_model"),
            multimodal_model=_catalogue(entry, "multimodal_model"),
            chat_llm_fallback=_catalogue(entry, "chat_llm_fallback"),
            synthesizer_provider=_catalogue(entry, "synthesizer_provider"),
            transcriber_provider=_catalogue(entry, "transcriber_provider"),
            functions=tuple(function for function in functions if function is not None),
            timings=_timings(mapping(entry, "timings")),
            turns=_turns(mapping(entry, "turns")),
            record=flag(entry, "record", absent=False),
            allow_interruptions=flag(entry, "allow_interruptions", absent=True),
            wait_for_customer=flag(entry, "wait_for_customer", absent=False),
            raw=entry,
        )

    def function(self, name: str) -> Function | None:
        """Return the function of this name."""
        return next((function for function in self.functions if function.name == name), None)


@dataclass(frozen=True, slots=True)
class Claimed:
    """A call that is this engine's, as a claim or an arrival brings it; `next_seq` is its first event's number."""

    call: CallInfo
    assistant: Assistant
    telephony: Telephony | None
    next_seq: int

    @classmethod
    def read(cls, entry: Json) -> "Claimed | None":
        """Read an entry of `calls`; None when it has no call with an id."""
        call = mapping(entry, "call")
        call_id = integer(call, "id")
        if call_id is None or call_id <= 0:
            return None
        telephony = mapping(entry, "telephony")
        return cls(
            call=CallInfo(
                id=call_id,
                type=text(call, "type") or "outbound",
                status=text(call, "status") or "initiated",
                assistant_id=integer(call, "assistant_id"),
                assistant_phone_number=text(call, "assistant_phone_number"),
                client_phone_number=text(call, "client_phone_number"),
                from_raw=text(call, "from_raw"),
                variables=mapping(call, "variables"),
                created_at=text(call, "created_at"),
                raw=call,
            ),
            assistant=Assistant.read(mapping(entry, "assistant")),
            telephony=Telephony.read(telephony) if telephony else None,
            next_seq=max(1, integer(entry, "next_seq") or 1),
        )


@dataclass(frozen=True, slots=True)
class Command:
    """What the service wants done in a call; `raw` has the members that a type adds.

    Types: `hangup`, `say` and `context` (`text`), `transfer` (`to`), `dtmf` (`digits`), `hold`, `resume`, `end`
    (`after`: "sentence"). Others may be added: refuse what is unknown.
    """

    call_id: int
    id: int | str
    type: str
    text: str | None
    to: str | None
    digits: str | None
    after: str | None
    raw: Json = field(repr=False)


@dataclass(frozen=True, slots=True)
class EventsAnswer:
    """Answer to reported events."""

    call_status: str
    commands: tuple[Command, ...]
    ignored: tuple[str, ...]

    @property
    def is_over(self) -> bool:
        """Whether the call has ended for the service."""
        return self.call_status not in _RUNNING

    @classmethod
    def read(cls, answer: Json, call_id: int) -> "EventsAnswer":
        """Read the answer; a status that is missing counts as that of a running call."""
        return cls(
            call_status=text(answer, "call_status") or "in-progress",
            commands=read_commands(answer, call_id),
            ignored=tuple(kind for entry in entries(answer, "ignored") if (kind := text(entry, "type"))),
        )


@dataclass(frozen=True, slots=True)
class ToolAnswer:
    """What a tool's endpoint answered: its HTTP status, its body, and the time it took."""

    status: int
    body: str
    duration_ms: int


@dataclass(frozen=True, slots=True)
class Passage:
    """A passage of the assistant's knowledgebase that fits a query."""

    document_id: int | None
    document_name: str | None
    score: float
    text: str


@dataclass(frozen=True, slots=True)
class Trunks:
    """All trunks of the token's accounts, at a version."""

    version: int | str
    trunks: tuple[Telephony, ...]


def read_commands(answer: Json, call_id: int | None = None) -> tuple[Command, ...]:
    """Read the list `commands`; those that name no call are of `call_id`, those without id or type are left out."""
    found = []
    for entry in entries(answer, "commands"):
        call = integer(entry, "call_id") or call_id
        command_id = integer(entry, "id") or text(entry, "id")
        kind = text(entry, "type")
        if call is not None and command_id is not None and kind is not None:
            members = {name: text(entry, name) for name in ("text", "to", "digits", "after")}
            found.append(Command(call_id=call, id=command_id, type=kind, raw=entry, **members))
    return tuple(found)


def text(entry: Json, name: str) -> str | None:
    """Return a text that is not empty."""
    value = entry.get(name)
    return value if isinstance(value, str) and value else None


def integer(entry: Json, name: str) -> int | None:
    """Return an integer; booleans are none."""
    value = entry.get(name)
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def number(entry: Json, name: str) -> float | None:
    """Return a number; booleans are none."""
    value = entry.get(name)
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def flag(entry: Json, name: str, *, absent: bool) -> bool:
    """Return a boolean, also in its stored form of 1 and 0; `absent` for anything else."""
    value = entry.get(name)
    return bool(value) if isinstance(value, bool | int) else absent


def mapping(entry: Json, name: str) -> Json:
    """Return an object, empty for anything else."""
    value = entry.get(name)
    return value if isinstance(value, Mapping) else {}


def entries(entry: Json, name: str) -> list[Json]:
    """Return the objects of a list, without entries that are none."""
    return [item for item in _items(entry, name) if isinstance(item, Mapping)]


def _items(entry: Json, name: str) -> list[Any]:
    value = entry.get(name)
    return value if isinstance(value, list) else []


def _entry(entry: Json) -> CatalogueEntry:
    return CatalogueEntry(
        id=integer(entry, "id"),
        name=text(entry, "name"),
        code=text(entry, "code"),
        engine=mapping(entry, "engine"),
        raw=entry,
    )


def _catalogue(entry: Json, name: str) -> CatalogueEntry | None:
    found = mapping(entry, name)
    return _entry(found) if found else None


def _function(entry: Json) -> Function | None:
    name = text(entry, "name")
    if name is None:
        return None
    return Function(
        name=name,
        description=text(entry, "description") or "",
        parameters=mapping(entry, "parameters"),
        kind=text(entry, "kind") or "tool",
        timeout=number(entry, "timeout"),
        raw=entry,
    )


def _timings(entry: Json) -> Timings:
    return Timings(
        ringing_time=integer(entry, "ringing_time") or 30,
        max_duration=integer(entry, "max_duration") or 600,
        max_silence_duration=integer(entry, "max_silence_duration"),
        max_initial_silence_duration=integer(entry, "max_initial_silence_duration"),
        reengagement_interval=integer(entry, "reengagement_interval"),
    )


def _turns(entry: Json) -> Turns:
    return Turns(
        strategy=text(entry, "strategy"),
        stop_ms=integer(entry, "stop_ms"),
        min_words=integer(entry, "min_words"),
        threshold=number(entry, "threshold"),
    )
