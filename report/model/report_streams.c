#include "report_streams.h"

#include <inttypes.h>
#include <stdio.h>

#define STREAM_TEXT_SIZE 512u

int report_streams_context(struct report_names *names, const struct roster_process *process,
			   const struct fold_key *key, uint32_t *text)
{
	const struct message_context *context =
		context_list_find(&process->contexts, key->context_id);
	char whole[STREAM_TEXT_SIZE], share[32] = "";

	*text = 0;
	if (!context || !(context->flags & DEFINITION_CONTEXT_GREEN))
		return 0;
	if (context->nr_multiprocessors)
		snprintf(share, sizeof(share), " (%" PRIu32 " SMs)", context->nr_multiprocessors);
	snprintf(whole, sizeof(whole), "green context%" PRIu32 "%s", key->context_id, share);
	return report_names_text(names, whole, text);
}

int report_streams_name(struct report_names *names, const struct catalog *catalog,
			const struct roster_process *process, const struct fold_key *key,
			uint32_t *text)
{
	struct message_stream stream = {0};
	char whole[STREAM_TEXT_SIZE], priority[32] = "";
	uint32_t size = 0;
	const char *name = "";

	*text = 0;
	if (roster_process_stream(process, key->context_id, key->stream_id, &stream))
		name = catalog_string(catalog, stream.name, &size);
	if ((stream.flags & DEFINITION_STREAM_PRIORITY) && stream.priority != 0)
		snprintf(priority, sizeof(priority), " (priority %" PRId32 ")", stream.priority);
	if (size == 0 && !*priority)
		return 0;
	if (size > STREAM_TEXT_SIZE / 2)
		size = STREAM_TEXT_SIZE / 2;
	snprintf(whole, sizeof(whole),
		 size ? "stream%" PRIu32 " \"%.*s\"%s" : "stream%" PRIu32 "%.*s%s", key->stream_id,
		 (int)size, name, priority);
	return report_names_text(names, whole, text);
}
