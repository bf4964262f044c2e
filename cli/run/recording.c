#include "recording.h"

#include <stdlib.h>
#include <string.h>

#include "output_files.h"
#include "recording_room.h"

#include "base/log.h"

int recording_start(const struct recording_options *options, const char *socket_path,
		    struct recording *recording)
{
	char store_path[PATH_MAX], *error = NULL;
	int result;

	*recording = (struct recording){.options = *options, .output.mark = -1};
	result = recording_room_check(&error);
	if (result < 0) {
		log_error("%s", error ? error : strerror(-result));
		free(error);
		return result;
	}
	result = output_dir_open(&recording->output, options->output_path);
	if (result == 0)
		result = output_dir_file(&recording->output, OUTPUT_STORE, store_path);
	if (result < 0)
		return result;

	const struct profiling_options profiling = {
		.store_path = store_path,
		.socket_path = socket_path,
		.node_name = options->node_name,
		.devices_path = options->devices_path,
		.symbol_cache = options->symbol_cache,
		.inlines = options->inlines,
		.title = options->title,
		.stack_source = options->stack_source,
		.attached = options->attached,
		.guest_uid = options->guest_uid,
		.bpf = options->bpf,
		.counters = options->counters,
		.raw_samples = options->raw_samples,
		.bytes_max = options->bytes_max,
		.timeline = options->timeline,
	};
	job_watch_start(&recording->watch, recording->output.path, options->watch);
	result = profiling_start(&profiling, &recording->profiling, &error);
	if (result < 0)
		log_error("%s", error ? error : strerror(-result));
	free(error);
	return result;
}

void recording_finish(struct recording *recording, char **summary)
{
	struct profiling_status status;
	char *error = NULL;
	bool empty;
	int result = profiling_finish(recording->profiling, &status);

	recording->profiling = NULL;
	if (result < 0)
		log_error("the profile is incomplete: %s (frames %llu sent, %llu stored)",
			  strerror(-result), (unsigned long long)status.agent.sent_seq,
			  (unsigned long long)status.agent.acked_seq);
	if (output_files_write(&recording->output, &recording->options.names, &empty, summary,
			       &error) < 0)
		log_error("%s", error ? error : "the reports could not be written");
	free(error);
	/* Data that was not stored may have named processes, so the profile counts as not empty. */
	recording->keeps = !empty || result < 0;
	if (empty && result < 0) {
		free(*summary);
		*summary = NULL;
	}
}

void recording_close(struct recording *recording)
{
	job_watch_stop(&recording->watch);
	if (recording->keeps && *recording->output.earlier)
		log_notice(OUTPUT_EARLIER, recording->output.earlier);
	output_dir_close(&recording->output, recording->keeps);
}
