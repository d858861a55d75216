"""Tests of the runtime of devices in C."""
