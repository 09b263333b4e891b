"""What a call's statistics say about how it was heard."""

from baresip import CallStats

from ..leg import Quality

# ITU-T G.113 appendix I: the robustness of G.711 to random loss without concealment, which the stack has none of.
_LOSS_ROBUSTNESS = 4.3
_PACKET_MS = 20
_LATE_MS = 177.3


def of(stats: CallStats | None, codec: str) -> Quality:
    """Return the quality of what was received; the best there is of a call that has no statistics.

    Losses are counted by the jitter buffer: the stack's own figure comes from the peer's RTCP, which many never send.
    """
    if stats is None:
        return Quality(mos=mos(0.0, _PACKET_MS), loss=0.0, jitter_ms=0.0, rtt_ms=0.0, codec=codec)
    lost = max(stats.rx_lost, stats.jbuf_lost or 0, 0)
    expected = stats.rx_packets + lost
    loss = lost / expected if expected else 0.0
    delay_ms = stats.rtt_ms / 2 + (stats.jbuf_delay_ms or 0) + _PACKET_MS
    jitter_ms = stats.rx_jitter_ms or float(stats.jbuf_jitter_ms or 0)
    return Quality(round(mos(loss, delay_ms), 2), round(loss, 4), jitter_ms, stats.rtt_ms, codec)


def mos(loss: float, delay_ms: float) -> float:
    """Return the mean opinion score by the E-model (ITU-T G.107), all but loss and delay at their defaults.

    Args:
        loss: share of packets lost, 0 to 1.
        delay_ms: from mouth to ear, one way.
    """
    delay_impairment = 0.024 * delay_ms + 0.11 * max(0.0, delay_ms - _LATE_MS)
    loss_impairment = 95 * 100 * loss / (100 * loss + _LOSS_ROBUSTNESS)
    rating = min(max(93.2 - delay_impairment - loss_impairment, 0.0), 100.0)
    return max(1.0, 1 + 0.035 * rating + 7e-6 * rating * (rating - 60) * (100 - rating))
