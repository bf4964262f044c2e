#include "communicator_names.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clean_text.h"
#include "text_line.h"
#include "text_width.h"

#include "aggregator/profile/catalog.h"
#include "aggregator/profile/roster.h"

#define CUT " …"

/* One member of a communicator, as one writer recorded it. */
struct end {
	uint64_t key, start_ticks;
	int32_t rank, world_size;    /* of the job */
	uint32_t member, nr_members; /* rank in the communicator, and its ranks; or not known */
	uint32_t communicator;       /* the process's id of it */
	uint32_t job;                /* a string id */
};

struct entry {
	uint64_t key, start_ticks; /* start_ticks and communicator: of its first end */
	uint32_t communicator;
	char text[COMMUNICATOR_NAME_SIZE];
};

struct communicator_names {
	struct entry *entries; /* owns; by key */
	uint32_t nr_entries;
};

struct builder {
	struct end *ends; /* owns; sorted, of each communicator the lowest rank first */
	uint32_t nr_ends;
	uint64_t *used; /* owns; sorted: the keys of communicators with calls */
	uint32_t nr_used;
	int32_t *ranks; /* owns; of the communicator that is being named */
	bool has_jobs;  /* more than one */
	const struct catalog *catalog;
	struct communicator_names *names;
};

/* ---- the name of a set of ranks */

/* Appends an item with a blank before it. False: it does not fit beside what may have to follow it. */
static bool append_item(char *text, uint32_t columns, const char *item)
{
	if (strlen(text) + 1 + strlen(item) > columns)
		return false;
	text_line_append(text, COMMUNICATOR_NAME_SIZE, " %s", item);
	return true;
}

/* Writes " 0-3 8 12-15". A list that is too long is cut where the mark still fits. */
static void write_list(const int32_t *ranks, uint32_t nr_ranks, uint32_t columns, char *text)
{
	char item[32];
	size_t cut = 0;

	*text = '\0';
	for (uint32_t i = 0, next; i < nr_ranks; i = next) {
		for (next = i + 1; next < nr_ranks && ranks[next] == ranks[next - 1] + 1;)
			next++;
		if (next > i + 1)
			snprintf(item, sizeof(item), "%" PRId32 "-%" PRId32, ranks[i],
				 ranks[next - 1]);
		else
			snprintf(item, sizeof(item), "%" PRId32, ranks[i]);
		if (!append_item(text, columns, item)) {
			text[cut] = '\0';
			text_line_append(text, COMMUNICATOR_NAME_SIZE, CUT);
			return;
		}
		if (strlen(text) + 2 <= columns)
			cut = strlen(text);
	}
}

/* Returns the step between neighbours; 0: it is not always the same. */
static int64_t find_step(const int32_t *ranks, uint32_t nr_ranks)
{
	int64_t step = nr_ranks > 2 ? (int64_t)ranks[1] - ranks[0] : 0;

	for (uint32_t i = 2; i < nr_ranks && step; i++)
		if ((int64_t)ranks[i] - ranks[i - 1] != step)
			step = 0;
	return step;
}

void communicator_names_write(const int32_t *ranks, uint32_t nr_ranks, int32_t world_size,
			      char text[static COMMUNICATOR_NAME_SIZE])
{
	char list[COMMUNICATOR_NAME_SIZE], by_step[COMMUNICATOR_NAME_SIZE];
	const char *begin = nr_ranks == 1 ? "rank" : "ranks", *shorter = list;

	if (world_size > 0 && nr_ranks == (uint32_t)world_size) {
		snprintf(text, COMMUNICATOR_NAME_SIZE, "all ranks");
		return;
	}
	write_list(ranks, nr_ranks, COMMUNICATOR_NAME_COLUMNS - (uint32_t)strlen(begin), list);
	const int64_t step = find_step(ranks, nr_ranks);
	if (step > 1) {
		snprintf(by_step, sizeof(by_step), " %" PRId32 "-%" PRId32 " by %" PRId64, ranks[0],
			 ranks[nr_ranks - 1], step);
		if (strstr(list, CUT) || strlen(by_step) < strlen(list))
			shorter = by_step;
	}
	*text = '\0';
	text_line_append(text, COMMUNICATOR_NAME_SIZE, "%s%s", begin, shorter);
}

/* ---- members */

