/* Launches that must not be in an exact window (exact_windows.h): of kernels that wait for other GPUs, and of graphs
 * that may have such kernels. Any thread. */
#ifndef WAITING_LAUNCHES_H
#define WAITING_LAUNCHES_H

#include <stdbool.h>
#include <stdint.h>

/* Looks whether the process has loaded NCCL. Not in a callback: it takes the loader's lock. */
void waiting_launches_look(void);

/* Returns whether a launch is one. kernel: its name, or NULL. Every graph is one once NCCL was loaded, or its first
 * kernel launched. */
bool waiting_launches_has(uint32_t cbid, const char *kernel);

#endif
