/* Says in words that ranks never came to a collective. Pure; any thread. */
#ifndef ABSENCE_TEXT_H
#define ABSENCE_TEXT_H

#include <stddef.h>

#include "report/straggler/report_straggler.h"

/* Appends to the name of ranks that never came to a collective: " never came to collective 151 (all_reduce, all ranks);
 * 7 ranks waited for it 601.2 s, until their end; its process ended at 2026-11-26 14:03:10". */
void absence_text_append(char *line, size_t size, const struct report_straggler *straggler,
			 const struct report_straggler_absence *missing);

/* Appends the collective alone: "151 (all_reduce, all ranks)"; and if all ranks that lack wait elsewhere
 * themselves: ", because of a wait in one of ranks 4-7". */
void absence_text_collective(char *line, size_t size, const struct communicator_names *names,
			     const struct straggler_absence *absence);

#endif
