/* The newest complete rounds of many profiles, at one moment. page_set_snapshot() makes one that borrows the set's
 * pages, which stay until page_set_release(). So another thread may write them to a file meanwhile. Plain data. */
#ifndef PAGE_SNAPSHOT_H
#define PAGE_SNAPSHOT_H

#include <stdbool.h>
#include <stdint.h>

#include "page_list.h"

#include "proto/batch/message.h"

struct page_snapshot_writer {
	uint8_t writer[WIRE_EPOCH_SIZE];
	uint64_t round;
	bool ended;       /* the writer has said goodbye */
	uint32_t nr_lost; /* pages of the round that were damaged in a file; list lacks them */
	struct page_list *list;
};

struct page_snapshot {
	uint32_t count;
	uint32_t nr_lost; /* further writers, of which a file had no sound head */
	struct page_snapshot_writer writers[];
};

#endif
