"""What an engine is run with: the supervisor's settings, and what each worker gets of them."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Self

from .plugs import DEFAULT_HANDLER


@dataclass(frozen=True, slots=True)
class WorkerSettings:
    """What one worker process is told; it goes over the channel, so that no process list shows the token.

    `legs` are plugs by name, `named_legs` the settings of this package's own legs (`legs.settings`), as JSON.
    `services` names what makes the conversation's services. `number` is the worker's, 1 to `workers`.
    """

    url: str
    token: str = field(repr=False)
    name: str
    capacity: int = 5
    handler: str = DEFAULT_HANDLER
    legs: Mapping[str, str] = field(default_factory=dict)
    named_legs: Mapping[str, Mapping[str, Any]] = field(default_factory=dict, repr=False)
    services: str | None = None
    number: int = 1
    workers: int = 1
    modes: tuple[str, ...] = ()
    account_ids: tuple[int, ...] = ()
    trunk_ids: tuple[int, ...] = ()
    types: tuple[str, ...] = ()
    web_url: str | None = None
    log_level: str = "INFO"

    def message(self) -> dict[str, Any]:
        """Return the settings as JSON."""
        members: dict[str, Any] = json.loads(json.dumps(asdict(self)))
        return members

    @classmethod
    def read(cls, message: Mapping[str, Any]) -> Self:
        """Read what `message` returned."""
        members: dict[str, Any] = dict(message)
        for name, value in message.items():
            members[name] = tuple(value) if isinstance(value, list) else value
        return cls(**members)


@dataclass(frozen=True, slots=True)
class RunSettings:
    """What a supervisor is run with; `worker` is the pattern of all, whose names end in their numbers from 1."""

    worker: WorkerSettings
    workers: int = 1
    health_host: str = "127.0.0.1"
    health_port: int = 9464
    drain_seconds: float = 300.0


@dataclass(frozen=True, slots=True)
class WorkerStats:
    """What a worker says of itself every second; counts are since its start.

    `refused` counts calls that came to a leg and were not taken, by leg and reason; `trunks` has the state of each
    trunk of which one is known.
    """

    running: int = 0
    claimed: int = 0
    ended: Mapping[str, int] = field(default_factory=dict)
    delivered: int = 0
    pending: int = 0
    heartbeat_age: float | None = None
    draining: bool = False
    refused: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    trunks: Mapping[str, str] = field(default_factory=dict)

    def message(self) -> dict[str, Any]:
        """Return the stats as JSON."""
        return asdict(self)

    @classmethod
    def read(cls, message: Mapping[str, Any]) -> Self:
        """Read what `message` returned."""
        return cls(**message)
