#include "event_packer.h"

#include <stdlib.h>
#include <string.h>

#include "event_format.h"
#include "zstd_library.h"

#include "base/array.h"
#include "proto/batch/batch_encode.h"

#define LEVEL 1 /* of zstd: higher ones take longer than a kernel's record may cost */

struct bytes {
	uint8_t *data; /* owns */
	uint32_t size, room;
};

struct event_packer {
	struct batch_encoder *encoder;   /* owns */
	const struct zstd_library *zstd; /* NULL: there is none */
	void *compressor;                /* owns */
	struct launch_record *launches;  /* owns; EVENT_PACKER_EVENTS, as the next ones */
	struct gpu_record *records;
	struct message frame;       /* of these two, which is not encoded yet */
	struct bytes plain, blocks; /* of the block that is not complete, and those that are */
	uint32_t launches_of_block, records_of_block;
	uint64_t lost, told; /* told: of lost, what blocks name */
};

struct event_packer *event_packer_create(void)
{
	struct event_packer *packer = calloc(1, sizeof(*packer));
	char *error = NULL;

	if (!packer)
		return NULL;
	if (zstd_library_open(&packer->zstd, &error) == 0)
		packer->compressor = packer->zstd->create_compressor();
	free(error);
	if (!packer->compressor)
		packer->zstd = NULL;
	packer->encoder = batch_encoder_create();
	packer->launches = calloc(EVENT_PACKER_EVENTS, sizeof(*packer->launches));
	packer->records = calloc(EVENT_PACKER_EVENTS, sizeof(*packer->records));
	if (!packer->encoder || !packer->launches || !packer->records) {
		event_packer_destroy(packer);
		return NULL;
	}
	packer->frame = (struct message){
		.type = MESSAGE_EVENTS,
		.events = {.seq = 1, .launches = packer->launches, .gpu = packer->records}};
	return packer;
}

void event_packer_destroy(struct event_packer *packer)
{
	if (!packer)
		return;
	if (packer->zstd)
		packer->zstd->free_compressor(packer->compressor);
	batch_encoder_destroy(packer->encoder);
	free(packer->launches);
	free(packer->records);
	free(packer->plain.data);
	free(packer->blocks.data);
	free(packer);
}

static bool reserve(struct bytes *bytes, size_t more)
{
	return array_reserve(&bytes->data, &bytes->room, (uint64_t)bytes->size + more, 1) == 0;
}

static void append(struct bytes *bytes, const void *data, size_t size)
{
	memcpy(bytes->data + bytes->size, data, size);
	bytes->size += (uint32_t)size;
}

/* Puts the block's bytes behind its head. Returns their number; 0: there is no room. */
static size_t store(struct event_packer *packer, enum event_format_codec *codec)
{
	struct bytes *blocks = &packer->blocks;
	const struct bytes *plain = &packer->plain;
	const size_t at = sizeof(struct event_block_head);
	if (!plain->size) {
		*codec = EVENT_FORMAT_COPY;
		return 0;
	}
	const size_t bound = packer->zstd ? packer->zstd->bound(plain->size) : plain->size;

	if (blocks->size + at + bound > EVENT_PACKER_ROOM || !reserve(blocks, at + bound))
		return 0;
	uint8_t *out = blocks->data + blocks->size + at;
	if (packer->zstd) {
		size_t size = packer->zstd->compress(packer->compressor, out, bound, plain->data,
						     plain->size, LEVEL);

		*codec = EVENT_FORMAT_ZSTD;
		if (!packer->zstd->is_error(size))
			return size;
	}
	*codec = EVENT_FORMAT_COPY;
	memcpy(out, plain->data, plain->size);
	return plain->size;
}

static void end_block(struct event_packer *packer)
{
	struct event_block_head head = {
		.magic = EVENT_FORMAT_BLOCK,
		.plain_bytes = packer->plain.size,
		.nr_launches = packer->launches_of_block,
		.nr_records = packer->records_of_block,
		.lost_events = packer->lost,
	};
	enum event_format_codec codec;
	struct bytes *blocks = &packer->blocks;

	if (packer->plain.size == 0 && packer->told == packer->lost)
		return;
	head.stored_bytes = (uint32_t)store(packer, &codec);
	if (head.stored_bytes || (!packer->plain.size && reserve(blocks, sizeof(head)))) {
		packer->told = packer->lost;
		head.codec = codec;
		head.data_checksum = checksum_add(0, blocks->data + blocks->size + sizeof(head),
						  head.stored_bytes);
		head.checksum = EVENT_FORMAT_CHECKSUM(&head);
		append(blocks, &head, sizeof(head));
		blocks->size += head.stored_bytes;
	} else {
		packer->lost += (uint64_t)head.nr_launches + head.nr_records;
	}
	packer->plain.size = packer->launches_of_block = packer->records_of_block = 0;
}

static void end_frame(struct event_packer *packer)
{
	struct message_events *events = &packer->frame.events;
	const uint8_t *bytes;
	size_t size;

	if (events->nr_launches == 0 && events->nr_gpu == 0)
		return;
	if (batch_encode(packer->encoder, &packer->frame, &bytes, &size) == 0 &&
	    reserve(&packer->plain, sizeof(uint32_t) + size)) {
		const uint32_t number = (uint32_t)size;

		append(&packer->plain, &number, sizeof(number));
		append(&packer->plain, bytes, size);
		packer->launches_of_block += events->nr_launches;
		packer->records_of_block += events->nr_gpu;
	} else {
		packer->lost += (uint64_t)events->nr_launches + events->nr_gpu;
	}
	events->nr_launches = events->nr_gpu = 0;
	if (packer->plain.size >= EVENT_PACKER_BLOCK)
		end_block(packer);
}

void event_packer_begin(struct event_packer *packer, uint32_t process_id, int64_t clock_offset_ns,
			bool clock_valid)
{
	struct message_events *events = &packer->frame.events;

	if (events->process_id == process_id && events->clock_offset_ns == clock_offset_ns &&
	    events->clock_valid == clock_valid)
		return;
	end_frame(packer);
	events->process_id = process_id;
	events->clock_offset_ns = clock_offset_ns;
	events->clock_valid = clock_valid;
}

void event_packer_launch(struct event_packer *packer, const struct launch_record *launch)
{
	struct message_events *events = &packer->frame.events;

	packer->launches[events->nr_launches++] = *launch;
	if (events->nr_launches == EVENT_PACKER_EVENTS)
		end_frame(packer);
}

void event_packer_record(struct event_packer *packer, const struct gpu_record *record)
{
	struct message_events *events = &packer->frame.events;

	packer->records[events->nr_gpu++] = *record;
	if (events->nr_gpu == EVENT_PACKER_EVENTS)
		end_frame(packer);
}

const uint8_t *event_packer_blocks(struct event_packer *packer, size_t *size)
{
	end_frame(packer);
	end_block(packer);
	*size = packer->blocks.size;
	return packer->blocks.data;
}

void event_packer_clear(struct event_packer *packer)
{
	packer->blocks.size = 0;
}

void event_packer_lose(struct event_packer *packer, uint64_t events)
{
	packer->lost += events;
	packer->told = packer->lost + 1; /* the block that named some was refused */
}

void event_packer_lost_before(struct event_packer *packer, uint64_t events)
{
	packer->lost = packer->told = events;
}

uint64_t event_packer_lost(const struct event_packer *packer)
{
	return packer->lost;
}
