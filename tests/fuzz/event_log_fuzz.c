/* A file of an event log, as it is and with the checksums mended, which nobody finds by chance. */
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fuzz_file.h"
#include "timeline/log/event_format.h"
#include "timeline/log/event_reader.h"

#define NUMBER 1u
#define NAME   "00000001" EVENT_FORMAT_SUFFIX

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int take(void *context, const struct message_events *events)
{
	uint64_t *sum = context;

	for (uint32_t i = 0; i < events->nr_gpu; i++)
		*sum += events->gpu[i].end_ns;
	return 0;
}

static bool wants(void *context, const struct event_block_head *head,
		  const struct event_span *spans)
{
	uint64_t *sum = context;

	for (uint32_t i = 0; i < head->nr_spans; i++)
		*sum += spans[i].last_ns;
	return true;
}

static void read_file(const uint8_t *bytes, size_t size)
{
	struct event_sums sums = {0}, heads = {0};
	uint64_t sum = 0;
	bool begins;

	fuzz_file_write_named(NAME, bytes, size);
	int directory = open(fuzz_file_directory(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	const uint8_t profile[EVENT_FORMAT_ID] = {0};
	struct event_asks asks = {
		.take = take, .wants = wants, .context = &sum, .profile = profile};
	if (directory < 0 || event_reader_file(directory, NAME, &asks, &sums, &begins) ||
	    sums.files + sums.foreign != 1)
		abort();
	asks = (struct event_asks){.profile = profile};
	if (event_reader_file(directory, NAME, &asks, &heads, &begins))
		abort();
	close(directory);
	fuzz_file_remove_named(NAME);
}

/* The first block begins behind the file's head; the others follow. */
static void mend(uint8_t *bytes, size_t size)
{
	struct event_file_head file;
	struct event_block_head head;
	size_t at = sizeof(file);

	if (size < at)
		return;
	memcpy(&file, bytes, sizeof(file));
	memcpy(file.magic, EVENT_FORMAT_MAGIC, sizeof(file.magic));
	file.version = EVENT_FORMAT_VERSION;
	file.number = NUMBER;
	memset(file.profile, 0, sizeof(file.profile));
	file.checksum = EVENT_FORMAT_CHECKSUM(&file);
	memcpy(bytes, &file, sizeof(file));
	while (size - at >= sizeof(head)) {
		memcpy(&head, bytes + at, sizeof(head));
		head.magic = EVENT_FORMAT_BLOCK;
		head.codec &= 1;
		const size_t left = size - at - sizeof(head);
		head.nr_spans %= 3;
		if (head.nr_spans * sizeof(struct event_span) > left)
			head.nr_spans = 0;
		const size_t spans_bytes = head.nr_spans * sizeof(struct event_span);
		head.stored_bytes %= (uint32_t)(left - spans_bytes + 1);
		head.spans_checksum = checksum_add(0, bytes + at + sizeof(head), spans_bytes);
		if (head.codec == EVENT_FORMAT_COPY)
			head.plain_bytes = head.stored_bytes;
		head.data_checksum =
			checksum_add(0, bytes + at + sizeof(head) + spans_bytes, head.stored_bytes);
		head.checksum = EVENT_FORMAT_CHECKSUM(&head);
		memcpy(bytes + at, &head, sizeof(head));
		at += sizeof(head) + spans_bytes + head.stored_bytes;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t *mended = malloc(size + 1);

	if (!mended)
		abort();
	memcpy(mended, data, size);
	read_file(data, size);
	mend(mended, size);
	read_file(mended, size);
	free(mended);
	return 0;
}
