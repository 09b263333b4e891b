"""Asterisk in front: its REST interface (ARI) for calls, its websocket channel for their media."""
