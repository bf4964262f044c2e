#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "codec_fixture.h"
#include "message_equal.h"
#include "message_samples.h"

static void assert_encode_fails(struct codec_fixture *codec, const struct message *message, int err)
{
	const uint8_t *bytes = (const uint8_t *)"";
	size_t size = 1;

	assert_int_equal(batch_encode(codec->encoder, message, &bytes, &size), err);
	assert_null(bytes);
	assert_int_equal(size, 0);
}

/* --- what survives --- */

static void every_message_survives_the_way(void **state)
{
	struct codec_fixture *codec = *state;

	for (uint32_t i = 0; i < NR_MESSAGE_SAMPLES; i++) {
		struct codec_fixture_frame frame =
			codec_fixture_encode(codec, message_samples_get(i));
		struct message message;

		assert_int_equal(batch_decode(codec->decoder, frame.bytes, frame.size, &message),
				 0);
		assert_string_equal(batch_decoder_error(codec->decoder), "");
		assert_true(message_equal(message_samples_get(i), &message));
		free(frame.bytes);
	}
}

static void equal_messages_make_equal_frames(void **state)
{
	struct codec_fixture *codec = *state;

	for (uint32_t i = 0; i < NR_MESSAGE_SAMPLES; i++) {
		struct codec_fixture_frame frame =
			codec_fixture_encode(codec, message_samples_get(i));
		struct codec_fixture_frame again;
		struct message message;

		assert_int_equal(batch_decode(codec->decoder, frame.bytes, frame.size, &message),
				 0);
		again = codec_fixture_encode(codec, &message);
		assert_int_equal(frame.size, again.size);
		assert_memory_equal(frame.bytes, again.bytes, frame.size);
		free(frame.bytes);
		free(again.bytes);
	}
}

static void the_examples_of_the_specification_are_what_is_sent(void **state)
{
	static const uint8_t ack[] = {0x95, 0x0a, 0x01, 0x2a, 0x40, 0xce, 0x00, 0x80, 0x00, 0x00};
	static const uint8_t events[] = {
		0x9a, 0x06, 0x01, 0x03, 0x01, 0x00, 0x01,       /* head */
		0x03, 0x97,                                     /* launches */
		0xc4, 0x06, 0xd0, 0x0f, 0xc8, 0x01, 0xc4, 0x01, /* time_ns */
		0x92, 0x05, 0x01,                               /* correlation_id */
		0xc4, 0x03, 0x06, 0x02, 0x03,                   /* stack_id */
		0x07, 0xcd, 0x01, 0x33, 0x01, 0x00,             /* tid, cbid, window, flags */
		0x00, 0x90,                                     /* gpu */
	};
	const struct launch_record launches[] = {
		{.time_ns = 1000,
		 .correlation_id = 5,
		 .stack_id = 3,
		 .tid = 7,
		 .cbid = 307,
		 .window = 1},
		{.time_ns = 1100,
		 .correlation_id = 6,
		 .stack_id = 4,
		 .tid = 7,
		 .cbid = 307,
		 .window = 1},
		{.time_ns = 1198,
		 .correlation_id = 7,
		 .stack_id = 2,
		 .tid = 7,
		 .cbid = 307,
		 .window = 1},
	};
	struct message message = {
		.type = MESSAGE_ACK,
		.ack = {.seq = 42, .window_frames = 64, .window_bytes = 8u << 20}};
	struct codec_fixture_frame frame = codec_fixture_encode(*state, &message);

	assert_int_equal(frame.size, sizeof(ack));
	assert_memory_equal(frame.bytes, ack, sizeof(ack));
	free(frame.bytes);
	message = (struct message){
		.type = MESSAGE_EVENTS,
		.events = {.seq = 3,
			   .process_id = 1,
			   .clock_valid = 1,
			   .nr_launches = 3,
			   .launches = launches},
	};
	frame = codec_fixture_encode(*state, &message);
	assert_int_equal(frame.size, sizeof(events));
	assert_memory_equal(frame.bytes, events, sizeof(events));
	free(frame.bytes);
}

