"""What the legs use of baresip-python 0.5.2a3, whose own signatures are partly without types."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from .errors import (
    AudioNotActive as AudioNotActive,
)
from .errors import (
    AudioRestarted as AudioRestarted,
)
from .errors import (
    BaresipError as BaresipError,
)
from .errors import (
    RegistrationError as RegistrationError,
)
from .errors import (
    StaleHandleError as StaleHandleError,
)
from .errors import (
    TransferFailed as TransferFailed,
)
from .events import Event as Event
from .events import StackEvent as StackEvent

class Account:
    transport: Literal["udp", "tcp", "tls"]
    def __init__(
        self,
        user: str,
        domain: str,
        password: str,
        *,
        registrar: str | None = None,
        reg_interval: int = 600,
        transport: Literal["udp", "tcp", "tls"] = "udp",
        audio_codecs: tuple[str, ...] = ...,
        auth_user: str | None = None,
        extra_params: tuple[str, ...] = (),
    ) -> None: ...
    def aor(self) -> str: ...

class Config:
    def __init__(
        self,
        *,
        net_interface: str | None = None,
        max_concurrent_calls: int | None = 2,
        rtp_timeout: int = 0,
        sip_trace: bool = False,
        native_log_level: str = "warning",
        extra_config_text: str = "",
    ) -> None: ...

class Runtime:
    on_dead: Callable[[], None] | None
    def __init__(self) -> None: ...
    async def start(self, config: Config | None = None) -> None: ...
    async def close(self) -> None: ...
    async def cmd(self, cmd_id: int, *, args: str | None = None) -> tuple[int, bytes | None]: ...
    def subscribe(self, listener: Callable[[StackEvent], None]) -> None: ...

class UserAgent:
    @property
    def handle(self) -> int: ...
    @classmethod
    async def create(cls, runtime: Runtime, account: Account, *, transfer_policy: str = "manual") -> UserAgent: ...
    async def register(self, *, timeout: float = 10.0) -> None: ...
    async def dial(self, uri: str, headers: dict[str, str] | None = None) -> Call: ...
    def on_incoming(self, callback: Callable[[Call], None]) -> None: ...
    def on(self, listener: Callable[[StackEvent], None]) -> None: ...
    def off(self, listener: Callable[[StackEvent], None]) -> None: ...

@dataclass(frozen=True)
class DigitEvent:
    digit: str
    duration_ms: int

@dataclass(frozen=True)
class CallStats:
    rx_packets: int
    rx_lost: int
    rx_jitter_ms: float
    rtt_ms: float
    jbuf_lost: int | None
    jbuf_delay_ms: int | None
    jbuf_jitter_ms: int | None

class Call:
    call_id: str | None
    @property
    def handle(self) -> int: ...
    @property
    def audio(self) -> CallAudio: ...
    @property
    def final_stats(self) -> CallStats | None: ...
    async def answer(self) -> None: ...
    async def hangup(self) -> None: ...
    async def hold(self) -> None: ...
    async def resume(self) -> None: ...
    async def transfer(self, uri: str, *, timeout: float = 60.0) -> None: ...
    async def attended_transfer(self, consult_call: Call, *, timeout: float = 60.0) -> None: ...
    async def send_dtmf(self, digits: str, interdigit_ms: int = 120) -> None: ...
    def on(self, listener: Callable[[StackEvent], None]) -> None: ...
    def on_dtmf(self, callback: Callable[[DigitEvent], None]) -> None: ...
    def _on_stack_event(self, event: StackEvent) -> None: ...

@dataclass(frozen=True)
class AudioInfo:
    tx_sample_rate: int
    rx_sample_rate: int
    tx_buffered: int

class CallAudio:
    def info(self) -> AudioInfo: ...
    def read(self, max_bytes: int) -> bytes: ...
    def write(self, pcm: bytes) -> int: ...
    def flush_tx(self) -> None: ...
