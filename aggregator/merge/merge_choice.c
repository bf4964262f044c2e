#include "merge_choice.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "aggregator/store/store_life.h"
#include "base/array.h"

struct adding {
	struct merge_choice *choice;
	uint32_t profile, first; /* first: candidate of this profile */
};

void merge_choice_fini(struct merge_choice *choice)
{
	for (uint32_t i = 0; i < choice->count; i++)
		free(choice->candidates[i].positions);
	free(choice->candidates);
	*choice = (struct merge_choice){0};
}

static int take_writer(struct statement *row, void *context)
{
	const struct adding *adding = context;
	struct merge_choice *choice = adding->choice;
	struct merge_candidate candidate = {
		.profile = adding->profile,
		.id = statement_number32(row, 0),
		.closed = statement_number32(row, 2) == STORE_LIFE_CLOSED,
	};
	uint32_t size;
	const void *writer = statement_bytes(row, 1, &size);

	if (size != sizeof(candidate.writer))
		return -EPROTO;
	memcpy(candidate.writer, writer, size);
	return array_append(&choice->candidates, &choice->count, &candidate, sizeof(candidate));
}

static int take_epoch(struct statement *row, void *context)
{
	const struct adding *adding = context;
	struct merge_position position = {.sequence = statement_number(row, 2)};
	uint32_t size, writer = statement_number32(row, 0);
	const void *epoch = statement_bytes(row, 1, &size);

	if (size != sizeof(position.epoch) || writer == 0 ||
	    writer > adding->choice->count - adding->first)
		return -EPROTO;
	struct merge_candidate *candidate = &adding->choice->candidates[adding->first + writer - 1];
	memcpy(position.epoch, epoch, size);
	return array_append(&candidate->positions, &candidate->nr_positions, &position,
			    sizeof(position));
}

int merge_choice_add(struct merge_choice *choice, uint32_t profile, struct database *database)
{
	struct adding adding = {choice, profile, choice->count};
	int error = database_rows(database, "SELECT id, writer, closed FROM writers ORDER BY id",
				  take_writer, &adding);

	return error ? error
		     : database_rows(database,
				     "SELECT writer, epoch, durable_seq FROM epochs"
				     " ORDER BY writer, epoch",
				     take_epoch, &adding);
}

/* Whether b has all that a has. */
static bool has_all(const struct merge_candidate *b, const struct merge_candidate *a)
{
	uint32_t at = 0;

	for (uint32_t i = 0; i < a->nr_positions; i++) {
		const struct merge_position *wanted = &a->positions[i];

		while (at < b->nr_positions &&
		       memcmp(b->positions[at].epoch, wanted->epoch, sizeof(wanted->epoch)) < 0)
			at++;
		if (at == b->nr_positions ||
		    memcmp(b->positions[at].epoch, wanted->epoch, sizeof(wanted->epoch)) != 0 ||
		    b->positions[at].sequence < wanted->sequence)
			return false;
	}
	return true;
}

static int by_writer(const void *a, const void *b)
{
	const struct merge_candidate *x = a, *y = b;
	int order = memcmp(x->writer, y->writer, sizeof(x->writer));

	return order ? order : (x->profile > y->profile) - (x->profile < y->profile);
}

/* Whether candidate is no better than best, which has all that it has. Of copies that came equally far the later one
 * knows that its end found no room. */
static bool is_worse(const struct merge_candidate *candidate, const struct merge_candidate *best)
{
	if (!has_all(candidate, best))
		return true;
	for (uint32_t kind = 0; kind < STORE_NOTE_KINDS; kind++)
		if (best->lacks[kind] != candidate->lacks[kind])
			return (kind == STORE_NOTE_FULL) != candidate->lacks[kind];
	return best->closed || !candidate->closed;
}

/* An epoch and whose it is. */
struct owner {
	const struct merge_position *position;
	const struct merge_candidate *candidate;
};

static int by_epoch(const void *a, const void *b)
{
	const struct owner *x = a, *y = b;
	int order = memcmp(x->position->epoch, y->position->epoch, sizeof(x->position->epoch));

	return order ? order : by_writer(x->candidate, y->candidate);
}

/* A copy of a profile that got another writer's number: an agent sends to one writer alone. */
static int refuse_shared(const struct merge_choice *choice, uint32_t *one, uint32_t *other)
{
	uint64_t count = 0, room = 1;

	for (uint32_t i = 0; i < choice->count; i++)
		room += choice->candidates[i].nr_positions;
	struct owner *owners = calloc(room, sizeof(*owners));
	if (!owners)
		return -ENOMEM;
	for (uint32_t i = 0; i < choice->count; i++)
		for (uint32_t k = 0; k < choice->candidates[i].nr_positions; k++)
			owners[count++] = (struct owner){&choice->candidates[i].positions[k],
							 &choice->candidates[i]};
	qsort(owners, count, sizeof(*owners), by_epoch);
	int error = 0;
	for (uint64_t i = 1; i < count && !error; i++) {
		const struct owner *a = &owners[i - 1], *b = &owners[i];

		if (memcmp(a->position->epoch, b->position->epoch, STORE_WRITER_SIZE) != 0 ||
		    memcmp(a->candidate->writer, b->candidate->writer, STORE_WRITER_SIZE) == 0)
			continue;
		*one = a->candidate->profile;
		*other = b->candidate->profile;
		error = -EXDEV;
	}
	free(owners);
	return error;
}

int merge_choice_make(struct merge_choice *choice, uint32_t *one, uint32_t *other)
{
	struct merge_candidate *best = NULL;

	*one = *other = 0;
	if (choice->count)
		qsort(choice->candidates, choice->count, sizeof(*choice->candidates), by_writer);
	for (uint32_t i = 0; i < choice->count; i++) {
		struct merge_candidate *candidate = &choice->candidates[i];
		bool is_same =
			best && memcmp(best->writer, candidate->writer, sizeof(best->writer)) == 0;

		if (is_same && has_all(best, candidate) && is_worse(candidate, best))
			continue;
		if (is_same && !has_all(candidate, best)) {
			*one = best->profile;
			*other = candidate->profile;
			return -EXDEV;
		}
		if (is_same)
			best->is_chosen = false;
		candidate->is_chosen = true;
		best = candidate;
	}
	return refuse_shared(choice, one, other);
}

bool merge_choice_has(const struct merge_choice *choice, uint32_t profile)
{
	for (uint32_t i = 0; i < choice->count; i++)
		if (choice->candidates[i].profile == profile && choice->candidates[i].is_chosen)
			return true;
	return false;
}
