/* What the fake devices ran and what became of its records: exact, in integers. A row for each kind
 * and name on each stream; rows live for ever. Any thread may count; sim_truth_table_row() needs
 * the table's owner to serialize. */
#ifndef SIM_TRUTH_H
#define SIM_TRUTH_H

#include <stddef.h>
#include <stdint.h>

struct sim_device;

/* The last four are no work of a device. */
enum sim_kind {
	SIM_KERNEL,
	SIM_MEMCPY,
	SIM_MEMSET,
	SIM_GRAPH,
	SIM_SYNC,
	SIM_OVERHEAD,
	SIM_UNIFIED,
	SIM_MODULE
};

struct sim_truth_row {
	struct sim_truth_row *next;
	const struct sim_device *device; /* NULL: of no one device */
	uint32_t device_ordinal, context_id, stream_id;
	enum sim_kind kind;
	const char *name; /* interned: equal names are equal pointers */
	_Atomic uint64_t ran_count, ran_ns, bytes;
	_Atomic uint64_t valid_count, valid_ns; /* delivered complete and with times */
	_Atomic uint64_t dropped_count;         /* never written */
	_Atomic uint64_t zeroed_count;          /* delivered with start = end = 0 */
	_Atomic uint64_t running_count; /* delivered by a forced flush before the end: end = 0 */
};

/* The rows of one stream. Zeroed memory is an empty table. */
struct sim_truth_table {
	struct sim_truth_row **slots;
	uint32_t nr_slots, nr_rows;
};

/* The row for key->kind and key->name; a new one takes the identity fields from key. NULL: out of
 * memory. */
struct sim_truth_row *sim_truth_table_row(struct sim_truth_table *table,
					  const struct sim_truth_row *key);
void sim_truth_table_fini(struct sim_truth_table *table); /* the rows stay */

void sim_truth_count_launch(_Bool failed);

/* Remembers the process: a forked child that never called cuInit writes no truth at exit. */
void sim_truth_start(void);

/* Writes a file's name in which %p becomes the process id. */
void sim_truth_path(char *path, size_t size, const char *pattern);

#endif
