/* Tells in words why a process was never captured: its capture waited for something that did not come. */
#ifndef WINDOW_ABSENCE_H
#define WINDOW_ABSENCE_H

#include <stddef.h>
#include <stdint.h>

#include "proto/options/window_options.h"

#define WINDOW_ABSENCE_SIZE 480u /* bytes that suffice */

struct definition_writer;

struct window_absence_facts {
	uint64_t now_ns;          /* CLOCK_REALTIME, at the process's end */
	const char *const *names; /* of NVTX ranges that it opened */
	uint32_t nr_names;
	uint64_t nr_starts; /* calls of cudaProfilerStart, counted where they are the range */
};

/* One line that begins with ABSENCE_CHOSEN (absence.h), cut to size. Returns text; NULL: the whole run was to be
 * captured, or no line fits. Pure; any thread. */
const char *window_absence_text(const struct window_options *options,
				const struct window_absence_facts *facts, char *text, size_t size);

/* Writes that line as a notice, with the NVTX ranges that the process has opened. nr_starts: as above. At the process's
 * end, on the guest's own thread. */
void window_absence_say(const struct window_options *options, uint64_t nr_starts,
			struct definition_writer *definitions);

#endif
