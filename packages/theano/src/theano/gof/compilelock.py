"""The locks by which processes wait for each other's compilations."""

from theano_linker_c.compiler import set_lock_status as set_lock_status

__all__ = ["set_lock_status"]
