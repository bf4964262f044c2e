#include "report_collectives.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "report_names.h"
#include "report_paths.h"

#include "aggregator/profile/catalog.h"
#include "aggregator/profile/roster.h"
#include "base/hash_index.h"

/* The key of a sum. It is hashed as bytes, so it is zeroed before it is filled. */
struct sum_key {
	uint64_t key;
	uint32_t process, communicator_id; /* 0, 0 if the communicator's key is known */
	uint32_t function, reserved;
};

struct builder {
	const struct profile *profile;
	struct report_collectives *report;
	struct report_paths *paths;
	struct report_collective *calls;
	struct report_collective_sum *sums;
	struct sum_key *keys; /* of sums */
	struct hash_index index;
	const struct communicator **communicators; /* by the process's begin, and id */
	uint32_t *begins; /* by process: its first communicator; and the end */
	uint32_t *seen;   /* for each communicator: the last counted function, + 1 */
	uint32_t nr_processes;
};

/* ---- communicators */

/* Only the last definition of each communicator counts. Sorted by process. */
static int index_communicators(struct builder *builder)
{
	const struct collective_log *log = builder->report->folds->log;
	uint32_t count, all = 0;
	const struct collective_log_communicator *entries =
		collective_log_communicators(log, &count);

	builder->nr_processes = roster_size(builder->profile->collection->roster).processes;
	builder->begins = calloc(builder->nr_processes + 2ul, sizeof(*builder->begins));
	if (!builder->begins)
		return -ENOMEM;
	for (uint32_t id = 1; id <= builder->nr_processes; id++) {
		builder->begins[id] = all;
		all += collective_log_defined(log, id);
	}
	builder->begins[builder->nr_processes + 1] = all;
	builder->communicators = calloc(all + 1ul, sizeof(struct communicator *));
	builder->seen = calloc((all + 1ul) * COLLECTIVE_FUNCTIONS, sizeof(*builder->seen));
	if (!builder->communicators || !builder->seen)
		return -ENOMEM;
	for (uint32_t i = 0; i < count; i++)
		if (entries[i].process <= builder->nr_processes)
			builder->communicators[builder->begins[entries[i].process] +
					       entries[i].communicator.communicator_id - 1] =
				&entries[i].communicator;
	return 0;
}

static uint32_t place_of(const struct builder *builder, uint32_t process, uint32_t communicator_id)
{
	return builder->begins[process] + communicator_id - 1;
}

/* ---- calls */

static int find_node(struct builder *builder, const struct collective *call, uint32_t *node)
{
	const struct fold_key key = {
		.stack_id = call->stack_id, .kind = REPORT_KIND_CALL, .matched = 1};

	*node = REPORT_NODE_ROOT;
	if (call->stack_id == 0 ||
	    call->stack_id > catalog_size(builder->profile->collection->catalog).nodes)
		return 0;
	return report_paths_find(builder->paths, &key, node);
}

/* A call that came after the profile was loaded may have an unknown process, and is left out. */
static int name_call(struct builder *builder, const struct collective_log_call *entry)
{
	const struct roster *roster = builder->profile->collection->roster;
	struct report_collective *out = &builder->calls[builder->report->nr_calls];
	const struct roster_process *process = roster_process(roster, entry->process);

	if (!process)
		return 0;
	*out = (struct report_collective){.pid = process->identity.pid,
					  .rank = process->rank,
					  .call = &entry->call,
					  .gpu = &entry->gpu};
	if (entry->call.communicator_id)
		out->communicator = builder->communicators[place_of(builder, entry->process,
								    entry->call.communicator_id)];
	const struct roster_host *host = roster_host(roster, process->identity.host);
	int error = host ? report_names_string(builder->report->names, host->node, &out->host) : 0;
	if (!error)
		error = find_node(builder, &entry->call, &out->node);
	builder->report->nr_calls += !error;
	return error;
}

/* ---- sums */

static bool key_equals(const void *context, uint32_t id, const void *key)
{
	const struct builder *builder = context;

	return memcmp(&builder->keys[id - 1], key, sizeof(struct sum_key)) == 0;
}

static int get_sum(struct builder *builder, const struct collective_sum *from,
		   const struct communicator *communicator, struct report_collective_sum **sum)
{
	struct sum_key key;

	memset(&key, 0, sizeof(key));
	key.function = from->key.function;
	if (communicator && communicator->key)
		key.key = communicator->key;
	else if (communicator) {
		key.process = from->key.process;
		key.communicator_id = communicator->communicator_id;
	}
	uint32_t hash = hash_index_hash(&key, sizeof(key));
	uint32_t id = hash_index_find(&builder->index, hash, key_equals, builder, &key);
	if (!id) {
		id = builder->report->nr_sums + 1;
		if (hash_index_insert(&builder->index, hash, id))
			return -ENOMEM;
		builder->keys[id - 1] = key;
		builder->sums[id - 1] = (struct report_collective_sum){
			.key = key.key,
			.process = from->key.process,
			.communicator_id = from->key.communicator_id,
			.function = from->key.function,
			.nr_ranks = COLLECTIVE_NOT_KNOWN,
		};
		builder->report->nr_sums = id;
	}
	*sum = &builder->sums[id - 1];
	return 0;
}

