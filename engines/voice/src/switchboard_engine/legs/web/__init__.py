"""Browsers, by WebRTC."""
