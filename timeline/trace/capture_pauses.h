/* When processes were not captured: the times between their capture windows, of the whole log. Nobody knows whether
 * GPUs were idle then. Used by one thread. */
#ifndef CAPTURE_PAUSES_H
#define CAPTURE_PAUSES_H

#include "timeline_source.h"

struct capture_pause {
	uint64_t begin_ns, end_ns; /* on the source's clock */
	uint32_t process_id;
};

struct capture_pauses {
	struct capture_pause *pauses; /* owns; by process, then time; apart from each other */
	uint32_t nr_pauses;
};

/* Reads them, of the request's ranks and processes. Errors as timeline_source_read(). Call capture_pauses_fini() in any
 * case. */
int capture_pauses_read(struct capture_pauses *pauses, struct timeline_source *source,
			const struct timeline_request *request);
void capture_pauses_fini(struct capture_pauses *pauses);

/* Returns the process's first pause that ends behind time_ns; NULL: there is none. Those that follow it in the array
 * are the later ones, as long as the process is the same. pauses NULL: there are none. */
const struct capture_pause *capture_pauses_find(const struct capture_pauses *pauses,
						uint32_t process_id, uint64_t time_ns);

/* Returns whether a part of the time was not captured. */
bool capture_pauses_touch(const struct capture_pauses *pauses, uint32_t process_id,
			  uint64_t begin_ns, uint64_t end_ns);

#endif
