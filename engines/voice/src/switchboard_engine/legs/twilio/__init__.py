"""Twilio's programmable voice: REST for calls, a websocket for their media."""

from .leg import TwilioArrival, TwilioLeg, TwilioSettings
from .line import TwilioLine

__all__ = ["TwilioArrival", "TwilioLeg", "TwilioLine", "TwilioSettings"]
