"""SIP in the process."""

from .leg import SipArrival, SipLeg, SipSettings
from .line import SipLine

__all__ = ["SipArrival", "SipLeg", "SipLine", "SipSettings"]
