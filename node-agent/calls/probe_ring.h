/* The agent's end of a BPF ring buffer (Documentation/bpf/ringbuf.rst of Linux), where it matters how far it was read:
 * what a program wrote before a moment is all read, or it is known that some of it is still being written.
 * Single-threaded: only the agent loop calls it. */
#ifndef PROBE_RING_H
#define PROBE_RING_H

#include <stddef.h>
#include <stdint.h>

struct probe_ring;

/* Maps a map of this type; size_bytes is its max_entries. map_fd may be closed afterwards. 0 or -errno; on error *ring
 * is NULL. */
int probe_ring_open(int map_fd, uint32_t size_bytes, struct probe_ring **ring);
void probe_ring_close(struct probe_ring *ring); /* accepts NULL */

/* Up to where room was taken so far. Whoever has seen what a thread did after its program ran, sees that program's
 * here. */
uint64_t probe_ring_end(const struct probe_ring *ring);

/* An event, borrowed for the call. 0, or -errno, which ends the reading after it. */
typedef int (*probe_ring_event)(void *context, const void *data, size_t size);

/* Reads up to `end`. 0: all of it; 1: a program has not finished what comes next; the callback's -errno. */
int probe_ring_read(struct probe_ring *ring, uint64_t end, probe_ring_event event, void *context);

#endif
