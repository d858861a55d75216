"""What uses a variable of a function graph, in as little memory as most variables need.

Nearly all variables are used in one place. Nothing is told of a variable without clients, the client itself of one that
has a single one, and a dictionary of one that has, or had, several: client -> the moment of its arrival, which orders
them when one that was taken away comes back. The first of several has come at the moment 0.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from .._expression._nodes import Apply

#: What uses a variable: a node and the index among its inputs, or the word "output" and the index among the outputs.
Client = tuple["Apply | Literal['output']", int]
Uses = None | Client | dict[Client, int]
OUTPUT: Literal["output"] = "output"


def with_client(uses: Any, client: Client, moment: int) -> Uses:
    """Return `uses` with one client more; `moment` tells since when."""
    if uses is None:
        return client
    if uses.__class__ is tuple:
        return {uses: 0, client: moment}
    uses[client] = moment
    return uses  # type: ignore[no-any-return]  # a dictionary


def without_client(uses: Any, client: Client) -> tuple[Uses, int]:
    """Return `uses` without a client, and since when it was one; KeyError if it was none."""
    if uses.__class__ is dict:
        return uses, uses.pop(client)
    if uses != client:
        raise KeyError(client)
    return None, 0


def clients_in(uses: Any) -> list[Client]:
    """Return the clients in order of arrival."""
    if uses is None:
        return []
    return [uses] if uses.__class__ is tuple else list(uses)


def number_of(uses: Any) -> int:
    """Return how many clients there are."""
    if uses is None:
        return 0
    return 1 if uses.__class__ is tuple else len(uses)


def is_client(uses: Any, client: Client) -> bool:
    """Tell whether `client` is one of them."""
    if uses.__class__ is dict:
        return client in uses
    return bool(uses == client)


def by_arrival(uses: Any) -> Uses:
    """Return `uses` with the clients in order of arrival."""
    if uses.__class__ is dict:
        return dict(sorted(uses.items(), key=lambda item: item[1]))
    return uses  # type: ignore[no-any-return]  # one client or none
