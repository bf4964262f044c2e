/* The hosts, devices and processes of a job, with all that is known of each. Texts are string ids of the catalog. Ids
 * count from 1 without gaps and are the store's. One roster is used by one thread. */
#ifndef ROSTER_H
#define ROSTER_H

#include <stdbool.h>
#include <stdint.h>

#include "aggregator/core/correlator.h"
#include "aggregator/core/fold_limit.h"
#include "proto/batch/context_list.h"
#include "proto/batch/message.h"
#include "proto/batch/stream_list.h"
#include "proto/ledger.h"

struct launch_delays;
struct roster;
struct statistics_table;

struct roster_host {
	uint32_t boot_id, node;
};

struct roster_device {
	uint32_t host;
	int32_t index;                /* physical, by PCI order; MESSAGE_INDEX_NONE */
	uint8_t uuid[WIRE_UUID_SIZE]; /* zeros: not known */
	uint32_t name, pci;
	struct device_limits limits; /* zeros: not known */
	bool changed;                /* since roster_saved() */
};

/* The id of the writer of a profile that one aggregator writes. A merged profile has several (docs/store.md). */
#define ROSTER_WRITER 1u

/* Identifies what one writer recorded of one process. All members but the writer identify the process among all
 * others at all times. */
struct roster_identity {
	uint64_t start_ticks, pid_namespace;
	uint8_t instance[16];
	uint32_t host, pid;
	uint32_t writer;   /* id; never 0 */
	uint32_t reserved; /* 0 */
};

struct roster_ordinal {
	uint32_t device_id; /* CUDA ordinal in the process */
	uint32_t device;
};

struct roster_process {
	struct roster_identity identity;
	uint32_t state; /* enum process_state */
	int32_t rank, local_rank, world_size;
	uint32_t job, command;
	uint64_t spoke_ns; /* CLOCK_REALTIME of its last applied message; 0: not known */
	struct roster_ordinal *devices; /* owns, as all arrays here */
	uint32_t nr_devices;
	uint32_t *notices;
	uint32_t nr_notices;
	struct ledger_entry *ledger;
	uint32_t nr_ledger;
	uint32_t nr_timelines; /* its streams with an own timeline since the aggregator's start */
	struct stream_list streams;
	struct context_list contexts;
	struct correlator *correlator;   /* owns; NULL: no record came, or the process has ended */
	struct correlator_counts counts; /* of earlier correlators; without waiting records */
	struct statistics_table *statistics; /* owns; NULL: none came */
	struct launch_delays *delays;        /* owns; NULL: none came */
	struct memory_account *memory;       /* owns; NULL: no correlator was needed yet */
	/* of sums of samples of its kernels: with their places, and without */
	struct fold_limit places, kernels;
	bool changed, lists_changed, ledger_changed, finished; /* since roster_saved() */
};

/* NULL: out of memory. roster_destroy() accepts NULL. */
struct roster *roster_create(void);
void roster_destroy(struct roster *roster);

/* Each function returns 0, and *id is the old or new id; -ENOMEM: unchanged. A known device takes all other fields from
 * the argument. A process keeps its other fields, which are zero at first. */
int roster_add_host(struct roster *roster, const struct roster_host *host, uint32_t *id);
int roster_add_device(struct roster *roster, const struct roster_device *device, uint32_t *id);
int roster_add_process(struct roster *roster, const struct roster_identity *identity, uint32_t *id);

/* Finds the known facts about a stream, by the ids of GPU records. A green context's stream also has those under its
 * parent context. false: none. */
bool roster_process_stream(const struct roster_process *process, uint32_t context_id,
			   uint32_t stream_id, struct message_stream *stream);

/* NULL: no such id. Borrowed until the next add of its kind. */
const struct roster_host *roster_host(const struct roster *roster, uint32_t id);
const struct roster_device *roster_device(const struct roster *roster, uint32_t id);
struct roster_process *roster_process(const struct roster *roster, uint32_t id);

/* Each copies its argument in place of the old value and marks the change. 0 or -ENOMEM: unchanged. */
int roster_process_set_devices(struct roster_process *process, const struct roster_ordinal *devices,
			       uint32_t nr_devices);
int roster_process_set_notices(struct roster_process *process, const uint32_t *notices,
			       uint32_t nr_notices);
int roster_process_set_ledger(struct roster_process *process, const struct ledger_entry *entries,
			      uint32_t nr_entries);

/* Adds to a counter of the process that the aggregator alone counts: LEDGER_ROWS_MERGED, LEDGER_NAME_LIMIT,
 * LEDGER_KERNEL_UNJOINED, LEDGER_LAUNCH_GIVEN_UP. roster_process_set_ledger() ignores these in its argument, and keeps
 * them. 0 or -ENOMEM: unchanged. */
int roster_process_count(struct roster_process *process, enum ledger_reason reason, uint64_t count);

/* Adds what the process's correlator, which it must have, has counted since the last call. 0 or -ENOMEM. */
int roster_process_count_correlated(struct roster_process *process);

/* Makes the process's correlator and memory account if it has none. id is the process's; the correlator folds into
 * totals. 0 or -ENOMEM. */
int roster_process_correlate(struct roster_process *process, uint32_t id,
			     struct fold_table *totals);

/* The store's id of a CUDA ordinal; 0: not described. */
uint32_t roster_process_device(const struct roster_process *process, uint32_t device_id);

struct roster_size {
	uint32_t hosts, devices, processes;
};
struct roster_size roster_size(const struct roster *roster);

/* The part that the store has; the changed flags mark changes within it. */
const struct roster_size *roster_saved_size(const struct roster *roster);
void roster_saved(struct roster *roster);

#endif
