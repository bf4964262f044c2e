/* The maps of the agent's programs in the kernel, which this process has open. Single-threaded. */
#ifndef KERNEL_MAP_H
#define KERNEL_MAP_H

#include <stdbool.h>
#include <stdint.h>

/* The descriptor of the map of this name, borrowed until its programs are closed. It is the last one that was opened,
 * as a test that failed leaves its own. Fails the test where there is none. */
int kernel_map_find(const char *name);
/* Whether it has something by this key. Values have at most 4096 bytes. */
bool kernel_map_has(int map, uint32_t key);

#endif
