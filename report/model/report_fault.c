#include "report_fault.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "report/names/local_time.h"

struct report_fault_place *report_fault_place(struct report_fault *fault, uint32_t host)
{
	const struct report_fault_place place = {.host = host};

	for (uint32_t i = fault->nr_places; i > 0; i--)
		if (fault->places[i - 1].host == host)
			return &fault->places[i - 1];
	if (array_append(&fault->places, &fault->nr_places, &place, sizeof(place)))
		return NULL;
	return &fault->places[fault->nr_places - 1];
}

void report_fault_spoke(struct report_fault_place *place, uint64_t spoke_ns)
{
	if (spoke_ns && (!place->since_ns || spoke_ns < place->since_ns))
		place->since_ns = spoke_ns;
}

int report_fault_add_rank(struct report_fault_place *place, int32_t rank)
{
	return rank < 0 ? 0 : array_append(&place->ranks, &place->nr_ranks, &rank, sizeof(rank));
}

void report_fault_write_time(uint64_t time_ns, FILE *out)
{
	char text[LOCAL_TIME_SIZE];

	fputs(local_time_text(time_ns, "%F %T", text), out);
}

static int by_rank(const void *a, const void *b)
{
	const int32_t *one = a, *two = b;

	return (*one > *two) - (*one < *two);
}

/* Writes "rank 3" or "ranks 3, 8-15". The ranks are sorted and distinct. */
static void write_ranks(FILE *out, const struct report_fault_place *place)
{
	uint32_t nr_ranges = 0;

	if (place->nr_ranks == 0)
		return;
	qsort(place->ranks, place->nr_ranks, sizeof(*place->ranks), by_rank);
	fputs(place->ranks[0] == place->ranks[place->nr_ranks - 1] ? " (rank " : " (ranks ", out);
	for (uint32_t i = 0; i < place->nr_ranks;) {
		int32_t first = place->ranks[i], last = first;

		for (; i < place->nr_ranks && place->ranks[i] <= last + 1; i++)
			last = place->ranks[i];
		if (nr_ranges++ == REPORT_FAULT_RANGES) {
			fputs(" and more", out);
			break;
		}
		fprintf(out, "%s%" PRId32, nr_ranges > 1 ? ", " : "", first);
		if (last > first)
			fprintf(out, "-%" PRId32, last);
	}
	putc(')', out);
}

static int by_name(const void *a, const void *b)
{
	const struct report_fault_place *one = a, *two = b;

	return strcmp(one->name, two->name);
}

static void write_place(FILE *out, const struct report_fault_place *place, const char *when)
{
	fputs(place->name, out);
	write_ranks(out, place);
	if (!place->since_ns)
		return;
	fprintf(out, " %s ", when);
	report_fault_write_time(place->since_ns, out);
}

void report_fault_write_places(const struct report_fault *fault, const char *when, FILE *out)
{
	qsort(fault->places, fault->nr_places, sizeof(*fault->places), by_name);
	for (uint32_t i = 0; i < fault->nr_places; i++) {
		fputs(i ? ", " : ": ", out);
		if (i == REPORT_FAULT_PLACES) {
			fprintf(out, "and %" PRIu32 " more nodes", fault->nr_places - i);
			return;
		}
		write_place(out, &fault->places[i], when);
	}
}

void report_fault_fini(struct report_fault *fault)
{
	for (uint32_t i = 0; i < fault->nr_places; i++)
		free(fault->places[i].ranks);
	free(fault->places);
}
