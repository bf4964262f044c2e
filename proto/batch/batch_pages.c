#include "batch_pages.h"

#include <errno.h>

/* Returns the index of the first part that does not lie in its page, or nr_parts. *bytes: of all parts. */
static uint32_t find_outside(const struct message_pages *pages, uint64_t *bytes)
{
	uint32_t outside = pages->nr_parts;

	*bytes = 0;
	for (uint32_t i = pages->nr_parts; i-- > 0;) {
		const struct message_page_part *part = &pages->parts[i];

		*bytes += part->size;
		if (part->page_bytes > WIRE_PAGE_BYTES_MAX || part->size > part->page_bytes ||
		    part->at > part->page_bytes - part->size)
			outside = i;
	}
	return outside;
}

void batch_encode_pages(struct batch_writer *writer, const struct message *message)
{
	const struct message_layout *layout = message_layout(MESSAGE_PAGES);
	const struct message_pages *pages = &message->pages;
	uint64_t bytes;

	batch_writer_seq(writer, pages->seq);
	batch_writer_bin(writer, pages->writer, sizeof(pages->writer));
	batch_writer_require(writer, pages->round > 0);
	batch_writer_uint(writer, pages->round);
	batch_list_put(writer, &layout->lists[0], message);
	if (writer->err)
		return;
	batch_writer_require(writer, find_outside(pages, &bytes) == pages->nr_parts &&
					     bytes == pages->nr_bytes);
	batch_writer_bin(writer, pages->bytes, pages->nr_bytes);
	batch_list_put(writer, &layout->lists[1], message);
}

void batch_decode_pages(struct batch_rooms *rooms, struct batch_reader *reader,
			struct message *message)
{
	const struct message_layout *layout = message_layout(MESSAGE_PAGES);
	struct message_pages *pages = &message->pages;
	struct batch_fault *fault = reader->fault;
	uint64_t bytes;
	uint32_t outside;

	pages->seq = batch_reader_seq(reader);
	batch_reader_bytes(reader, "writer", pages->writer, sizeof(pages->writer));
	pages->round = batch_reader_uint(reader, "round", 1, UINT64_MAX);
	batch_list_get(rooms, 0, reader, &layout->lists[0], message);
	pages->nr_bytes = batch_reader_borrow(reader, "bytes", &pages->bytes);
	batch_list_get(rooms, 1, reader, &layout->lists[1], message);
	if (fault->err)
		return;
	outside = find_outside(pages, &bytes);
	if (outside < pages->nr_parts)
		batch_fault_set(fault, -EBADMSG, "part %u does not lie in its page", outside);
	else if (bytes != pages->nr_bytes)
		batch_fault_set(fault, -EBADMSG, "the parts have %llu bytes, not %u",
				(unsigned long long)bytes, pages->nr_bytes);
}
