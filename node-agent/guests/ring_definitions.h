/* Reads the definitions in one process's ring. Names and modules go into dictionaries, and devices, streams and notices
 * into its description. It also reads statistics and the guest's clock. Everything is bounded, whatever the process
 * sends. Part of the ring source; single-threaded. */
#ifndef RING_DEFINITIONS_H
#define RING_DEFINITIONS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "ring_collectives.h"
#include "ring_metrics.h"
#include "ring_outputs.h"
#include "ring_samples.h"

#include "node-agent/dictionary/id_table.h"
#include "node-agent/symbols/module_table.h"

#define RING_DEFINITIONS_NAMES_MAX    (1u << 18)   /* kernel names of one process */
#define RING_DEFINITIONS_TEXT_AT_ONCE (128u << 10) /* bytes of names and paths, in one message */
#define RING_DEFINITIONS_MODULES_MAX  (1u << 15)   /* files that one process announces */

#define RING_DEFINITIONS_PAUSES 64u /* between windows, that wait to be sent */

struct record_ring;
struct record_ring_snapshot;

struct ring_pause { /* a time between two capture windows; CLOCK_MONOTONIC */
	uint64_t begin_ns, end_ns;
	uint16_t window; /* the one behind it */
};

/* Embedded. */
struct ring_definitions {
	const struct ring_outputs *outputs;   /* borrowed until fini */
	pid_t pid;                            /* 0: not visible from here */
	struct module_table *modules;         /* owns */
	struct ring_collectives *collectives; /* owns */
	struct ring_samples *samples;         /* owns; of running kernels */
	struct ring_metrics metrics;          /* of measured kernels */
	struct stack_resolver *stacks;        /* borrowed; NULL: measured kernels are dropped */
	struct id_table names;                /* guest's name id to string id */
	uint64_t text_room;  /* bytes of names and paths that the process may still bring */
	uint32_t nr_modules; /* files announced so far */
	int64_t clock_offset_ns;
	bool clock_valid;       /* the offset comes from the newest calibration */
	bool given_up;          /* the lane made no sense; the ledger counts that */
	bool lacks_cupti;       /* the guest has said so */
	bool window_open;       /* a capture window's begin was read, and its end was not yet */
	uint64_t window_end_ns; /* of the last window that ended; 0: none has */
	struct ring_pause
		pauses[RING_DEFINITIONS_PAUSES]; /* the oldest first; the caller takes them */
	uint32_t nr_pauses;
	uint8_t *definition; /* owns; DEFINITION_SIZE_MAX bytes while definitions wait to be read */
};

/* Initializes the reader. pid and user are those of ring_source_create(). 0 or -ENOMEM. ring_definitions_fini() accepts
 * one that failed, and zeroed memory. */
int ring_definitions_init(struct ring_definitions *definitions, const struct ring_outputs *outputs,
			  pid_t pid, uid_t user);
void ring_definitions_fini(struct ring_definitions *definitions);

/* Reads all unread definitions within the snapshot, or RING_DEFINITIONS_TEXT_AT_ONCE bytes of text, or as many samples
 * of kernels as one message takes, or RING_DEFINITIONS_PAUSES windows. A definition that
 * makes no sense, or finds no room, is counted in the ledger. 1: there may be more; 0: all is read; -ENOMEM. */
int ring_definitions_read(struct ring_definitions *definitions, struct record_ring *ring,
			  const struct record_ring_snapshot *snapshot);

/* Returns the string id of a name; STRING_NONE: the name was never defined, or found no room. */
uint32_t ring_definitions_name(const struct ring_definitions *definitions, uint32_t name_id);

#endif
