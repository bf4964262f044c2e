/* Prepares a profile of a running process without a guest: its calls of CUDA, as the kernel sees them. The main thread
 * alone. */
#ifndef HOST_ONLY_H
#define HOST_ONLY_H

#include <stdbool.h>

struct target_process;

/* Returns whether a profile of this process is possible. A notice says what it will contain, and how to get more; or an
 * error says why it is impossible. */
bool host_only_is_possible(const struct target_process *target);

/* Returns whether this process still runs, and its pid was not reused. */
bool host_only_is_alive(const struct target_process *target);

#endif