static void count_rank(struct builder *builder, const struct communicator *communicator,
		       uint32_t process, struct report_collective_sum *sum)
{
	uint32_t place = place_of(builder, process, communicator->communicator_id);
	uint32_t *seen = &builder->seen[place * COLLECTIVE_FUNCTIONS + sum->function];

	sum->origin = communicator->origin;
	if (communicator->nr_ranks != COLLECTIVE_NOT_KNOWN)
		sum->nr_ranks = communicator->nr_ranks;
	sum->nr_seen += *seen == 0;
	*seen = 1;
}

static int add_to_sum(struct builder *builder, const struct collective_sum *from)
{
	const struct roster *roster = builder->profile->collection->roster;
	const struct roster_process *process = roster_process(roster, from->key.process);
	const struct communicator *communicator = NULL;
	struct report_collective_sum *sum;

	if (!process)
		return 0;
	if (from->key.communicator_id)
		communicator = builder->communicators[place_of(builder, from->key.process,
							       from->key.communicator_id)];
	int error = get_sum(builder, from, communicator, &sum);
	const struct roster_host *host = roster_host(roster, process->identity.host);
	if (!error && sum->calls == 0) {
		sum->pid = process->identity.pid;
		error = host ? report_names_string(builder->report->names, host->node, &sum->host)
			     : 0;
	}
	if (error)
		return error;
	if (communicator)
		count_rank(builder, communicator, from->key.process, sum);
	sum->calls += from->calls;
	sum->failed += from->failed;
	sum->bytes += from->bytes;
	sum->total_ns += from->total_ns;
	sum->gpu_calls += from->gpu_calls;
	sum->gpu_ns += from->gpu_ns;
	if (from->max_ns > sum->max_ns)
		sum->max_ns = from->max_ns;
	if (from->first && (sum->first == 0 || from->first < sum->first))
		sum->first = from->first;
	if (from->last_sequence > sum->last)
		sum->last = from->last_sequence;
	return 0;
}

/* Groups come last, because they hold the time of other calls. */
static int compare_sums(const void *left, const void *right)
{
	const struct report_collective_sum *a = left, *b = right;

	if ((a->function == COLLECTIVE_GROUP) != (b->function == COLLECTIVE_GROUP))
		return a->function == COLLECTIVE_GROUP ? 1 : -1;
	if (a->total_ns != b->total_ns)
		return a->total_ns > b->total_ns ? -1 : 1;
	if (a->key != b->key)
		return a->key < b->key ? -1 : 1;
	return a->function < b->function ? -1 : a->function > b->function;
}

/* ---- the whole */

static int fill(struct builder *builder, const struct collective_log_call *entries, uint32_t count)
{
	const struct collective_folds *folds = builder->report->folds;
	uint32_t nr_nodes;
	int error = communicator_names_create(builder->profile->collection, folds,
					      &builder->report->communicators);

	if (!error)
		error = index_communicators(builder);
	for (uint32_t i = 0; i < count && !error; i++)
		error = name_call(builder, &entries[i]);
	for (uint32_t i = 0; i < folds->nr_sums && !error; i++)
		error = add_to_sum(builder, &folds->sums[i]);
	if (error)
		return error;
	if (builder->report->nr_sums)
		qsort(builder->sums, builder->report->nr_sums, sizeof(*builder->sums),
		      compare_sums);
	builder->report->nodes = report_paths_take(builder->paths, &nr_nodes);
	builder->report->strings = report_names_all(builder->report->names);
	return builder->report->strings ? 0 : -ENOMEM;
}

static int build(struct builder *builder, const struct report_options *options)
{
	const struct profile *profile = builder->profile;
	uint32_t count;
	const struct collective_log_call *entries =
		collective_log_calls(builder->report->folds->log, &count);

	builder->report->names =
		report_names_create(profile, options ? options->demangle : DEMANGLE_FULL,
				    options ? options->lines : REPORT_LINES_ON);
	if (!builder->report->names)
		return -ENOMEM;
	builder->paths = report_paths_create(profile->collection->catalog, builder->report->names,
					     &(struct report_paths_view){0});
	builder->calls = calloc(count + 1ul, sizeof(*builder->calls));
	const uint32_t nr_sums = builder->report->folds->nr_sums;
	builder->sums = calloc(nr_sums + 1ul, sizeof(*builder->sums));
	builder->keys = calloc(nr_sums + 1ul, sizeof(*builder->keys));
	builder->report->calls = builder->calls;
	builder->report->sums = builder->sums;
	if (!builder->paths || !builder->calls || !builder->sums || !builder->keys)
		return -ENOMEM;
	return fill(builder, entries, count);
}

int report_collectives_create(const struct profile *profile, struct collective_folds *folds,
			      const struct report_options *options,
			      struct report_collectives **collectives)
{
	struct builder builder = {.profile = profile};

	builder.report = *collectives = calloc(1, sizeof(**collectives));
	if (!*collectives) {
		collective_folds_destroy(folds);
		return -ENOMEM;
	}
	(*collectives)->folds = folds;
	int error = build(&builder, options);
	report_paths_destroy(builder.paths);
	hash_index_fini(&builder.index);
	free(builder.keys);
	free(builder.communicators);
	free(builder.begins);
	free(builder.seen);
	if (error) {
		report_collectives_destroy(*collectives);
		*collectives = NULL;
	}
	return error;
}

void report_collectives_destroy(struct report_collectives *collectives)
{
	if (!collectives)
		return;
	report_names_destroy(collectives->names);
	communicator_names_destroy(collectives->communicators);
	collective_folds_destroy(collectives->folds);
	free((void *)collectives->calls);
	free((void *)collectives->sums);
	free((void *)collectives->nodes);
	free((void *)collectives->strings);
	free(collectives);
}
