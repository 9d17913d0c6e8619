"""Addresses of machines: which can be reached from this one alone."""

from ipaddress import ip_address

__all__ = ["is_loopback"]


def is_loopback(host: str) -> bool:
    """Whether an address can be reached from this machine alone."""
    if host == "localhost":
        return True
    try:
        return ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False