static int compare_keys(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static int compare_ends(const void *a, const void *b)
{
	const struct end *x = a, *y = b;

	if (x->key != y->key)
		return x->key < y->key ? -1 : 1;
	if (x->rank != y->rank)
		return x->rank < y->rank ? -1 : 1;
	if (x->start_ticks != y->start_ticks)
		return x->start_ticks < y->start_ticks ? -1 : 1;
	return (x->communicator > y->communicator) - (x->communicator < y->communicator);
}

static void add_used(struct builder *builder, const struct collective_folds *folds,
		     uint32_t process, uint32_t communicator_id)
{
	const struct communicator *end = collective_folds_end(folds, process, communicator_id);

	if (end && end->key)
		builder->used[builder->nr_used++] = end->key;
}

/* The calls of what is not folded yet are all raw. */
static void find_used(struct builder *builder, const struct collective_folds *folds)
{
	uint32_t nr_calls;
	const struct collective_log_call *calls = collective_log_calls(folds->log, &nr_calls);

	for (uint32_t i = 0; i < folds->nr_sums; i++)
		add_used(builder, folds, folds->sums[i].key.process,
			 folds->sums[i].key.communicator_id);
	for (uint32_t i = 0; i < nr_calls && !folds->nr_sums; i++)
		if (calls[i].process < folds->nr_processes)
			add_used(builder, folds, calls[i].process, calls[i].call.communicator_id);
	if (builder->nr_used)
		qsort(builder->used, builder->nr_used, sizeof(*builder->used), compare_keys);
}

/* A process that is younger than the profile is left out, as in all reports. */
static void find_ends(struct builder *builder, const struct roster *roster,
		      const struct collective_log_communicator *communicators, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		const struct communicator *of = &communicators[i].communicator;
		const struct roster_process *process =
			roster_process(roster, communicators[i].process);

		if (!process || !builder->nr_used ||
		    !bsearch(&of->key, builder->used, builder->nr_used, sizeof(*builder->used),
			     compare_keys))
			continue;
		builder->ends[builder->nr_ends++] = (struct end){
			.key = of->key,
			.start_ticks = process->identity.start_ticks,
			.rank = process->rank,
			.world_size = process->world_size,
			.member = of->rank,
			.nr_members = of->nr_ranks,
			.communicator = of->communicator_id,
			.job = process->job,
		};
		builder->has_jobs |= process->job && builder->ends[0].job &&
				     process->job != builder->ends[0].job;
	}
	if (builder->nr_ends)
		qsort(builder->ends, builder->nr_ends, sizeof(*builder->ends), compare_ends);
}

/* ---- the names of communicators */

/* Returns whether two ends of one rank of the job may be one member, which several writers recorded. If their ranks in
 * the communicator are not known, a process has one end of one member. */
static bool is_same_member(const struct end *a, const struct end *b)
{
	if (a->member != b->member)
		return false;
	return a->member != COLLECTIVE_NOT_KNOWN || a->start_ticks != b->start_ticks ||
	       a->communicator == b->communicator;
}

/* Collects the different ranks of one communicator's ends. False: they do not name it. */
static bool collect_ranks(struct builder *builder, const struct end *ends, uint32_t nr_ends,
			  uint32_t *nr_ranks, int32_t *world_size)
{
	uint32_t nr_members = COLLECTIVE_NOT_KNOWN;

	*nr_ranks = 0;
	*world_size = ends[0].world_size;
	for (uint32_t i = 0; i < nr_ends; i++) {
		if (ends[i].rank < 0 || (i && ends[i].rank == ends[i - 1].rank &&
					 !is_same_member(&ends[i], &ends[i - 1])))
			return false;
		if (!i || ends[i].rank != ends[i - 1].rank)
			builder->ranks[(*nr_ranks)++] = ends[i].rank;
		if (ends[i].nr_members != COLLECTIVE_NOT_KNOWN)
			nr_members = ends[i].nr_members;
		if (ends[i].world_size != *world_size)
			*world_size = -1;
	}
	if (nr_members == COLLECTIVE_NOT_KNOWN || nr_members == *nr_ranks)
		return true;
	if (nr_members < *nr_ranks || *world_size <= 0 || nr_members != (uint32_t)*world_size)
		return false;
	*nr_ranks = nr_members; /* all ranks, of which the profile lacks some */
	return true;
}

static int append_job(const struct builder *builder, uint32_t job, char *text)
{
	uint32_t size;
	const char *bytes = catalog_string(builder->catalog, job, &size);
	char *clean = clean_text_of(bytes, size);

	if (!clean)
		return -ENOMEM;
	text_width_cut(clean, COMMUNICATOR_NAME_COLUMNS);
	if (*clean)
		text_line_append(text, COMMUNICATOR_NAME_SIZE, " of job %s", clean);
	free(clean);
	return 0;
}

