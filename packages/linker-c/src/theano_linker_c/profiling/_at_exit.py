"""Profiles that are printed when the program ends."""

from __future__ import annotations

import atexit
import sys
from typing import Any

from theano_graph import config, current_origin, format_error

from ._stats import ProfileStats, printed_at_exit, total


class Printer:
    """Keeps profiles, and prints them and their sum at the end of the program."""

    def __init__(self) -> None:
        self.profiles: list[ProfileStats] = []

    def add(self, profile: ProfileStats) -> None:
        """Print a profile at the end."""
        self.profiles.append(profile)

    def print(self) -> None:
        """Print all profiles, and their sum if there are several."""
        if not self._wanted():
            return
        destination = config.profiling.destination
        if destination in ("stderr", "stdout"):
            self._write(getattr(sys, destination))
        else:
            with open(destination, "w", encoding="utf-8") as file:
                self._write(file)

    def _write(self, file: Any) -> None:
        profiles = self._wanted()
        for profile in profiles:
            profile.summary(file)
        if len(profiles) > 1:
            total(profiles).summary(file)

    def _wanted(self) -> list[ProfileStats]:
        """Return the text to print: profiles that users made count where the flag is set."""
        others = [p for p in printed_at_exit if p not in self.profiles] if config.profile else []
        return [*self.profiles, *others]


printer = Printer()
atexit.register(printer.print)
"""Prints the profiles of functions that the flag `profile` asks for."""


def as_profile(profile: Any, name: str | None, where: str) -> ProfileStats | None:
    """Return the profile for the argument `profile` of `function`.

    Parameters
    ----------
    profile : None, bool, str or ProfileStats
        None follows the flag `profile`; with the flag set, the profile is also printed at the end of the program.
        Text is the message of a new profile.
    name : str or None
        Name of the function; by default the user's line is put into the message.

    Raises
    ------
    TypeError
        For anything else.
    """
    if isinstance(profile, ProfileStats):
        return profile
    if isinstance(profile, int) and profile in (0, 1):
        profile = bool(profile)
    if not (profile is None or isinstance(profile, (bool, str))):
        raise TypeError(
            format_error(f"{where}: profile is {profile!r}", hint="pass True, False, a ProfileStats, or leave it out.")
        )
    if profile is False or (profile is None and not config.profile):
        return None
    profile_stats = ProfileStats(False, message=profile if isinstance(profile, str) else name or _line())
    if config.profile:
        printer.add(profile_stats)
    return profile_stats


def _line() -> str | None:
    origin = current_origin()
    return None if origin is None else str(origin)