static void the_largest_batch_survives_the_way(void **state)
{
	struct codec_fixture *codec = *state;
	struct launch_record *launches = calloc(WIRE_EVENTS_MAX, sizeof(*launches));
	struct message message = {.type = MESSAGE_EVENTS,
				  .events = {.seq = 1,
					     .process_id = 1,
					     .nr_launches = WIRE_EVENTS_MAX,
					     .launches = launches}};
	struct message decoded;
	struct codec_fixture_frame frame;

	assert_non_null(launches);
	for (uint32_t i = 0; i < WIRE_EVENTS_MAX; i++) {
		launches[i].time_ns = (uint64_t)i * i;
		launches[i].stack_id = i % 17;
	}
	frame = codec_fixture_encode(codec, &message);
	assert_int_equal(batch_decode(codec->decoder, frame.bytes, frame.size, &decoded), 0);
	assert_true(message_equal(&message, &decoded));
	message.events.nr_launches++;
	assert_encode_fails(codec, &message, -EMSGSIZE);
	free(frame.bytes);
	free(launches);
}

static void text_is_borrowed_from_the_frame(void **state)
{
	struct codec_fixture *codec = *state;
	struct codec_fixture_frame frame = codec_fixture_encode(codec, message_samples_get(3));
	struct message message;

	assert_int_equal(batch_decode(codec->decoder, frame.bytes, frame.size, &message), 0);
	assert_int_equal(message.type, MESSAGE_STRINGS);
	for (uint32_t i = 0; i < message.strings.count; i++) {
		const uint8_t *data = (const uint8_t *)message.strings.strings[i].data;

		assert_true(data >= frame.bytes && data <= frame.bytes + frame.size);
	}
	free(frame.bytes);
}

static void unknown_trailing_elements_are_ignored(void **state)
{
	struct codec_fixture *codec = *state;
	struct message message;

	assert_int_equal(codec_fixture_decode(codec,
					      "\x97\x0a\x01\x2a\x40\x01\x05\x93\xc0\xc4\x01x\xa1y",
					      14, &message),
			 0);
	assert_int_equal(message.ack.seq, 42);
	assert_int_equal(message.ack.window_bytes, 1);
	assert_int_equal(message.ack.round_ms, 5);
}

static void empty_lists_are_null(void **state)
{
	struct codec_fixture *codec = *state;
	struct codec_fixture_frame frame = codec_fixture_encode(codec, message_samples_get(11));
	struct message message;

	assert_int_equal(batch_decode(codec->decoder, frame.bytes, frame.size, &message), 0);
	assert_int_equal(message.type, MESSAGE_EVENTS);
	assert_null(message.events.launches);
	assert_null(message.events.gpu);
	free(frame.bytes);
}

static void reserved_fields_come_back_as_zero(void **state)
{
	struct codec_fixture *codec = *state;
	struct launch_record launches[] = {{.time_ns = 1, .reserved = 9},
					   {.time_ns = 5, .reserved = 7}};
	struct message message = {
		.type = MESSAGE_EVENTS,
		.events = {.seq = 1, .process_id = 1, .nr_launches = 2, .launches = launches}};
	struct codec_fixture_frame frame = codec_fixture_encode(codec, &message);

	assert_int_equal(batch_decode(codec->decoder, frame.bytes, frame.size, &message), 0);
	for (uint32_t i = 0; i < 2; i++)
		assert_int_equal(message.events.launches[i].reserved, 0);
	free(frame.bytes);
}

/* --- what is not sent --- */

static void types_that_are_not_sent_are_invalid(void **state)
{
	assert_encode_fails(*state, &(struct message){.type = (enum message_type)23}, -EINVAL);
	assert_encode_fails(*state, &(struct message){.type = MESSAGE_CONTROL}, -EINVAL);
	assert_encode_fails(*state, &(struct message){.type = MESSAGE_FETCH}, -EINVAL);
	assert_encode_fails(*state,
			    &(struct message){.type = MESSAGE_CLOCK, .clock.kind = CLOCK_KINDS},
			    -EINVAL);
	assert_encode_fails(*state, &(struct message){.type = (enum message_type)0}, -EINVAL);
	assert_encode_fails(*state, &(struct message){.type = (enum message_type)99}, -EINVAL);
}

