"""From the function of one step to a loop: `scan` and functions written with it.

`_arguments` reads the caller's sequences, states and steps, `_step_call` calls the caller's function, and
`_scan` makes the loop. `_views` and `_checkpoints` are forms of `scan` with other arguments.
"""
