/* What all BPF programs of the agent share: the ring buffer through which they send, which processes they look at,
 * what they counted. Programs are loaded with these maps in place of their own. The kernel wakes the loop only
 * when a process becomes a program, and for its first event: its files may be gone soon; all else waits for the
 * next pass. Single-threaded: only the agent loop calls it. */
#ifndef BPF_RING_H
#define BPF_RING_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "bpf/sample_event.h"

#define BPF_RING_SIZE_DEFAULT (8u << 20) /* bytes */
#define BPF_RING_SIZE_MAX     (1u << 30)

struct bpf_object;
struct bpf_ring;

#define BPF_RING_ENOUGH 1 /* of a callback: what follows has to wait */

/* An event, borrowed for the call; its sizes are checked. 0; BPF_RING_ENOUGH, or -errno, which end the drain after
 * this event. */
typedef int (*bpf_ring_event)(void *context, const struct sample_event *event);

/* size_bytes is rounded up to a power of two of pages; 0: the default. Begins to follow the forks of watched
 * processes. 0 or -errno of the kernel, and *what is then the step that failed, for bpf_rights_explain(). On error
 * *ring is NULL. */
int bpf_ring_create(uint32_t size_bytes, bpf_ring_event event, void *context,
		    struct bpf_ring **ring, const char **what);
void bpf_ring_destroy(struct bpf_ring *ring); /* accepts NULL */

/* Runs a program that is loaded, without an argument, now. 0 or -errno. */
int bpf_ring_run_once(int program_fd);

/* Makes an object that is open, and not loaded yet, use these maps. 0 or -errno. */
int bpf_ring_share(const struct bpf_ring *ring, struct bpf_object *object);

/* Readable when the loop should drain at once; level-triggered until bpf_ring_quiet(). */
int bpf_ring_fd(const struct bpf_ring *ring);
void bpf_ring_quiet(struct bpf_ring *ring);

/* Calls back for what is there, in the order in which it was written. 0: it is empty; else what the callback
 * returned. */
int bpf_ring_drain(struct bpf_ring *ring);

/* Bytes that the programs have ever written, and that were read of them. */
uint64_t bpf_ring_written(const struct bpf_ring *ring);
uint64_t bpf_ring_read(const struct bpf_ring *ring);

/* How much of the buffer is taken, in percent. */
uint32_t bpf_ring_fill(const struct bpf_ring *ring);

/* Whose threads are looked at, and all that they start from now on. flags: enum watched_flags. 0; -E2BIG:
 * SAMPLE_PROCESSES_MAX; other -errno. */
int bpf_ring_watch(struct bpf_ring *ring, pid_t pid, uint64_t start, uint32_t flags);
void bpf_ring_unwatch(struct bpf_ring *ring, pid_t pid);

/* Where its interpreter has its Python frames, from now on; NULL: nowhere. Without room there are none. */
void bpf_ring_set_python(struct bpf_ring *ring, pid_t pid, const struct sample_python *where);

/* More of enum watched_flags, and less; no change where the pid is not watched. */
void bpf_ring_set_flags(struct bpf_ring *ring, pid_t pid, uint32_t set, uint32_t cleared);

/* false: the pid is not watched; *watched is then undefined. */
bool bpf_ring_lookup(const struct bpf_ring *ring, pid_t pid, struct watched *watched);

/* The next one after pid, 0: the first. 0: there is none. One that was unwatched meanwhile begins anew. */
pid_t bpf_ring_next(const struct bpf_ring *ring, pid_t pid, struct watched *watched);

/* What was counted for a process since it was watched, over all CPUs; zeros: it is not. */
void bpf_ring_counts(const struct bpf_ring *ring, pid_t pid, struct sample_counts *counts);

/* Processes that could not be watched, waits that could not be noted, for lack of room. */
void bpf_ring_failures(const struct bpf_ring *ring, uint64_t *unwatched, uint64_t *unnoted);

#endif
