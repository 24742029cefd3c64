/* Attacks of a container on its supervisor. Each works for `kSeconds` below the working directory
   and says what it saw; tests/e2e/test_hostile_container.py looks at what it has left. */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

enum { kSeconds = 1 };

/* How often one of a race's sides was the one that counted. An attack that never saw both has raced
   with nobody, and shows nothing. */
struct Seen {
  unsigned long one;
  unsigned long other;
  unsigned long neither;
  int error; /* the last one, of what was neither */
};

/* Set when the time is over. */
extern atomic_bool g_over;

/* Starts a thread that calls `flip` until the time is over, and ends the program where it cannot.
 */
void start_flipping(void (*flip)(void));
/* Ends the program with `what` and errno. */
_Noreturn void give_up(const char* what);

/* Counts a call of which errno says what came: one of the others' errors, or none of the two. */
void count_error(struct Seen* seen, int error, const int* others);
/* Leaves what was written where other threads see it, for as long as a call takes. */
static inline void stay_so(void) {
  for (int turn = 0; turn < 1000; ++turn) __asm__ volatile("" ::: "memory");
}
/* The null device, which the policy allows. */
static inline dev_t null_device(void) {
  return makedev(1, 3);
}

struct Seen rewrite_path(void);
struct Seen swap_link(void);
struct Seen swap_descriptor(void);
struct Seen rewrite_attribute_name(void);
struct Seen flip_protection(void);
struct Seen move_string_to_page_end(void);
struct Seen kill_callers(void);
struct Seen execute_during_calls(void);
struct Seen interrupt_calls(void);
struct Seen stop_callers(void);
struct Seen call_from_many_threads(void);
struct Seen leave_namespaces(void);
struct Seen hold_actors_up(void);
struct Seen call_at_memory_limit(void);
