/* Explains why a profile holds nothing, and how to change that. Pure. */
#ifndef REPORT_ABSENCE_H
#define REPORT_ABSENCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define REPORT_ABSENCE_SIZE 1024u /* bytes that always suffice */

struct report_absence_facts {
	uint32_t nr_agents, nr_processes;
	/* Notices without their first words (absence.h); NULL: no process gave this notice. */
	const char *failed; /* why a process could not be recorded */
	const char *chosen; /* why nothing of a process was captured */
	bool is_written;    /* the profile is still being recorded */
	bool has_launches;
};

/* Writes one line without a newline and without a final mark, cut to size: the cause, and the remedy. Returns line. */
const char *report_absence_line(const struct report_absence_facts *facts, char *line, size_t size);

#endif
