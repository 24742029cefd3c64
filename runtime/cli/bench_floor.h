/* The least that a supervisor can do for a notified call: what sidecall's cost is held against. */
#pragma once

#ifdef __cplusplus
extern "C" {
#endif

enum FloorReply {
  kFloorValue,        /* SEND */
  kFloorAddfd,        /* ADDFD with FLAG_SEND */
  kFloorAddfdAndSend, /* two ioctls */
};

struct FloorJob {
  enum FloorReply reply;
  long value;          /* of kFloorValue */
  int source;          /* of the others: the descriptor that the caller gets a duplicate of */
  unsigned long spins; /* iterations of nothing between RECV and the reply */
};

/* Receives on `listener` and replies until the last user has exited. Returns 0, or an errno. No
   look-up, no check, no statistics, no second thread. */
int floor_serve(int listener, const struct FloorJob* job);

/* Iterations that take a microsecond on this CPU, now. */
unsigned long floor_spins_per_microsecond(void);

#ifdef __cplusplus
}
#endif
