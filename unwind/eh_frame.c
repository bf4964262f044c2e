#include "eh_frame.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "cfi_program.h"
#include "eh_frame_header.h"
#include "eh_frame_index.h"
#include "eh_frame_lookup.h"
#include "frame_description.h"
#include "process_memory.h"
#include "unwind_row.h"
#include "unwind_rows.h"

/* Returns whether the code is the C library's return from a signal handler: mov $15,%rax; syscall. Other code also
 * marks frames as signals', but with a layout of its own. */
static bool is_signal_return(uint64_t start, uint64_t end)
{
	static const uint8_t code[] = {0x48, 0xc7, 0xc0, 0x0f, 0x00, 0x00, 0x00, 0x0f, 0x05};
	/* The entry begins one byte early, for unwinders that look up return address - 1. */
	uint8_t bytes[sizeof(code) + 1];
	size_t size = end - start < sizeof(bytes) ? (size_t)(end - start) : sizeof(bytes);

	if (size < sizeof(code) || process_memory_read(start, bytes, size) != size)
		return false;
	return memcmp(bytes, code, sizeof(code)) == 0 ||
	       (size == sizeof(bytes) && memcmp(bytes + 1, code, sizeof(code)) == 0);
}

/* Adds the rows for [start, end), the part that the previous function did not take. Both are relative to the
 * segment. */
static void put_description(const struct frame_description *description, uint32_t start,
			    uint32_t end, struct unwind_rows *rows)
{
	if (description->common.signal)
		unwind_rows_put(
			rows, start,
			unwind_rule_special(is_signal_return(description->start, description->end)
						    ? UNWIND_SIGNAL
						    : UNWIND_UNSUPPORTED));
	else
		cfi_program_run(&description->common.cfi, description->program,
				description->program_size, start, end, rows);
}

static void compile(const struct eh_frame_index *index, uint64_t start, uint64_t end,
		    struct unwind_rows *rows)
{
	struct frame_common_cache cache = {.nr = 0};
	uint64_t done = start; /* everything below has its rows, except for a gap that ends here */

	for (uint32_t i = 0; i < index->nr && !rows->error; i++) {
		struct frame_description description;

		if (!frame_description_parse(&index->section, &cache, index->entries[i].at,
					     &description) ||
		    description.start < done || description.start >= end)
			continue;
		if (description.start > done)
			unwind_rows_put(rows, (uint32_t)(done - start),
					unwind_rule_special(UNWIND_GAP));
		if (description.end > end)
			description.end = end;
		/* If functions overlap, the later one wins, because it is nearer to its own start. */
		if (i + 1 < index->nr && index->entries[i + 1].address > description.start &&
		    index->entries[i + 1].address < description.end)
			description.end = index->entries[i + 1].address;
		put_description(&description, (uint32_t)(description.start - start),
				(uint32_t)(description.end - start), rows);
		done = description.end;
	}
	if (rows->nr && done < end)
		unwind_rows_put(rows, (uint32_t)(done - start), unwind_rule_special(UNWIND_GAP));
}

int eh_frame_compile(const struct eh_frame_image *image, uint64_t eh_frame_hdr,
		     uint64_t eh_frame_hdr_size, uint64_t start, uint64_t end,
		     struct unwind_rows *rows)
{
	struct eh_frame_index index = {.nr = 0};
	struct eh_frame_header header;
	int error;

	if (end <= start || end - start > UINT32_MAX)
		return -EINVAL;
	error = eh_frame_header_read(&header, image, eh_frame_hdr, eh_frame_hdr_size);
	if (error == 0)
		error = eh_frame_index_init(&index, &header);
	if (error == 0) {
		compile(&index, start, end, rows);
		error = rows->error;
		if (error == 0 && rows->nr == 0)
			error = -ENOENT;
	}
	eh_frame_index_fini(&index);
	return error;
}

bool eh_frame_rows(const struct frame_description *function, struct unwind_rows *rows)
{
	if (function->end - function->start > UINT32_MAX)
		return false;
	put_description(function, 0, (uint32_t)(function->end - function->start), rows);
	return rows->error == 0;
}

bool eh_frame_function(const struct eh_frame_image *image, uint64_t eh_frame_hdr,
		       uint64_t eh_frame_hdr_size, uint64_t address, uint64_t *start, uint64_t *end)
{
	struct eh_frame_found *found = mmap(NULL, sizeof(*found), PROT_READ | PROT_WRITE,
					    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct eh_frame_lookup lookup;
	bool is_there;

	*start = *end = 0;
	if (found == MAP_FAILED)
		return false;
	is_there = eh_frame_lookup_init(&lookup, image, eh_frame_hdr, eh_frame_hdr_size) == 0 &&
		   eh_frame_lookup_find(&lookup, address, found);
	if (is_there) {
		*start = found->description.start;
		*end = found->description.end;
	}
	eh_frame_lookup_fini(&lookup);
	munmap(found, sizeof(*found));
	return is_there;
}
