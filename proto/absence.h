/* Why a process is not in a profile: the text of the notice (definition.h) by which a guest or its agent says so.
 * Reports recognise such a notice by its first words. */
#ifndef ABSENCE_H
#define ABSENCE_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

struct guest_absence;

/* The process used CUDA and could not be recorded: the profile lacks it. */
#define ABSENCE_FAILED "not recorded: "
/* The user asked for a part of the run, and that part never came: the profile lacks nothing. */
#define ABSENCE_CHOSEN "nothing captured: "

/* The agent has no room for this process. */
#define ABSENCE_FULL                                                                               \
	ABSENCE_FAILED                                                                             \
	"the agent of this node reads as many processes as it can already, or has no memory or "   \
	"no descriptor (ulimit -n) for another"

/* The process's agent was killed. */
#define ABSENCE_GONE                                                                               \
	ABSENCE_FAILED                                                                             \
	"the agent was killed before anything of it was stored, and it ended before the next "     \
	"agent came"

#define ABSENCE_SIZE 256u /* bytes that suffice */

/* Writes why this guest has no ring, and how to avoid it. Returns text. */
const char *absence_text(const struct guest_absence *absence, char *text, size_t size);

static inline bool absence_is_failed(const char *notice)
{
	return strncmp(notice, ABSENCE_FAILED, sizeof(ABSENCE_FAILED) - 1) == 0;
}

static inline bool absence_is_chosen(const char *notice)
{
	return strncmp(notice, ABSENCE_CHOSEN, sizeof(ABSENCE_CHOSEN) - 1) == 0;
}

#endif
