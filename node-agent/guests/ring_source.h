/* Reads one process's ring as a source of batches. Definitions go into dictionaries; launches and GPU records get the
 * agent's ids in place of the guest's. Whatever the ring holds, at worst this process's own data is missing, and
 * counted. Single-threaded: only the agent loop calls it. */
#ifndef RING_SOURCE_H
#define RING_SOURCE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "ring_outputs.h"

#include "node-agent/publish/batch_builder.h"
#include "proto/ring/record_ring.h"

/* limit of one record, 104 days; a longer one would dominate all totals */
#define RING_SOURCE_DURATION_MAX_NS (1ull << 53)
#define RING_SOURCE_LINES_NS        3000000000ull

struct message;

struct ring_source;

/* Creates a reader of the ring, which it takes, also on error. pid: the ring's process, 0: not visible from here. user:
 * its owner, by the kernel's word. If that is our own user, addresses that the guest did not announce may be looked up
 * in /proc/PID/maps and the files named there. Another user's could hold up the loop. 0 or -ENOMEM; on error *source is
 * NULL. */
int ring_source_create(struct record_ring *ring, const struct ring_outputs *outputs, pid_t pid,
		       uid_t user, struct ring_source **source);
void ring_source_destroy(struct ring_source *source); /* accepts NULL */

/* Tells the guest to walk no stacks from now on (RECORD_STACK_PROBE): launches have them in probe. Borrowed until
 * ring_source_destroy(). NULL: the guest walks its stacks itself. */
struct probe_stacks;
void ring_source_set_probe(struct ring_source *source, struct probe_stacks *probe);

/* Lets the guest walk its stacks again from now on. Stacks that came from the probe are still joined. */
void ring_source_leave_probe(struct ring_source *source);

/* Begins a pass, which will read everything published by now; a few records may wait for a later pass, unless whole is
 * set or the guest has said goodbye. Returns true if the guest had said goodbye before. */
bool ring_source_begin(struct ring_source *source, bool whole, uint64_t now_ns);

/* Returns whether this pass leaves records for a later one. */
bool ring_source_delays(const struct ring_source *source);

/* Says that the ring's writer is gone. From now on records that it has begun and will never complete are left out. */
void ring_source_abandon(struct ring_source *source);

/* Reads more within the pass: definitions first, then collectives, launches and GPU records. It stops when the batch is
 * full, when much text was read, or when there are collectives or samples of kernels to send, which come alone. 1: it
 * stopped, and there may be more; 0: the pass is complete; -ENOMEM. */
int ring_source_read(struct ring_source *source, struct batch_builder *builder);

/* Fills in a message of process_id's with the collectives or samples of kernels that wait to be sent. Borrowed until
 * the next ring_source_read(). false: none wait. */
bool ring_source_alone(struct ring_source *source, uint32_t process_id, struct message *message);
bool ring_source_has_alone(const struct ring_source *source);

/* For the end of a process: returns whether samples of kernels wait for the lines of their code, which a worker looks
 * for. A later pass adds them. RING_SOURCE_LINES_NS after the first call, the next pass adds them without lines, and
 * the code is counted (LEDGER_GPU_CODE_LOST). */
bool ring_source_waits_for_lines(struct ring_source *source, uint64_t now_ns);

/* Returns the bytes of names and paths that were taken. For a process that may enter no more it is the whole limit. */
uint64_t ring_source_text(const struct ring_source *source);

/* Leaves out everything that the guest counted until now: it is not ours. GPU code of that time may never be told. 0 or
 * -ENOMEM. */
int ring_source_forget(struct ring_source *source);

/* Returns whether the guest has said that there is no CUPTI for it (definition.h). */
bool ring_source_lacks_cupti(const struct ring_source *source);

/* Returns whether the guest has told of the begin of a capture window (definition.h), and not yet of its end. */
bool ring_source_has_open_window(const struct ring_source *source);

/* Brings the ledger up to date. 1: it changed; 0: it did not; -ENOMEM. */
int ring_source_update_ledger(struct ring_source *source);

/* Returns the newest calibration: CLOCK_MONOTONIC - CUPTI's clock. false: there is none yet, and the offset is 0. */
bool ring_source_clock(const struct ring_source *source, int64_t *offset_ns);

/* Return the number of launches and of GPU records passed on so far. */
uint64_t ring_source_launches(const struct ring_source *source);
uint64_t ring_source_records(const struct ring_source *source);

#endif
