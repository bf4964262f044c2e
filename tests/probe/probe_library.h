/* The guest's probe, to be fired from outside. Any thread. */
#ifndef PROBE_LIBRARY_H
#define PROBE_LIBRARY_H

#include <stdint.h>

__attribute__((visibility("default"))) uint32_t probe_library_watchers(void);
__attribute__((visibility("default"))) void probe_library_fire(uint32_t correlation_id);

#endif
