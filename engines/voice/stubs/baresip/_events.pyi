from collections.abc import Callable

Sink = Callable[[int, int, bytes | None], None]

def set_sink(sink: Sink | None) -> Sink | None: ...
