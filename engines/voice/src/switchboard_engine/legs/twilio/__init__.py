"""Twilio's programmable voice: REST for calls, a websocket for their media."""