static void fetches_over_a_limit_are_not_sent(void **state)
{
	static const char name[MESSAGE_JOB_NAME_MAX + 1];
	static const uint8_t bytes[WIRE_FETCH_BYTES_MAX + 1];
	static const struct message_fetch_job jobs[WIRE_FETCH_JOBS_MAX + 1];
	const struct message_fetch long_user = {.token = 1, .user = {name, sizeof(name)}},
				   long_name = {.token = 1, .name = {name, sizeof(name)}},
				   many_jobs = {.token = 1,
						.nr_jobs = WIRE_FETCH_JOBS_MAX + 1,
						.jobs = jobs},
				   behind = {.token = 1,
					     .nr_bytes = 2,
					     .bytes = bytes,
					     .total_bytes = 1};
	struct message_fetch block = {.token = 1,
				      .total_bytes = sizeof(bytes),
				      .nr_bytes = sizeof(bytes),
				      .bytes = bytes};
	const struct message_fetch *const large[] = {&long_user, &long_name, &many_jobs, &block};

	for (size_t i = 0; i < sizeof(large) / sizeof(*large); i++)
		assert_encode_fails(*state,
				    &(struct message){.type = MESSAGE_FETCH, .fetch = *large[i]},
				    -EMSGSIZE);
	assert_encode_fails(*state, &(struct message){.type = MESSAGE_FETCH, .fetch = behind},
			    -EINVAL);
	block.nr_bytes = WIRE_FETCH_BYTES_MAX;
	struct codec_fixture_frame frame = codec_fixture_encode(
		*state, &(struct message){.type = MESSAGE_FETCH, .fetch = block});
	assert_true(frame.size < WIRE_FRAME_MAX);
	free(frame.bytes);
}

static void proofs_have_a_text_that_is_not_too_long(void **state)
{
	static const char text[WIRE_PROOF_MAX + 1];
	struct message proof = {.type = MESSAGE_PROOF};

	assert_encode_fails(*state, &proof, -EINVAL);
	proof.proof.text = (struct message_text){text, sizeof(text)};
	assert_encode_fails(*state, &proof, -EINVAL);
}

static void values_that_no_decoder_takes_are_invalid(void **state)
{
	const struct gpu_record reversed = {.start_ns = 5, .end_ns = 4},
				zero = {.start_ns = 0, .end_ns = 4};
	const struct gpu_record kinds[] = {{.start_ns = 5, .end_ns = 6, .kind = 1},
					   {.start_ns = 5, .end_ns = 6, .kind = RECORD_GPU_KINDS}};
	const struct message_node self = {.parent = 7, .frame = 1},
				  bare = {.parent = 0, .frame = 0};
	const struct message_frame torn = {.module = 1, .code = 1};
	const struct message_code nameless = {.file = 1};
	struct message events = {.type = MESSAGE_EVENTS,
				 .events = {.seq = 1, .process_id = 1, .nr_gpu = 1}};
	struct message stacks = {.type = MESSAGE_STACKS,
				 .stacks = {.seq = 1, .node_base = 7, .nr_nodes = 1}};
	struct message process = {.type = MESSAGE_PROCESS, .process = {.seq = 1, .process_id = 1}};

	assert_encode_fails(*state, &(struct message){.type = MESSAGE_BYE}, -EINVAL);
	assert_encode_fails(
		*state, &(struct message){.type = MESSAGE_HELLO, .hello.version_min = 1}, -EINVAL);
	events.events.gpu = &reversed;
	assert_encode_fails(*state, &events, -EINVAL);
	events.events.gpu = &zero;
	assert_encode_fails(*state, &events, -EINVAL);
	events.events.gpu = kinds;
	events.events.nr_gpu = 2;
	assert_encode_fails(*state, &events, -EINVAL);
	events.events.process_id = 0;
	assert_encode_fails(*state, &events, -EINVAL);
	stacks.stacks.nodes = &self;
	assert_encode_fails(*state, &stacks, -EINVAL);
	stacks.stacks.nodes = &bare;
	assert_encode_fails(*state, &stacks, -EINVAL);
	stacks.stacks =
		(struct message_stacks){.seq = 1, .frame_base = 1, .nr_frames = 1, .frames = &torn};
	assert_encode_fails(*state, &stacks, -EINVAL);
	stacks.stacks = (struct message_stacks){
		.seq = 1, .code_base = 1, .nr_codes = 1, .codes = &nameless};
	assert_encode_fails(*state, &stacks, -EINVAL);
	assert_encode_fails(
		*state,
		&(struct message){.type = MESSAGE_STATISTICS,
				  .statistics = {.seq = 1,
						 .process_id = 1,
						 .nr_calls = 1,
						 .calls = &(struct message_api_call){.cbid = 1}}},
		-EINVAL);
	process.process.rank = -2;
	assert_encode_fails(*state, &process, -EINVAL);
	process.process.rank = 0;
	process.process.state = PROCESS_UNCLEAN + 1;
	assert_encode_fails(*state, &process, -EINVAL);
}

