/* The least that a supervisor can do for a notified call: what sidecall's cost is held against. */
#pragma once

#ifdef __cplusplus
extern "C" {
#endif

/* Receives on `listener` and answers `value` until the last user has exited. Returns 0, or an
   errno. No look-up, no check, no statistics, no second thread. */
int floor_serve(int listener, long value);

#ifdef __cplusplus
}
#endif
