/* A profile of a running process without a guest: its calls of CUDA, as the kernel sees them. The main thread alone. */
#ifndef HOST_ONLY_H
#define HOST_ONLY_H

#include <stdbool.h>

struct target_process;

/* Says by a notice what there will be of this process, and how to have more; or, by an error, why there cannot be
 * anything. */
bool host_only_is_possible(const struct target_process *target);

/* The process, as it was meant, is there. */
bool host_only_is_alive(const struct target_process *target);

#endif
