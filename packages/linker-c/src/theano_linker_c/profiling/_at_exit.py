"""Profiles that are printed when the program ends."""

from __future__ import annotations

import atexit
import sys
from typing import Any

from theano_graph import compose, config, current_origin

from ._stats import ProfileStats, total


class Printer:
    """Keeps profiles, and prints them and their sum at the end of the program."""

    def __init__(self) -> None:
        self.profiles: list[ProfileStats] = []

    def add(self, profile: ProfileStats) -> None:
        """Print a profile at the end."""
        if not self.profiles:
            atexit.register(self.print)
        self.profiles.append(profile)

    def print(self) -> None:
        """Print all profiles that were called or compiled, and their sum if there are several."""
        destination = config.profiling.destination
        if destination in ("stderr", "stdout"):
            self._write(getattr(sys, destination))
        else:
            with open(destination, "w", encoding="utf-8") as file:
                self._write(file)

    def _write(self, file: Any) -> None:
        for profile in self.profiles:
            profile.summary(file)
        if len(self.profiles) > 1:
            total(self.profiles).summary(file)


printer = Printer()
"""What prints the profiles of functions that the flag `profile` asks for."""


def as_profile(profile: Any, name: str | None, where: str) -> ProfileStats | None:
    """Return what the argument `profile` of `function` stands for.

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
    if not (profile is None or isinstance(profile, (bool, str))):
        raise TypeError(
            compose(f"{where}: profile is {profile!r}", mend="pass True, False, a ProfileStats, or leave it out.")
        )
    if profile is False or (profile is None and not config.profile):
        return None
    made = ProfileStats(profile if isinstance(profile, str) else name or _line())
    if config.profile:
        printer.add(made)
    return made


def _line() -> str | None:
    origin = current_origin()
    return None if origin is None else str(origin)