static void pages_that_no_decoder_takes_are_invalid(void **state)
{
	const struct message_page_part outside = {.page_bytes = 4, .at = 3, .size = 2},
				       empty = {.page_bytes = 4},
				       large = {.page_bytes = WIRE_PAGE_BYTES_MAX + 1, .size = 2},
				       sound = {.page_bytes = 4, .at = 2, .size = 2};
	const uint8_t *bytes = (const uint8_t *)"ab";
	struct message pages = {
		.type = MESSAGE_PAGES,
		.pages = {.seq = 1, .round = 1, .nr_parts = 1, .nr_bytes = 2, .bytes = bytes}};

	pages.pages.parts = &outside;
	assert_encode_fails(*state, &pages, -EINVAL);
	pages.pages.parts = &empty;
	assert_encode_fails(*state, &pages, -EINVAL);
	pages.pages.parts = &large;
	assert_encode_fails(*state, &pages, -EINVAL);
	pages.pages.parts = &sound;
	pages.pages.nr_bytes = 1;
	assert_encode_fails(*state, &pages, -EINVAL);
	pages.pages.nr_bytes = 2;
	pages.pages.round = 0;
	assert_encode_fails(*state, &pages, -EINVAL);
	pages.pages.round = 1;
	free(codec_fixture_encode(*state, &pages).bytes);
	pages.pages.nr_tables = WIRE_ITEMS_MAX + 1;
	assert_encode_fails(*state, &pages, -EMSGSIZE);
}

static void the_bytes_of_pages_are_borrowed_and_fill_a_frame(void **state)
{
	struct codec_fixture *codec = *state;
	uint32_t size = WIRE_FRAME_MAX - 64; /* the message around the bytes is smaller */
	uint8_t *bytes = calloc(1, WIRE_FRAME_MAX);
	struct message_page_part part = {.page_bytes = WIRE_PAGE_BYTES_MAX, .size = size};
	struct message decoded, pages = {.type = MESSAGE_PAGES,
					 .pages = {.seq = 1,
						   .round = 1,
						   .nr_parts = 1,
						   .nr_bytes = size,
						   .parts = &part,
						   .bytes = bytes}};

	assert_non_null(bytes);
	struct codec_fixture_frame frame = codec_fixture_encode(codec, &pages);
	assert_int_equal(batch_decode(codec->decoder, frame.bytes, frame.size, &decoded), 0);
	assert_true(message_equal(&pages, &decoded));
	assert_true(decoded.pages.bytes > frame.bytes &&
		    decoded.pages.bytes < frame.bytes + frame.size);
	part.size = pages.pages.nr_bytes = WIRE_FRAME_MAX;
	assert_encode_fails(codec, &pages, -EMSGSIZE);
	free(frame.bytes);
	free(bytes);
}

