"""Waiting for what another process does, without a test ever depending on how fast."""

import time

# Far beyond what any step takes, so that a loaded machine never decides a test.
PATIENCE_SECONDS = 30


class NeverHappened(AssertionError):
    """Something that must come true did not."""


def eventually(condition, what, patience=PATIENCE_SECONDS):
    """Returns the first true value of `condition()`; `what` says what is being waited for."""
    deadline = time.monotonic() + patience
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > deadline:
            raise NeverHappened(f"in {patience} s never: {what} (last: {value!r})")
        time.sleep(0.02)


def eventually_equal(look, wanted, what):
    """Waits until `look()` gives `wanted`; says what it gave instead."""
    try:
        eventually(lambda: look() == wanted, what)
    except NeverHappened:
        raise NeverHappened(f"{what}: is {look()!r}, should be {wanted!r}") from None
