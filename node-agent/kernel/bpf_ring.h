/* Holds the maps that all BPF programs of the agent share: the ring buffer through which they send, the list of watched
 * processes, and the counts. Programs are loaded with these maps in place of their own. The kernel wakes the loop only
 * when a process becomes a program, and for that program's first event, because its files may be gone soon. All other
 * events wait for the next pass. Single-threaded: only the agent loop calls it. */
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

#define BPF_RING_ENOUGH 1 /* a callback's result: later events have to wait */

/* Receives an event, borrowed for the call, whose sizes are checked. Returns 0; BPF_RING_ENOUGH or -errno end the drain
 * after this event. */
typedef int (*bpf_ring_event)(void *context, const struct sample_event *event);

/* Creates the maps, and begins to follow the forks of watched processes. size_bytes is rounded up to a power of two of
 * pages; 0: the default. 0 or -errno of the kernel; *what is then the step that failed, for bpf_rights_explain(). On
 * error *ring is NULL. */
int bpf_ring_create(uint32_t size_bytes, bpf_ring_event event, void *context,
		    struct bpf_ring **ring, const char **what);
void bpf_ring_destroy(struct bpf_ring *ring); /* accepts NULL */

/* Returns the size of a ring that holds wanted bytes (0: otherwise): a page, doubled as often as it takes, at most
 * BPF_RING_SIZE_MAX. */
uint32_t bpf_ring_size(uint32_t wanted, uint32_t otherwise);

/* Runs a loaded program now, without an argument. 0 or -errno. */
int bpf_ring_run_once(int program_fd);

/* Makes an object, which is open and not loaded yet, use these maps. 0 or -errno. */
int bpf_ring_share(const struct bpf_ring *ring, struct bpf_object *object);

/* Returns a descriptor that is readable when the loop should drain at once. It is level-triggered until
 * bpf_ring_quiet(). */
int bpf_ring_fd(const struct bpf_ring *ring);
void bpf_ring_quiet(struct bpf_ring *ring);

/* Calls back for all waiting events, in the order in which they were written. 0: the ring is empty; else the callback's
 * result. */
int bpf_ring_drain(struct bpf_ring *ring);

/* Return the bytes that the programs have ever written, and how many of them were read. */
uint64_t bpf_ring_written(const struct bpf_ring *ring);
uint64_t bpf_ring_read(const struct bpf_ring *ring);

/* Returns how much of the buffer is taken, in percent. */
uint32_t bpf_ring_fill(const struct bpf_ring *ring);

/* Watches the threads of a process, and of all processes that it starts from now on. flags: enum watched_flags. 0;
 * -E2BIG: SAMPLE_PROCESSES_MAX; other -errno. */
int bpf_ring_watch(struct bpf_ring *ring, pid_t pid, uint64_t start, uint32_t flags);
void bpf_ring_unwatch(struct bpf_ring *ring, pid_t pid);

/* Says where the process's interpreter keeps its Python frames from now on; NULL: nowhere. If the map has no room, the
 * process's Python frames are missing. */
void bpf_ring_set_python(struct bpf_ring *ring, pid_t pid, const struct sample_python *where);

/* Sets and clears flags of enum watched_flags. A pid that is not watched changes nothing. */
void bpf_ring_set_flags(struct bpf_ring *ring, pid_t pid, uint32_t set, uint32_t cleared);

/* Looks up a watched process. false: the pid is not watched; *watched is then undefined. */
bool bpf_ring_lookup(const struct bpf_ring *ring, pid_t pid, struct watched *watched);

/* Returns the next watched process after pid; pid 0: the first. 0: no further process. If pid was unwatched meanwhile,
 * the loop begins anew. */
pid_t bpf_ring_next(const struct bpf_ring *ring, pid_t pid, struct watched *watched);

/* Reads the counts of a process since it was watched, over all CPUs; zeros: it is not watched. */
void bpf_ring_counts(const struct bpf_ring *ring, pid_t pid, struct sample_counts *counts);

/* Counts processes that could not be watched, and waits that could not be noted, for lack of room. */
void bpf_ring_failures(const struct bpf_ring *ring, uint64_t *unwatched, uint64_t *unnoted);

#endif