static void samples_that_no_decoder_takes_are_invalid(void **state)
{
	const struct host_sample nothing[] = {{.time_ns = 9, .duration_ns = 1}, {.time_ns = 9}};
	const struct host_sample kind = {.duration_ns = 1, .kind = HOST_SAMPLE_KINDS};
	const struct host_sample stack = {.duration_ns = 1, .stack_id = WIRE_ID_MAX + 1};
	const struct host_sample name = {.duration_ns = 1, .name_id = WIRE_ID_MAX + 1};
	const struct host_sample command = {.duration_ns = 1, .command_id = WIRE_ID_MAX + 1};
	struct message message = {
		.type = MESSAGE_SAMPLES,
		.samples = {.seq = 1, .process_id = 1, .nr_samples = 2, .samples = nothing}};

	assert_encode_fails(*state, &message, -EINVAL);
	message.samples.nr_samples = 1;
	message.samples.process_id = 0;
	assert_encode_fails(*state, &message, -EINVAL);
	message.samples.process_id = 1;
	message.samples.samples = &kind;
	assert_encode_fails(*state, &message, -EINVAL);
	message.samples.samples = &stack;
	assert_encode_fails(*state, &message, -EMSGSIZE);
	message.samples.samples = &name;
	assert_encode_fails(*state, &message, -EMSGSIZE);
	message.samples.samples = &command;
	assert_encode_fails(*state, &message, -EMSGSIZE);
	message.samples.nr_samples = WIRE_EVENTS_MAX + 1;
	assert_encode_fails(*state, &message, -EMSGSIZE);
}

static void an_encoder_sends_no_link_without_a_peak(void **state)
{
	const struct message_link link = {0, DEVICE_LINK_NVLINK, 0};

	assert_encode_fails(
		*state,
		&(struct message){
			.type = MESSAGE_PLACEMENT,
			.placement = {.seq = 1, .process_id = 1, .nr_links = 1, .links = &link}},
		-EINVAL);
}

static void a_decoder_takes_no_sample_that_cannot_be(void **state)
{
	static const struct {
		const char *bytes, *error;
		int err;
	} cases[] = {
		{"\x97\x12\x01\x01\x01\x02\x98\x09\x05\x01\x00\x00\x00\x02\x00\x07", "", 0},
		{"\x97\x12\x01\x01\x01\x02\x98\x09\x00\x01\x00\x00\x00\x02\x00\x07",
		 "SAMPLES: sample duration_ns is 0 in row 0", -EBADMSG},
		{"\x97\x12\x01\x01\x01\x02\x98\x09\x05\x01\x00\x00\x05\x02\x00\x07",
		 "SAMPLES: sample kind", -EBADMSG},
		{"\x97\x12\x01\x01\x00\x02\x98\x09\x05\x01\x00\x00\x00\x02\x00\x07",
		 "SAMPLES: process_id", -EBADMSG},
		{"\x97\x12\x01\x01\x01\x02\x98\x09\x05\x01\x00\x00\x00\x02\x00\xc0",
		 "SAMPLES: realtime_offset_ns", -EBADMSG},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct codec_fixture *codec = *state;
		struct message message;

		assert_int_equal(codec_fixture_decode(codec, cases[i].bytes, 16, &message),
				 cases[i].err);
		assert_memory_equal(batch_decoder_error(codec->decoder), cases[i].error,
				    strlen(cases[i].error));
		assert_int_equal(message.samples.nr_samples, cases[i].err ? 0 : 2);
	}
}

static void kinds_that_mix_are_not_taken_for_one_that_does_not_exist(void **state)
{
	const struct gpu_record gpu[] = {{.start_ns = 5, .end_ns = 6, .kind = RECORD_GPU_MEMCPY},
					 {.start_ns = 5, .end_ns = 6, .kind = RECORD_GPU_MEMSET}};
	struct message message = {.type = MESSAGE_EVENTS,
				  .events = {.seq = 1, .process_id = 1, .nr_gpu = 2, .gpu = gpu}};
	struct codec_fixture_frame frame = codec_fixture_encode(*state, &message);

	assert_true(frame.size > 0);
	free(frame.bytes);
}

