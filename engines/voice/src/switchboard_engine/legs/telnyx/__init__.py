"""Telnyx's Voice API: commands and webhooks for calls, a websocket for their media."""
