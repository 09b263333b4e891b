"""SIP in the process."""

from .leg import SipArrival, SipLeg, SipSettings
from .line import SipLine
from .transport import SipTransport

__all__ = ["SipArrival", "SipLeg", "SipLine", "SipSettings", "SipTransport"]