static void messages_over_a_limit_are_refused_whole(void **state)
{
	struct message_text *texts = calloc(WIRE_ITEMS_MAX + 1, sizeof(*texts));
	char *data = calloc(1, WIRE_STRING_MAX + 1);
	const struct launch_record launches[] = {{.stack_id = 1}, {.stack_id = WIRE_ID_MAX + 1}};
	const struct message_module module = {.build_id_size = WIRE_BUILD_ID_MAX + 1};
	struct message strings = {
		.type = MESSAGE_STRINGS,
		.strings = {.seq = 1, .base = 1, .count = WIRE_ITEMS_MAX + 1, .strings = texts}};
	const struct gpu_record gpu[] = {
		{.start_ns = 1, .end_ns = 2},
		{.start_ns = 1, .end_ns = 2, .capture_stack_id = UINT32_MAX}};
	struct message message = {
		.type = MESSAGE_EVENTS,
		.events = {.seq = 1, .process_id = 1, .nr_launches = 2, .launches = launches}};

	assert_non_null(texts);
	assert_non_null(data);
	for (uint32_t i = 0; i <= WIRE_ITEMS_MAX; i++)
		texts[i] = (struct message_text){data, 64};
	assert_encode_fails(*state, &strings, -EMSGSIZE);
	strings.strings.count = WIRE_ITEMS_MAX; /* 4 MiB of text: over WIRE_FRAME_MAX */
	assert_encode_fails(*state, &strings, -EMSGSIZE);
	strings.strings.count = 1;
	strings.strings.base = WIRE_ID_MAX + 1;
	assert_encode_fails(*state, &strings, -EMSGSIZE);
	strings.strings.base = 1;
	texts[0].size = WIRE_STRING_MAX + 1;
	assert_encode_fails(*state, &strings, -EMSGSIZE);
	assert_encode_fails(*state, &message, -EMSGSIZE);
	message.events =
		(struct message_events){.seq = 1, .process_id = 1, .nr_gpu = 2, .gpu = gpu};
	assert_encode_fails(*state, &message, -EMSGSIZE);
	message = (struct message){.type = MESSAGE_LEDGER,
				   .ledger = {.seq = 1, .nr_entries = WIRE_ITEMS_MAX + 1}};
	assert_encode_fails(*state, &message, -EMSGSIZE);
	message = (struct message){
		.type = MESSAGE_STACKS,
		.stacks = {.seq = 1, .module_base = 1, .nr_modules = 1, .modules = &module}};
	assert_encode_fails(*state, &message, -EMSGSIZE);
	free(texts);
	free(data);
}

/* --- ends of other versions --- */

static struct codec_fixture_frame encode_module(struct codec_fixture *codec, uint32_t owner)
{
	const struct message_module module = {.path = 3,
					      .flags = 1,
					      .owner = owner,
					      .build_id_size = 2,
					      .build_id = {0xaa, 0xbb}};
	const struct message message = {
		.type = MESSAGE_STACKS,
		.stacks = {.seq = 7, .module_base = 1, .nr_modules = 1, .modules = &module}};

	return codec_fixture_encode(codec, &message);
}

