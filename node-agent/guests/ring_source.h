/* One process's ring as a source of batches: definitions into dictionaries, launches and GPU
 * records with the agent's ids in place of the guest's. Whatever the ring holds, the worst is that
 * this process's own data is missing, and counted. Single-threaded: only the agent loop calls it.
 */
#ifndef RING_SOURCE_H
#define RING_SOURCE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "ring_outputs.h"

#include "node-agent/publish/batch_builder.h"
#include "proto/ring/record_ring.h"

#define RING_SOURCE_DURATION_MAX_NS                                                                \
	(1ull << 53) /* of one record: 104 days; a longer one would be all that totals show */

struct message;

struct ring_source;

/* Takes the ring, also on error. pid: whose it is, 0: not visible from here; user: whose that is, by the kernel's word.
 * If that is ours, /proc/PID/maps and the files named there may be asked about addresses that the guest didn't
 * announce; another user's could hold up the loop. 0 or -ENOMEM; on error *source is NULL. */
int ring_source_create(struct record_ring *ring, const struct ring_outputs *outputs, pid_t pid,
		       uid_t user, struct ring_source **source);
void ring_source_destroy(struct ring_source *source); /* accepts NULL */

/* Where launches have their stacks that the guest does not walk from now on (RECORD_STACK_PROBE). Borrowed until
 * ring_source_destroy(); NULL: nowhere, and it walks them. */
struct probe_stacks;
void ring_source_set_probe(struct ring_source *source, struct probe_stacks *probe);

/* The guest walks them from now on; those that came are still joined. */
void ring_source_leave_probe(struct ring_source *source);

/* Begins a pass: what is published by now will be read by it. Returns true if the guest had said
 * goodbye before. */
bool ring_source_begin(struct ring_source *source);

/* Whoever writes the ring is gone: what it has begun to write, and nobody will end, is left out from now on. */
void ring_source_abandon(struct ring_source *source);

/* Reads on within the pass, definitions first, then collectives, launches and GPU records, until the batch is full,
 * much text was read, or there are collectives to be sent, which come with nothing else. 1: that is so, there may be
 * more; 0: the pass is complete; -ENOMEM. */
int ring_source_read(struct ring_source *source, struct batch_builder *builder);

/* Collectives that were read and wait to be sent, as a message but for its process; borrowed until the next
 * ring_source_read(). false: none. */
bool ring_source_collectives(struct ring_source *source, struct message *message);
bool ring_source_has_collectives(const struct ring_source *source);

/* Bytes of names and paths that were taken; one that may enter no more has taken all. */
uint64_t ring_source_text(const struct ring_source *source);

/* What the guest counted until now is not ours. 0 or -ENOMEM. */
int ring_source_forget(struct ring_source *source);

/* Tells the guest that we live. */
void ring_source_beat(struct ring_source *source, uint64_t now_ns);

/* What the guest is to capture; and what it does, as it says (record_ring.h). */
void ring_source_command(struct ring_source *source, const struct record_ring_command *command);
uint32_t ring_source_capture(const struct ring_source *source, uint32_t *nr_windows);

/* It has said that there is no CUPTI for it (definition.h). */
bool ring_source_lacks_cupti(const struct ring_source *source);

/* Brings the ledger up to date. 1: it changed; 0: it did not; -ENOMEM. */
int ring_source_update_ledger(struct ring_source *source);

/* Newest calibration: CLOCK_MONOTONIC - CUPTI's clock. false: none yet, and 0. */
bool ring_source_clock(const struct ring_source *source, int64_t *offset_ns);

/* Records passed on so far. */
uint64_t ring_source_launches(const struct ring_source *source);
uint64_t ring_source_records(const struct ring_source *source);

#endif
