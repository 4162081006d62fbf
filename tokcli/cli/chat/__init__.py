"""Requests to chat models: read from JSON to messages, tools and what is left out, and counted by rules.

What the counts are shown as is decided in count/.
"""
