"""Browsers, by WebRTC."""

from .leg import WebArrival, WebLeg, WebSettings
from .line import WebLine

__all__ = ["WebArrival", "WebLeg", "WebLine", "WebSettings"]
