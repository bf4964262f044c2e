/* Encodes EVENTS messages. Part of batch_encode. One thread. */
#ifndef BATCH_ENCODE_EVENTS_H
#define BATCH_ENCODE_EVENTS_H

#include "batch_writer.h"

/* Memory for the durations of a message's gpu_records, which travel in place of their ends. Embedded; zeroed memory is
 * empty. */
struct batch_durations {
	uint64_t *ns; /* owns */
	size_t size;  /* bytes */
};

void batch_durations_fini(struct batch_durations *durations);

/* Writes what follows the version. Errors are the writer's. */
void batch_encode_events(struct batch_writer *writer, struct batch_durations *durations,
			 const struct message_events *events);

#endif
