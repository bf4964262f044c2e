/* Makes a profile: it holds the output directory, the agent and the aggregator that fill it, and writes the reports at
 * the end. Warnings begin with the verb's name. The main thread alone. */
#ifndef RECORDING_H
#define RECORDING_H

#include <stdbool.h>
#include <sys/types.h>

#include "profiling.h"

#include "cli/base/output_dir.h"
#include "cli/watch/job_watch.h"
#include "report/model/report_build.h"
#include "timeline/log/event_log.h"

struct recording_options {       /* strings are borrowed until the end */
	const char *verb;        /* for warnings */
	const char *output_path; /* a directory */
	const char *node_name, *devices_path, *symbol_cache; /* as in struct profiling_options */
	const char *title;
	struct report_options names;
	const char *watch; /* as of job_watch.h */
	bool inlines;
	struct counter_option counters;
	enum stack_source stack_source;
	uint64_t bytes_max; /* aggregator.h, as the next one */
	bool raw_samples;
	struct event_log_options timeline;
	bool attached; /* as in struct agent_options, with the next member */
	uid_t guest_uid;
	struct bpf_options bpf;
};

struct recording { /* zeroed but for output.mark, which is -1: nothing to close */
	struct recording_options options;
	struct output_dir output;
	struct profiling *profiling;
	struct job_watch watch;
	bool keeps; /* there is something to keep, or that is not known */
};

/* Starts the recording; guests connect to socket_path. 0 or -errno after a warning. Call recording_close() in either
 * case. */
int recording_start(const struct recording_options *options, const char *socket_path,
		    struct recording *recording);

/* Ends the two loops and writes the files. *summary is the text about the profile, which the caller owns (free()).
 * NULL: the profile could not be written, and a message has said so, or there is nothing to say (--quiet). */
void recording_finish(struct recording *recording, char **summary);

/* Removes a recording that failed to start, or that is complete and has no process in it; an incomplete one stays. It
 * says where an earlier profile is now. */
void recording_close(struct recording *recording);

#endif
