"""SIP in the process."""
