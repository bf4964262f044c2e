/* Names idle times of GPUs by their reason. Where the host did other things than to launch, samples of the launching
 * thread tell what, if they cover half of the time or more. Used by one thread. */
#ifndef IDLE_WORDS_H
#define IDLE_WORDS_H

#include "timeline_busy.h"
#include "timeline_samples.h"

#include "report/model/report_names.h"
#include "report/model/report_paths.h"

struct idle_words { /* all borrowed */
	const struct timeline_samples *samples;
	struct report_names *names;
	struct report_paths *paths;
};

/* Finds the text of an idle time, such as "idle: launch-bound", and the stack in which the launching thread was for the
 * longest: *node, REPORT_NODE_ROOT if it is not known. launch is the one at its end; NULL: it is not here. 0; -EPROTO:
 * the profile is damaged; -ENOMEM. */
int idle_words_find(const struct idle_words *words, const struct timeline_idle *idle,
		    const struct timeline_launch *launch, uint32_t *text, uint32_t *node);

#endif
