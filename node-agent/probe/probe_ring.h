/* Reads a BPF ring buffer (Documentation/bpf/ringbuf.rst of Linux) for a caller that must know how far it has read.
 * Either everything written before a moment has been read, or some of it is known to be still in writing.
 * Single-threaded: only the agent loop calls it. */
#ifndef PROBE_RING_H
#define PROBE_RING_H

#include <stddef.h>
#include <stdint.h>

struct probe_ring;

/* Maps a BPF map of this type; size_bytes is its max_entries. map_fd may be closed afterwards. 0 or -errno; on error
 * *ring is NULL. */
int probe_ring_open(int map_fd, uint32_t size_bytes, struct probe_ring **ring);
void probe_ring_close(struct probe_ring *ring); /* accepts NULL */

/* Returns the position up to which programs have taken room so far. A caller that has seen a thread's act after its
 * program ran also has that program's event before this position. */
uint64_t probe_ring_end(const struct probe_ring *ring);

/* Receives an event, borrowed for the call. Returns 0, or -errno, which ends the reading after this event. */
typedef int (*probe_ring_event)(void *context, const void *data, size_t size);

/* Reads up to `end`. 0: all of it was read; 1: a program has not finished the next event; the callback's -errno. */
int probe_ring_read(struct probe_ring *ring, uint64_t end, probe_ring_event event, void *context);

#endif
