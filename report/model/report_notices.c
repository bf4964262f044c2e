#include "report_notices.h"

#include <errno.h>
#include <stdlib.h>

struct said {
	uint32_t text, process;
};

static int by_text(const void *a, const void *b)
{
	const struct said *one = a, *two = b;

	if (one->text != two->text)
		return one->text < two->text ? -1 : 1;
	return (one->process > two->process) - (one->process < two->process);
}

/* Texts have numbers in the order in which they came, so equal counts keep that order. */
static int by_processes(const void *a, const void *b)
{
	const struct report_notice *one = a, *two = b;

	if (one->nr_processes != two->nr_processes)
		return one->nr_processes > two->nr_processes ? -1 : 1;
	return (one->text > two->text) - (one->text < two->text);
}

static uint32_t count_all(const struct roster *roster)
{
	uint32_t count = 0;

	for (uint32_t id = 1; id <= roster_size(roster).processes; id++)
		count += roster_process(roster, id)->nr_notices;
	return count;
}

static int collect(const struct roster *roster, struct report_names *names, struct said *said)
{
	int error = 0;

	for (uint32_t id = 1; id <= roster_size(roster).processes && !error; id++) {
		const struct roster_process *process = roster_process(roster, id);

		for (uint32_t i = 0; i < process->nr_notices && !error; i++, said++) {
			said->process = id;
			error = report_names_string(names, process->notices[i], &said->text);
		}
	}
	return error;
}

/* Different notices may become equal when they are cleaned. Each process then counts once. */
static uint32_t group(const struct said *said, uint32_t count, struct report_notice *notices)
{
	uint32_t nr = 0;

	for (uint32_t i = 0; i < count; i++) {
		if (i > 0 && said[i].text == said[i - 1].text) {
			notices[nr - 1].nr_processes += said[i].process != said[i - 1].process;
			continue;
		}
		notices[nr++] = (struct report_notice){.text = said[i].text, .nr_processes = 1};
	}
	return nr;
}

int report_notices_make(const struct roster *roster, struct report_names *names,
			struct report_notice **notices, uint32_t *nr_notices)
{
	uint32_t count = count_all(roster);
	struct said *said = calloc(count + 1, sizeof(*said));
	int error = -ENOMEM;

	*nr_notices = 0;
	*notices = calloc(count + 1, sizeof(**notices));
	if (said && *notices)
		error = collect(roster, names, said);
	if (error) {
		free(*notices);
		*notices = NULL;
	} else if (count) {
		qsort(said, count, sizeof(*said), by_text);
		*nr_notices = group(said, count, *notices);
		qsort(*notices, *nr_notices, sizeof(**notices), by_processes);
	}
	free(said);
	return error;
}
