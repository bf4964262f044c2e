/* Makes strips: takes events stretch by stretch, and divides them into bins. Part of time_strips; used by one thread.
 */
#ifndef STRIP_MAKER_H
#define STRIP_MAKER_H

#include "time_strip.h"

#include "timeline/trace/capture_pauses.h"
#include "timeline/trace/nccl_names.h"
#include "timeline/trace/nccl_waits.h"

struct piece { /* of GPU work; most begin in the present stretch */
	uint64_t start_ns, end_ns;
	uint8_t part;
};

struct pieces {             /* of a device: what one process launches is nearly in order */
	struct piece *list; /* owns */
	uint32_t nr, room;
	uint32_t nr_carried; /* the first ones, whose work began before the stretch */
};

struct strip_maker {
	struct time_strips *made;
	struct timeline_source *source;
	const struct nccl_waits *nccl;
	struct strip_devices devices;
	struct nccl_names names;
	struct strip_bins *bins; /* owns; of the first TIME_STRIPS_MOST devices */
	uint8_t *have_work;      /* owns; by device: STRIP_HAS_WORK or STRIP_HAS_PAUSE */
	uint8_t *processes;      /* owns; [id - 1]: it has a strip; NULL: all may have one */
	struct pieces *pieces;   /* owns; as bins */
	struct capture_pauses pauses;
	uint32_t nr_new, pieces_max;     /* of all devices: those of the stretch */
	uint64_t from_ns, to_ns;         /* of the stretch */
	uint64_t cut_from_ns, cut_to_ns; /* what lies outside of them is cut off */
	/* of a part, whose bins come from cells (strip_cells.h); 0: none */
	uint64_t known_from_ns, known_to_ns;
};

/* request: whose pauses are told. made, source and nccl are set; made's axis, too. 0, -ENOMEM, or as
 * timeline_source_read(). Call strip_maker_fini() in any case. */
int strip_maker_init(struct strip_maker *maker, const struct timeline_request *request);
void strip_maker_fini(struct strip_maker *maker);

/* Begins a stretch, and forgets what one that was too long has left. */
void strip_maker_begin(struct strip_maker *maker, uint64_t from_ns, uint64_t to_ns);

/* Takes a piece of work, if it is of the stretch and of the part. context: the maker. 0; -EFBIG; -ENOMEM. */
int strip_maker_take(void *context, const struct timeline_work *work);

/* Takes the times between capture windows that begin in the stretch. Errors as before. */
int strip_maker_pause(struct strip_maker *maker);

/* Puts what was taken into the bins, as far as it begins in the stretch. 0 or -ENOMEM. */
int strip_maker_put(struct strip_maker *maker);

/* Takes all events of the strips' time, but those that are known. Errors as time_strips_read(). */
int strip_maker_read(struct strip_maker *maker);

#endif