static int add_entry(struct builder *builder, const struct end *ends, uint32_t nr_ends)
{
	struct entry *entry = &builder->names->entries[builder->names->nr_entries++];
	uint32_t nr_ranks;
	int32_t world_size;

	*entry = (struct entry){.key = ends[0].key,
				.start_ticks = ends[0].start_ticks,
				.communicator = ends[0].communicator};
	if (collect_ranks(builder, ends, nr_ends, &nr_ranks, &world_size))
		communicator_names_write(builder->ranks, nr_ranks, world_size, entry->text);
	else
		snprintf(entry->text, sizeof(entry->text), "%016" PRIx64, entry->key);
	return builder->has_jobs ? append_job(builder, ends[0].job, entry->text) : 0;
}

static int compare_entries(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;
	const int order = strcmp(x->text, y->text);

	if (order)
		return order;
	if (x->start_ticks != y->start_ticks)
		return x->start_ticks < y->start_ticks ? -1 : 1;
	if (x->communicator != y->communicator)
		return x->communicator < y->communicator ? -1 : 1;
	return compare_keys(&x->key, &y->key);
}

static int compare_entry_keys(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;

	return compare_keys(&x->key, &y->key);
}

/* Numbers equal names, and sorts the entries by key. */
static void number_entries(struct communicator_names *names)
{
	char text[COMMUNICATOR_NAME_SIZE] = "";
	uint32_t count = 0;

	if (!names->nr_entries)
		return;
	qsort(names->entries, names->nr_entries, sizeof(*names->entries), compare_entries);
	for (uint32_t i = 0; i < names->nr_entries; i++) {
		struct entry *entry = &names->entries[i];

		if (strcmp(entry->text, text) != 0) {
			memcpy(text, entry->text, sizeof(text));
			count = 0;
		}
		if (++count > 1)
			text_line_append(entry->text, sizeof(entry->text), " #%" PRIu32, count);
	}
	qsort(names->entries, names->nr_entries, sizeof(*names->entries), compare_entry_keys);
}

static int fill(struct builder *builder, const struct roster *roster,
		const struct collective_folds *folds,
		const struct collective_log_communicator *communicators, uint32_t count)
{
	int error = 0;

	find_used(builder, folds);
	find_ends(builder, roster, communicators, count);
	for (uint32_t i = 0, next; i < builder->nr_ends && !error; i = next) {
		for (next = i + 1;
		     next < builder->nr_ends && builder->ends[next].key == builder->ends[i].key;)
			next++;
		error = add_entry(builder, &builder->ends[i], next - i);
	}
	number_entries(builder->names);
	return error;
}

int communicator_names_create(const struct collection *collection,
			      const struct collective_folds *folds,
			      struct communicator_names **names)
{
	uint32_t count, nr_calls;
	const struct collective_log_communicator *communicators =
		collective_log_communicators(folds->log, &count);
	collective_log_calls(folds->log, &nr_calls);
	struct builder builder = {
		.ends = calloc(count + 1ul, sizeof(*builder.ends)),
		.used = calloc((folds->nr_sums ? folds->nr_sums : nr_calls) + 1ul,
			       sizeof(*builder.used)),
		.ranks = calloc(count + 1ul, sizeof(*builder.ranks)),
		.catalog = collection->catalog,
		.names = calloc(1, sizeof(**names)),
	};
	int error = -ENOMEM;

	if (builder.names)
		builder.names->entries = calloc(count + 1ul, sizeof(*builder.names->entries));
	if (builder.ends && builder.used && builder.ranks && builder.names &&
	    builder.names->entries)
		error = fill(&builder, collection->roster, folds, communicators, count);
	free(builder.ends);
	free(builder.used);
	free(builder.ranks);
	if (error) {
		communicator_names_destroy(builder.names);
		builder.names = NULL;
	}
	*names = builder.names;
	return error;
}

void communicator_names_destroy(struct communicator_names *names)
{
	if (!names)
		return;
	free(names->entries);
	free(names);
}

const char *communicator_names_of(const struct communicator_names *names, uint64_t key)
{
	const struct entry wanted = {.key = key};
	const struct entry *found = names->nr_entries
					    ? bsearch(&wanted, names->entries, names->nr_entries,
						      sizeof(*names->entries), compare_entry_keys)
					    : NULL;

	return found ? found->text : "";
}
