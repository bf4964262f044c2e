#include "event_packer.h"

#include <stdlib.h>
#include <string.h>

#include "event_format.h"
#include "zstd_library.h"

#include "base/array.h"
#include "proto/batch/batch_encode.h"

#define LEVEL     1        /* of zstd: higher ones take longer than a kernel's record may cost */
#define STEADY_NS 1000000u /* a greater change is a clock that was set */

struct bytes {
	uint8_t *data; /* owns */
	uint32_t size, room;
};

struct clock {
	int64_t offset_ns;
	bool is_known;
};

struct event_packer {
	struct batch_encoder *encoder;   /* owns */
	const struct zstd_library *zstd; /* NULL: there is none */
	void *compressor;                /* owns */
	struct launch_record *launches;  /* owns; EVENT_PACKER_EVENTS, as the next ones */
	struct gpu_record *records;
	struct message frame;       /* of these two, which is not encoded yet */
	struct bytes plain, blocks; /* of the block that is not complete, and those that are */
	uint32_t launches_of_block, records_of_block, marks_of_block;
	struct event_span *spans; /* owns; of this block */
	uint32_t nr_spans, room_spans;
	uint32_t span;        /* 1 + index of the one of the process; 0: not found yet */
	struct clock *clocks; /* owns; [process_id]: the offset that it has had so far */
	uint32_t room_clocks;
	bool has_no_spans;   /* no memory: the block is read whatever is asked for */
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
	if (packer->encoder)
		batch_encoder_widen(packer->encoder);
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
	free(packer->spans);
	free(packer->clocks);
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
	const size_t at =
		sizeof(struct event_block_head) + packer->nr_spans * sizeof(*packer->spans);
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

static void put_head(struct event_packer *packer, struct event_block_head *head)
{
	struct bytes *blocks = &packer->blocks;
	const uint32_t spans_bytes = head->nr_spans * (uint32_t)sizeof(*packer->spans);
	uint8_t *spans = blocks->data + blocks->size + sizeof(*head);

	if (spans_bytes)
		memcpy(spans, packer->spans, spans_bytes);
	head->spans_checksum = checksum_add(0, spans, spans_bytes);
	head->data_checksum = checksum_add(0, spans + spans_bytes, head->stored_bytes);
	head->checksum = EVENT_FORMAT_CHECKSUM(head);
	append(blocks, head, sizeof(*head));
	blocks->size += spans_bytes + head->stored_bytes;
}

static void end_block(struct event_packer *packer)
{
	struct event_block_head head = {
		.magic = EVENT_FORMAT_BLOCK,
		.plain_bytes = packer->plain.size,
		.nr_launches = packer->launches_of_block,
		.nr_records = packer->records_of_block,
		.nr_spans = packer->plain.size ? packer->nr_spans : 0,
		.nr_marks = packer->marks_of_block,
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
		put_head(packer, &head);
	} else {
		packer->lost += (uint64_t)head.nr_launches + head.nr_records;
	}
	packer->plain.size = packer->launches_of_block = packer->records_of_block = 0;
	packer->marks_of_block = packer->nr_spans = packer->span = 0;
	packer->has_no_spans = false;
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
	if (packer->plain.size >= EVENT_PACKER_BLOCK || packer->nr_spans == EVENT_FORMAT_SPANS)
		end_block(packer);
}

/* Offsets are measured again and again, each with an error. One that hardly differs is the earlier one, so that times
 * of a process stay comparable, whichever blocks somebody reads. */
static int64_t steady_offset(struct event_packer *packer, uint32_t process_id, int64_t offset_ns)
{
	if (array_reserve_zeroed(&packer->clocks, &packer->room_clocks, process_id + 1ull,
				 sizeof(*packer->clocks)))
		return offset_ns;
	struct clock *clock = &packer->clocks[process_id];
	const uint64_t change_ns = (uint64_t)offset_ns - (uint64_t)clock->offset_ns + STEADY_NS;

	if (!clock->is_known || change_ns > 2 * STEADY_NS)
		*clock = (struct clock){offset_ns, true};
	return clock->offset_ns;
}

/* NULL: no memory. */
static struct event_span *find_span(struct event_packer *packer)
{
	const uint32_t process_id = packer->frame.events.process_id;

	if (packer->has_no_spans)
		return NULL;
	if (packer->span)
		return &packer->spans[packer->span - 1];
	for (uint32_t i = packer->nr_spans; i > 0 && !packer->span; i--)
		if (packer->spans[i - 1].process_id == process_id)
			packer->span = i;
	if (!packer->span) {
		if (array_reserve(&packer->spans, &packer->room_spans, packer->nr_spans + 1ull,
				  sizeof(*packer->spans))) {
			packer->has_no_spans = true;
			packer->nr_spans = 0;
			return NULL;
		}
		packer->spans[packer->nr_spans++] = (struct event_span){.process_id = process_id,
									.marks = EVENT_SPAN_KNOWN,
									.first_ns = UINT64_MAX};
		packer->span = packer->nr_spans;
	}
	return &packer->spans[packer->span - 1];
}

static void note_time(struct event_span *span, uint64_t first_ns, uint64_t last_ns)
{
	if (first_ns < span->first_ns)
		span->first_ns = first_ns;
	if (last_ns > span->last_ns)
		span->last_ns = last_ns;
}

static void note_mark(struct event_span *span, uint16_t mark)
{
	if ((span->marks & EVENT_SPAN_MARKS) < EVENT_SPAN_MARKS)
		span->marks++;
	if (mark >= RECORD_MARK_WINDOW_END)
		span->marks |= EVENT_SPAN_WINDOWS;
}

void event_packer_begin(struct event_packer *packer, uint32_t process_id, int64_t clock_offset_ns,
			bool clock_valid)
{
	struct message_events *events = &packer->frame.events;

	if (clock_valid)
		clock_offset_ns = steady_offset(packer, process_id, clock_offset_ns);
	if (events->process_id == process_id && events->clock_offset_ns == clock_offset_ns &&
	    events->clock_valid == clock_valid)
		return;
	end_frame(packer);
	packer->span = 0;
	events->process_id = process_id;
	events->clock_offset_ns = clock_offset_ns;
	events->clock_valid = clock_valid;
}

void event_packer_launch(struct event_packer *packer, const struct launch_record *launch)
{
	struct message_events *events = &packer->frame.events;

	struct event_span *span = find_span(packer);
	const bool is_mark = launch->flags & RECORD_LAUNCH_MARK;

	if (span && !(launch->flags & RECORD_LAUNCH_FAILED))
		note_time(span, launch->time_ns, launch->time_ns);
	if (span && is_mark)
		note_mark(span, launch->cbid);
	packer->marks_of_block += is_mark;
	packer->launches[events->nr_launches++] = *launch;
	if (events->nr_launches == EVENT_PACKER_EVENTS)
		end_frame(packer);
}

void event_packer_record(struct event_packer *packer, const struct gpu_record *record)
{
	struct message_events *events = &packer->frame.events;

	struct event_span *span = find_span(packer);
	const uint64_t offset_ns = (uint64_t)events->clock_offset_ns;

	if (span && events->clock_valid)
		note_time(span, record->start_ns + offset_ns, record->end_ns + offset_ns);
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
