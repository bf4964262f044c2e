#include "straggler_expert_work.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#include "straggler_piece.h"

#include "aggregator/core/kept_window.h"
#include "aggregator/profile/collection.h"
#include "aggregator/profile/collective_folds.h"
#include "aggregator/store/database.h"
#include "aggregator/store/store_kept.h"
#include "base/array.h"
#include "report/profile/profile.h"

#define WINDOWS_MAX 1024u /* no work between two exchanges is longer */

struct reading {
	const struct straggler_expert_input *input;
	struct straggler_expert_work *work;
	struct host_sample *pieces; /* owns; by start */
	uint32_t nr_pieces;
	uint64_t since_ns, busy_ns,
		compute_ns; /* the exchange before; computed until; since then */
};

void straggler_expert_work_fini(struct straggler_expert_work *work)
{
	free(work->parts);
	*work = (struct straggler_expert_work){0};
}

static struct straggler_expert_part *find_part(const struct straggler_expert_work *work,
					       uint32_t node, uint32_t name)
{
	for (uint32_t i = 0; i < work->nr_parts; i++)
		if (work->parts[i].node == node && work->parts[i].name == name)
			return &work->parts[i];
	return NULL;
}

double straggler_expert_work_mean(const struct straggler_expert_work *work, uint32_t node,
				  uint32_t name)
{
	const struct straggler_expert_part *part = find_part(work, node, name);

	return part && part->count ? (double)part->compute_ns / (double)part->count : -1;
}

/* Lists the stacks of exchanges, by calls that have rows. */
static int list_parts(struct reading *reading, uint32_t process, uint32_t communicator_id)
{
	uint32_t count;
	const struct collective_log_call *calls =
		collective_log_calls(reading->input->folds->log, &count);
	int error = 0;

	for (uint32_t i = 0; i < count && !error; i++) {
		const struct collective_log_call *call = &calls[i];
		const uint32_t function = call->call.function;
		const struct straggler_expert_part part = {.node = call->gpu.node,
							   .name = call->gpu.name};

		if (call->process == process && call->call.communicator_id == communicator_id &&
		    (function == COLLECTIVE_SEND || function == COLLECTIVE_RECV ||
		     function == COLLECTIVE_ALL_TO_ALL) &&
		    call->gpu.known && call->gpu.total_known &&
		    !find_part(reading->work, part.node, part.name))
			error = array_append(&reading->work->parts, &reading->work->nr_parts, &part,
					     sizeof(part));
	}
	return error;
}

/* Returns whether all work between two times is kept. */
static bool is_kept(const struct reading *reading, uint64_t from_ns, uint64_t to_ns)
{
	const uint64_t first = from_ns / KEPT_LOG_GPU_NS, last = to_ns / KEPT_LOG_GPU_NS;

	if (last < first || last - first > WINDOWS_MAX)
		return false;
	for (uint64_t i = first; i <= last && reading->input->level; i++)
		if (kept_window_level(i) < reading->input->level)
			return false;
	return true;
}

static void take_exchange(struct reading *reading, struct straggler_expert_part *part,
			  const struct host_sample *piece)
{
	if (reading->since_ns &&
	    is_kept(reading, reading->since_ns, straggler_piece_start(piece))) {
		part->count++;
		part->compute_ns += reading->compute_ns;
	}
	reading->since_ns = reading->busy_ns = piece->time_ns;
	reading->compute_ns = 0;
}

static void take_piece(struct reading *reading, const struct host_sample *piece)
{
	struct straggler_expert_part *part = NULL;

	if (straggler_piece_is_nccl(reading->input->profile->collection->catalog, piece)) {
		part = find_part(reading->work, piece->stack_id, piece->name_id);
		if (part)
			take_exchange(reading, part, piece);
		return;
	}
	const uint64_t start_ns = straggler_piece_start(piece);
	const uint64_t from_ns = start_ns > reading->busy_ns ? start_ns : reading->busy_ns;
	if (piece->time_ns <= from_ns)
		return;
	reading->compute_ns += piece->time_ns - from_ns;
	reading->busy_ns = piece->time_ns;
}

int straggler_expert_work_read(const struct straggler_expert_input *input, uint32_t process,
			       uint32_t communicator_id, struct straggler_expert_work *work)
{
	struct reading reading = {.input = input, .work = work};

	*work = (struct straggler_expert_work){0};
	int error = list_parts(&reading, process, communicator_id);
	if (!error && work->nr_parts && input->window_ns)
		error = store_kept_read_newest(input->database, KEPT_GPU, process, input->window_ns,
					       &reading.pieces, &reading.nr_pieces);
	else if (!error && work->nr_parts)
		error = store_kept_read(input->database, KEPT_GPU, process, &reading.pieces,
					&reading.nr_pieces);
	if (!error)
		straggler_piece_sort(reading.pieces, reading.nr_pieces);
	for (uint32_t i = 0; i < reading.nr_pieces && !error; i++)
		take_piece(&reading, &reading.pieces[i]);
	free(reading.pieces);
	return error;
}
