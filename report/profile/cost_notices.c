#include "cost_notices.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define LEVELS        4u
#define KIND_EXCEEDED (LEVELS * LEVELS)
#define RANGES_MAX    8u
#define NAMES_SIZE    256u /* RANGES_MAX ranges of two numbers of 10 digits, and the words */
#define RANGE_SIZE    32u

static const char *const levels[LEVELS] = {"whole stacks", "Python frames alone", "one frame",
					   "no stack"};

/* Returns LEVELS if it is none. */
static uint32_t level_of(const char *words)
{
	uint32_t level = 0;

	while (level < LEVELS && strcmp(levels[level], words) != 0)
		level++;
	return level;
}

/* Returns whether text ends in the words, and cuts them off. */
static bool cut(char *text, const char *words)
{
	const size_t length = strlen(text), less = strlen(words);

	if (length < less || strcmp(text + length - less, words) != 0)
		return false;
	text[length - less] = '\0';
	return true;
}

bool cost_notice_parse(const char *text, size_t size, struct cost_notice *notice)
{
	char line[COST_NOTICES_TEXT_SIZE], after[48], before[48];
	unsigned int seconds, ms, percent, thousandths;

	if (size >= sizeof(line))
		return false;
	memcpy(line, text, size);
	line[size] = '\0';
	if (sscanf(line,
		   "--max-cost cannot be kept: without a stack launches still cost %6u.%3u %% of",
		   &percent, &thousandths) == 2) {
		*notice = (struct cost_notice){.kind = KIND_EXCEEDED,
					       .share = percent * 1000 + thousandths};
		return true;
	}
	if (sscanf(line,
		   "launches take %47[^0-9]%6u.%3u s on: before, with %47[^,], they cost %6u.%3u "
		   "%% of",
		   after, &seconds, &ms, before, &percent, &thousandths) != 6 ||
	    !cut(after, " from "))
		return false;
	if (level_of(after) == LEVELS || level_of(before) == LEVELS)
		return false;
	*notice = (struct cost_notice){
		.kind = level_of(after) * LEVELS + level_of(before),
		.from_ms = seconds * 1000 + ms,
		.share = percent * 1000 + thousandths,
	};
	return true;
}

int cost_notice_compare(const void *a, const void *b)
{
	const struct cost_notice *one = a, *two = b;

	if (one->kind != two->kind)
		return one->kind < two->kind ? -1 : 1;
	if (one->rank != two->rank)
		return one->rank < two->rank ? -1 : 1;
	return (one->pid > two->pid) - (one->pid < two->pid);
}

/* Writes "1.012", or "0.512 to 1.012". */
static const char *write_range(uint32_t least, uint32_t most, char text[static RANGE_SIZE])
{
	int used = snprintf(text, RANGE_SIZE, "%" PRIu32 ".%03" PRIu32, least / 1000, least % 1000);

	if (most > least)
		snprintf(text + used, RANGE_SIZE - (size_t)used, " to %" PRIu32 ".%03" PRIu32,
			 most / 1000, most % 1000);
	return text;
}

static int64_t number_of(const struct cost_notice *notice, bool by_rank)
{
	return by_rank ? notice->rank : (int64_t)notice->pid;
}

/* Writes "rank 3", "ranks 0-3, 6" or "process 4711". */
static const char *write_names(const struct cost_notice *notices, uint32_t nr,
			       char text[static NAMES_SIZE])
{
	const bool by_rank = notices[0].rank >= 0; /* those without one come first */
	bool is_one = true;
	uint32_t nr_ranges = 0;

	for (uint32_t i = 1; i < nr; i++)
		is_one &= number_of(&notices[i], by_rank) == number_of(&notices[0], by_rank);
	size_t used = (size_t)snprintf(text, NAMES_SIZE, "%s",
				       by_rank ? (is_one ? "rank" : "ranks")
					       : (is_one ? "process" : "processes"));
	for (uint32_t i = 0; i < nr;) {
		const int64_t first = number_of(&notices[i], by_rank);
		int64_t last = first;

		for (; i < nr && number_of(&notices[i], by_rank) >= last &&
		       number_of(&notices[i], by_rank) <= last + by_rank;
		     i++)
			last = number_of(&notices[i], by_rank);
		if (nr_ranges++ == RANGES_MAX) {
			snprintf(text + used, NAMES_SIZE - used, ", ...");
			break;
		}
		used += (size_t)snprintf(text + used, NAMES_SIZE - used,
					 last > first ? "%s %" PRId64 "-%" PRId64 : "%s %" PRId64,
					 nr_ranges > 1 ? "," : "", first, last);
	}
	return text;
}

uint32_t cost_notices_write(const struct cost_notice *notices, uint32_t nr,
			    char text[static COST_NOTICES_TEXT_SIZE], uint32_t *nr_processes)
{
	struct cost_notice least = notices[0], most = notices[0];
	char times[RANGE_SIZE], shares[RANGE_SIZE], names[NAMES_SIZE];
	uint32_t count = 0;

	*nr_processes = 0;
	for (; count < nr && notices[count].kind == notices[0].kind; count++) {
		const struct cost_notice *notice = &notices[count];

		*nr_processes += count == 0 || cost_notice_compare(notice, notice - 1) != 0;
		if (notice->from_ms < least.from_ms)
			least.from_ms = notice->from_ms;
		if (notice->from_ms > most.from_ms)
			most.from_ms = notice->from_ms;
		if (notice->share < least.share)
			least.share = notice->share;
		if (notice->share > most.share)
			most.share = notice->share;
	}
	write_range(least.share, most.share, shares);
	write_names(notices, count, names);
	if (notices[0].kind == KIND_EXCEEDED)
		snprintf(text, COST_NOTICES_TEXT_SIZE,
			 "--max-cost cannot be kept in %s: without a stack launches still cost %s "
			 "%% of their threads' time",
			 names, shares);
	else
		snprintf(text, COST_NOTICES_TEXT_SIZE,
			 "launches take %s from %s s on in %s: before, with %s, they cost %s %% of "
			 "their threads' time (--max-cost)",
			 levels[notices[0].kind / LEVELS],
			 write_range(least.from_ms, most.from_ms, times), names,
			 levels[notices[0].kind % LEVELS], shares);
	return count;
}
