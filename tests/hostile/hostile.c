/* Usage: hostile_caller ATTACK, in a directory that it may write to. Prints {"one": …, "other": …,
   "neither": …}. */
#include "hostile.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

atomic_bool g_over;

static void end_time(int signal) {
  (void)signal;
  g_over = true;
}

static void* keep_flipping(void* flip) {
  void (*once)(void);
  memcpy(&once, flip, sizeof once);
  while (!g_over) once();
  return NULL;
}

void start_flipping(void (*flip)(void)) {
  static void (*kept[8])(void);
  static int used;
  pthread_t thread;
  kept[used] = flip;
  if (pthread_create(&thread, NULL, keep_flipping, &kept[used++]) != 0) give_up("pthread_create");
}

void count_error(struct Seen* seen, int error, const int* others) {
  for (; *others != 0; ++others) {
    if (error == *others) {
      ++seen->other;
      return;
    }
  }
  ++seen->neither;
  seen->error = error;
}

void give_up(const char* what) {
  fprintf(stderr, "hostile_caller: %s: %s\n", what, strerror(errno));
  exit(1);
}

static const struct Attack {
  const char* name;
  struct Seen (*run)(void);
} kAttacks[] = {
    {"rewrite-path", rewrite_path},           {"swap-link", swap_link},
    {"swap-descriptor", swap_descriptor},     {"rewrite-attribute-name", rewrite_attribute_name},
    {"flip-protection", flip_protection},     {"string-at-page-end", move_string_to_page_end},
    {"kill-callers", kill_callers},           {"execute-during-calls", execute_during_calls},
    {"interrupt-calls", interrupt_calls},     {"stop-callers", stop_callers},
    {"many-threads", call_from_many_threads}, {"leave-namespaces", leave_namespaces},
    {"hold-actors-up", hold_actors_up},       {"at-memory-limit", call_at_memory_limit},
};

int main(int argc, char** argv) {
  const char* name = argc > 1 ? argv[1] : "";
  for (size_t at = 0; at < sizeof kAttacks / sizeof kAttacks[0]; ++at) {
    if (strcmp(kAttacks[at].name, name) != 0) continue;
    struct sigaction over = {.sa_handler = end_time, .sa_flags = SA_RESTART};
    sigaction(SIGALRM, &over, NULL);
    alarm(kSeconds);
    const struct Seen seen = kAttacks[at].run();
    printf("{\"one\": %lu, \"other\": %lu, ", seen.one, seen.other);
    printf("\"neither\": %lu, \"error\": \"%s\"}\n", seen.neither,
           seen.error != 0 ? strerror(seen.error) : "");
    return 0;
  }
  for (size_t at = 0; at < sizeof kAttacks / sizeof kAttacks[0]; ++at) puts(kAttacks[at].name);
  return 2;
}
