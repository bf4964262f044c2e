/* Knows the frames with which every program and every thread starts: the C library's, the loader's, and those by which
 * libstdc++ starts a thread. They may have no names, as the files are stripped. Readers see one frame in their place.
 * Pure; any thread. */
#ifndef START_FRAMES_H
#define START_FRAMES_H

#include <stdint.h>

struct catalog;

/* Returns the name of the frame in whose place the node stands, "[program start]" or "[thread start]", if it and all
 * nodes outside of it are such frames; else NULL. Static storage. */
const char *start_frames_name(const struct catalog *catalog, uint32_t node_id);

#endif