/* Agents did not always tell of owners, and aggregators pass over what they do not know at an array's end. */
static void the_owner_of_a_module_is_the_last_element_and_may_be_missing(void **state)
{
	enum { MODULES = 4, OF_SIX = 0x96, OF_FIVE = 0x95 };
	struct codec_fixture_frame one = encode_module(*state, 5), other = encode_module(*state, 6);
	struct message message;
	size_t owner = 0;

	assert_int_equal(one.size, other.size);
	while (one.bytes[owner] == other.bytes[owner])
		owner++;
	assert_memory_equal(one.bytes + owner + 1, other.bytes + owner + 1, one.size - owner - 1);
	assert_int_equal(one.bytes[MODULES], OF_SIX);
	assert_int_equal(one.bytes[owner + 1], OF_FIVE); /* the frames, so it is the last */

	one.bytes[MODULES] = OF_FIVE;
	memmove(one.bytes + owner, one.bytes + owner + 1, one.size - owner - 1);
	assert_int_equal(codec_fixture_decode(*state, one.bytes, one.size - 1, &message), 0);
	assert_int_equal(message.stacks.nr_modules, 1);
	assert_int_equal(message.stacks.modules[0].path, 3);
	assert_int_equal(message.stacks.modules[0].build_id_size, 2);
	assert_int_equal(message.stacks.modules[0].owner, MESSAGE_OWNER_NONE);
	free(one.bytes);
	free(other.bytes);
}

/* Whatever versions the two ends have: HELLO and REFUSE are as they always were. */
static void the_messages_of_a_disagreement_are_of_version_1(void **state)
{
	for (uint32_t i = 0; i < NR_MESSAGE_SAMPLES; i++) {
		const struct message *sample = message_samples_get(i);
		struct codec_fixture_frame frame = codec_fixture_encode(*state, sample);
		size_t version = frame.bytes[0] == 0xdc ? 4 : 2; /* a long array has a long head */
		struct message message;

		if (sample->type == MESSAGE_HELLO || sample->type == MESSAGE_REFUSE)
			assert_int_equal(frame.bytes[version], 1);
		else
			assert_int_equal(frame.bytes[version], WIRE_VERSION);
		frame.bytes[version] = WIRE_VERSION + 1;
		assert_int_equal(codec_fixture_decode(*state, frame.bytes, frame.size, &message),
				 -EPROTONOSUPPORT);
		free(frame.bytes);
	}
}

static void an_encoder_works_after_an_error(void **state)
{
	struct codec_fixture_frame frame;

	assert_encode_fails(*state, &(struct message){.type = MESSAGE_BYE}, -EINVAL);
	frame = codec_fixture_encode(*state, &(struct message){.type = MESSAGE_BYE, .bye.seq = 1});
	assert_int_equal(frame.size, 4);
	assert_memory_equal(frame.bytes, "\x93\x0e\x01\x01", 4);
	free(frame.bytes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_message_survives_the_way),
		cmocka_unit_test(the_owner_of_a_module_is_the_last_element_and_may_be_missing),
		cmocka_unit_test(the_messages_of_a_disagreement_are_of_version_1),
		cmocka_unit_test(equal_messages_make_equal_frames),
		cmocka_unit_test(the_examples_of_the_specification_are_what_is_sent),
		cmocka_unit_test(the_largest_batch_survives_the_way),
		cmocka_unit_test(text_is_borrowed_from_the_frame),
		cmocka_unit_test(unknown_trailing_elements_are_ignored),
		cmocka_unit_test(empty_lists_are_null),
		cmocka_unit_test(reserved_fields_come_back_as_zero),
		cmocka_unit_test(types_that_are_not_sent_are_invalid),
		cmocka_unit_test(fetches_over_a_limit_are_not_sent),
		cmocka_unit_test(proofs_have_a_text_that_is_not_too_long),
		cmocka_unit_test(values_that_no_decoder_takes_are_invalid),
		cmocka_unit_test(pages_that_no_decoder_takes_are_invalid),
		cmocka_unit_test(the_bytes_of_pages_are_borrowed_and_fill_a_frame),
		cmocka_unit_test(samples_that_no_decoder_takes_are_invalid),
		cmocka_unit_test(an_encoder_sends_no_link_without_a_peak),
		cmocka_unit_test(a_decoder_takes_no_sample_that_cannot_be),
		cmocka_unit_test(kinds_that_mix_are_not_taken_for_one_that_does_not_exist),
		cmocka_unit_test(messages_over_a_limit_are_refused_whole),
		cmocka_unit_test(an_encoder_works_after_an_error),
	};

	return cmocka_run_group_tests(tests, codec_fixture_set_up, codec_fixture_tear_down);
}
