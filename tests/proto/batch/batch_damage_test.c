#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "codec_fixture.h"
#include "message_equal.h"
#include "message_samples.h"

static void assert_decode_fails(struct codec_fixture *codec, const void *bytes, size_t size,
				int err, const char *where)
{
	struct message message;

	assert_int_equal(codec_fixture_decode(codec, bytes, size, &message), err);
	assert_non_null(strstr(batch_decoder_error(codec->decoder), where));
}

#define DECODE_FAILS(codec, literal, err, where)                                                   \
	assert_decode_fails(codec, literal, sizeof(literal) - 1, err, where)

static void frames_cut_anywhere_are_malformed(void **state)
{
	struct codec_fixture *codec = *state;
	struct message message;

	for (uint32_t i = 0; i < NR_MESSAGE_SAMPLES; i++) {
		struct codec_fixture_frame frame =
			codec_fixture_encode(codec, message_samples_get(i));

		for (size_t size = 0; size < frame.size; size++)
			assert_int_equal(codec_fixture_decode(codec, frame.bytes, size, &message),
					 -EBADMSG);
		free(frame.bytes);
	}
}

/* Whatever a damaged frame still says, it is something that could have been sent. */
static void decode_damaged(struct codec_fixture *codec, const struct codec_fixture_frame *frame)
{
	struct message message, again;
	const uint8_t *bytes;
	size_t size;
	int err = batch_decode(codec->decoder, frame->bytes, frame->size, &message);

	if (err) {
		assert_true(err == -EBADMSG || err == -EMSGSIZE || err == -EPROTONOSUPPORT);
		assert_true(batch_decoder_error(codec->decoder)[0] != '\0');
		return;
	}
	assert_int_equal(batch_encode(codec->encoder, &message, &bytes, &size), 0);
	struct batch_decoder *second = batch_decoder_create();
	assert_non_null(second);
	assert_int_equal(batch_decode(second, bytes, size, &again), 0);
	assert_true(message_equal(&message, &again));
	batch_decoder_destroy(second);
}

static void damage_to_any_byte_does_no_harm(void **state)
{
	static const uint8_t values[] = {0x00, 0x7f, 0x80, 0x90, 0xc1, 0xc6, 0xdd, 0xff};
	struct codec_fixture *codec = *state;

	for (uint32_t i = 0; i < NR_MESSAGE_SAMPLES; i++) {
		struct codec_fixture_frame frame =
			codec_fixture_encode(codec, message_samples_get(i));

		for (size_t at = 0; at < frame.size; at++) {
			uint8_t kept = frame.bytes[at];

			for (uint32_t bit = 0; bit < 8; bit++) {
				frame.bytes[at] = (uint8_t)(kept ^ 1u << bit);
				decode_damaged(codec, &frame);
			}
			for (uint32_t v = 0; v < sizeof(values); v++) {
				frame.bytes[at] = values[v];
				decode_damaged(codec, &frame);
			}
			frame.bytes[at] = kept;
		}
		free(frame.bytes);
	}
}

static void damage_to_many_bytes_does_no_harm(void **state)
{
	struct codec_fixture *codec = *state;
	uint32_t random = 12345;

	for (uint32_t i = 0; i < NR_MESSAGE_SAMPLES; i++) {
		struct codec_fixture_frame frame =
			codec_fixture_encode(codec, message_samples_get(i));

		for (uint32_t round = 0; round < 500; round++) {
			struct codec_fixture_frame damaged =
				codec_fixture_copy(frame.bytes, frame.size);

			for (uint32_t n = 0; n <= round % 5; n++) {
				random = random * 1664525u + 1013904223u;
				damaged.bytes[(random >> 8) % frame.size] = (uint8_t)(random >> 3);
			}
			decode_damaged(codec, &damaged);
			free(damaged.bytes);
		}
		free(frame.bytes);
	}
}

static void unknown_types_and_versions_are_told_apart_from_damage(void **state)
{
	struct codec_fixture *codec = *state;
	struct message message;

	assert_int_equal(codec_fixture_decode(codec, "\x93\x17\x01\x01", 4, &message),
			 -EPROTONOSUPPORT);
	assert_int_equal(message.type, 23);
	assert_int_equal(codec_fixture_decode(codec, "\x93\x09\x02\x01", 4, &message),
			 -EPROTONOSUPPORT);
	assert_int_equal(message.type, MESSAGE_CLOCK);
	assert_int_equal(codec_fixture_decode(codec, "\x91\xcd\x03\xe8", 4, &message),
			 -EPROTONOSUPPORT);
	assert_int_equal(message.type, 1000);
	assert_int_equal(codec_fixture_decode(codec, "\x93\x0e\x02\x01", 4, &message),
			 -EPROTONOSUPPORT);
	assert_int_equal(message.type, MESSAGE_BYE);
	assert_int_equal(message.bye.seq, 0);
	assert_int_equal(codec_fixture_decode(codec, "\x93\x00\x01\x01", 4, &message),
			 -EPROTONOSUPPORT);
	DECODE_FAILS(codec, "\x91\xce\x00\x01\x00\x00", -EBADMSG, "type is out of range");
	DECODE_FAILS(codec, "\x90", -EBADMSG, "type is missing");
	DECODE_FAILS(codec, "\x91\xa1x", -EBADMSG, "type is of the wrong type");
}

static void elements_that_are_missing_or_of_another_type_are_named(void **state)
{
	struct codec_fixture *codec = *state;

	DECODE_FAILS(codec, "\x92\x0e\x01", -EBADMSG, "BYE: seq is missing");
	DECODE_FAILS(codec, "\x93\x0e\x01\xa1x", -EBADMSG, "BYE: seq is of the wrong type");
	DECODE_FAILS(codec, "\x93\x0e\x01\x00", -EBADMSG, "BYE: seq is out of range");
	DECODE_FAILS(codec, "\x93\x0c\x01\xff", -EBADMSG, "PING: token is of the wrong type");
	DECODE_FAILS(codec, "\x9a\x09\x01\x03\x01\x01\x01\x00\x00\x01\x01", -EBADMSG,
		     "CLOCK: kind");
	DECODE_FAILS(codec, "\x93\x09\x01\x00", -EBADMSG, "CLOCK: t1_ns");
	DECODE_FAILS(codec, "\x95\x0a\x01\x00\xcf\x00\x00\x00\x01\x00\x00\x00\x00\x00", -EBADMSG,
		     "ACK: window_frames is out of range");
	DECODE_FAILS(codec, "\x94\x03\x01\x01\xc4\x00", -EBADMSG,
		     "REFUSE: reason is of the wrong type");
	DECODE_FAILS(codec,
		     "\x98\x01\x01\x01\x01\xc4\x0f"
		     "0123456789abcde\xa0\xa0\xa0",
		     -EBADMSG, "HELLO: epoch has 15 bytes");
	DECODE_FAILS(codec,
		     "\x98\x01\x01\x02\x01\xc4\x10"
		     "0123456789abcdef\xa0\xa0\xa0",
		     -EBADMSG, "HELLO: version_max is out of range");
	DECODE_FAILS(codec,
		     "\x99\x01\x01\x01\x01\xc4\x10"
		     "0123456789abcdef\xa0\xa0\xa0\xa1k",
		     -EBADMSG, "HELLO: user is missing");
	DECODE_FAILS(codec,
		     "\x9e\x01\x01\x01\x01\xc4\x10"
		     "0123456789abcdef\xa0\xa0\xa0\xa1k\xa0\xa0\xfe\x01\x00",
		     -EBADMSG, "HELLO: nr_nodes is out of range");
	DECODE_FAILS(codec, "\x97\x02\x01\x01\x01\x01\x00\x05", -EBADMSG,
		     "WELCOME: profile is of the wrong type");
	DECODE_FAILS(codec, "\x91\xc1", -EBADMSG, "frame: malformed at byte 1");
	DECODE_FAILS(codec, "\xdd\xff\xff\xff\xff", -EMSGSIZE, "frame: over a limit at byte 0");
}

static void ids_over_the_limit_are_too_large(void **state)
{
	struct codec_fixture *codec = *state;

	DECODE_FAILS(codec, "\x95\x04\x01\x01\xce\x01\x00\x00\x00\x92\xa0\xa0", -EMSGSIZE,
		     "STRINGS: ids from base on pass 16777216");
	DECODE_FAILS(codec, "\x95\x04\x01\x01\x00\x91\xa0", -EBADMSG, "STRINGS: base is 0");
	DECODE_FAILS(codec, "\x96\x08\x01\x01\xce\x01\x00\x00\x01\x00\x90", -EMSGSIZE,
		     "LEDGER: process_id is above 16777216");
	DECODE_FAILS(codec, "\x96\x08\x01\x01\x00\xce\x00\x01\x00\x01\x90", -EMSGSIZE,
		     "LEDGER: nr_entries is above 65536");
	/* a symbol's name */
	DECODE_FAILS(
		codec,
		"\x98\x05\x01\x01\x96\x00\x00\x00\x00\x90\x00\x95\x00\x00\x00\x00\x00\x94\x00\x00"
		"\x00\x00"
		"\x93\x01\x01\xce\x01\x00\x00\x01\x94\x00\x00\x00\x00",
		-EMSGSIZE, "STACKS: symbol name has a value above 16777216");
}

static void stacks_that_contradict_themselves_are_malformed(void **state)
{
	struct codec_fixture *codec = *state;

#define STACKS_START "\x98\x05\x01\x01\x96\x00\x00\x00\x00\x90\x00\x95\x00\x00\x00\x00\x00"
#define STACKS_END   "\x93\x00\x00\x00\x94\x00\x00\x00\x00"
	DECODE_FAILS(codec, STACKS_START "\x94\x05\x01\x05\x01" STACKS_END, -EBADMSG,
		     "STACKS: the parent of node 5 is not below it");
	DECODE_FAILS(codec, STACKS_START "\x94\x05\x02\x92\x04\x02\x01" STACKS_END, -EBADMSG,
		     "STACKS: the parent of node 6 is not below it");
	DECODE_FAILS(codec, STACKS_START "\x94\x05\x01\x04\x00" STACKS_END, -EBADMSG,
		     "STACKS: node frame is 0 in row 0");
	DECODE_FAILS(codec, STACKS_START "\x94\x00\x01\x00\x01" STACKS_END, -EBADMSG,
		     "STACKS: node_base is 0");
	DECODE_FAILS(codec, STACKS_START "\x93\x00\x00\x00" STACKS_END, -EBADMSG,
		     "STACKS: node frame is missing");
	DECODE_FAILS(codec, STACKS_START "\x94\x00\x00\x00\x00\x93\x01\x00\x01\x94\x00\x00\x00\x00",
		     -EBADMSG, "STACKS: symbol frame is 0 in row 0");
	DECODE_FAILS(codec,
		     "\x98\x05\x01\x01\x96\x01\x01\x00\x00\x90\x00\x95\x00\x00\x00\x00\x00\x94\x00"
		     "\x00\x00"
		     "\x00" STACKS_END,
		     -EBADMSG, "STACKS: a build id is missing");
	DECODE_FAILS(codec,
		     "\x98\x05\x01\x01\x95\x01\x01\x00\x00\x91\xc4\x21"
		     "0123456789abcdef0123456789abcdef0"
		     "\x95\x00\x00\x00\x00\x00\x94\x00\x00\x00\x00" STACKS_END,
		     -EMSGSIZE, "STACKS: a build id has 33 bytes");
}

static void codes_that_contradict_themselves_are_malformed(void **state)
{
	struct codec_fixture *codec = *state;

#define MODULES_NONE "\x98\x05\x01\x01\x96\x00\x00\x00\x00\x90\x00"
#define NODES_NONE   "\x94\x00\x00\x00\x00\x93\x00\x00\x00"
	DECODE_FAILS(codec,
		     MODULES_NONE "\x95\x03\x01\x02\x10\x01" NODES_NONE "\x94\x00\x00\x00\x00",
		     -EBADMSG, "STACKS: frame 3 has a module and a code");
	DECODE_FAILS(codec, MODULES_NONE "\x94\x03\x01\x02\x10" NODES_NONE "\x94\x00\x00\x00\x00",
		     -EBADMSG, "STACKS: frame code is missing");
	DECODE_FAILS(codec, STACKS_START NODES_NONE "\x94\x04\x01\x02\x00", -EBADMSG,
		     "STACKS: code name is 0 in row 0");
	DECODE_FAILS(codec, STACKS_START NODES_NONE "\x94\x00\x01\x02\x01", -EBADMSG,
		     "STACKS: code_base is 0");
	DECODE_FAILS(codec, STACKS_START NODES_NONE "\x93\x04\x01\x02", -EBADMSG,
		     "STACKS: code name is missing");
	DECODE_FAILS(codec, STACKS_START NODES_NONE "\x94\x04\x01\x02\xce\x01\x00\x00\x01",
		     -EMSGSIZE, "STACKS: code name has a value above 16777216");
	/* As it was before there were codes. */
	DECODE_FAILS(codec,
		     "\x97"
		     "\x05\x01\x01\x96\x00\x00\x00\x00\x90\x00\x95\x00\x00\x00\x00\x00" NODES_NONE,
		     -EBADMSG, "STACKS: a list is missing");
}

static void events_that_cannot_be_are_malformed(void **state)
{
	struct codec_fixture *codec = *state;

#define EVENTS_HEAD "\x9a\x06\x01\x01\x01\x00\x00"
#define NO_LAUNCHES "\x00\x90"
	DECODE_FAILS(codec, "\x9a\x06\x01\x01\x00\x00\x00" NO_LAUNCHES "\x00\x90", -EBADMSG,
		     "EVENTS: process_id is 0");
	DECODE_FAILS(codec, "\x9a\x06\x01\x01\x01\x00\x02" NO_LAUNCHES "\x00\x90", -EBADMSG,
		     "EVENTS: clock_valid is out of range");
	DECODE_FAILS(codec, EVENTS_HEAD "\xce\x00\x01\x00\x01\x90\x00\x90", -EMSGSIZE,
		     "EVENTS: nr_launches is above 65536");
	DECODE_FAILS(codec, EVENTS_HEAD "\x01\x96\x01\x01\x01\x01\x01\x01\x00\x90", -EBADMSG,
		     "EVENTS: launch flags is missing");
	DECODE_FAILS(codec,
		     EVENTS_HEAD "\x01\x97\x01\x01\xce\x01\x00\x00\x01\x01\x01\x01\x00\x00\x90",
		     -EMSGSIZE, "EVENTS: launch stack_id has a value above 16777216");
	DECODE_FAILS(codec,
		     EVENTS_HEAD "\x01\x97\x01\x01\x01\x01\xce\x00\x01\x00\x00\x01\x00\x00\x90",
		     -EBADMSG, "EVENTS: launch cbid has a value out of range");
	DECODE_FAILS(codec, EVENTS_HEAD "\x02\x97\xc4\x01\x01\x01\x01\x01\x01\x01\x00\x00\x90",
		     -EBADMSG, "EVENTS: launch time_ns is not a column");
	DECODE_FAILS(codec, EVENTS_HEAD "\x02\x97\x91\x01\x01\x01\x01\x01\x01\x00\x00\x90",
		     -EBADMSG, "EVENTS: launch time_ns is not a column");
	DECODE_FAILS(codec, EVENTS_HEAD "\x02\x97\x93\x01\x01\x01\x01\x01\x01\x01\x01\x00\x00\x90",
		     -EBADMSG, "EVENTS: launch time_ns is not a column");
	DECODE_FAILS(codec, EVENTS_HEAD "\x02\x97\xa1x\x01\x01\x01\x01\x01\x00\x00\x90", -EBADMSG,
		     "EVENTS: launch time_ns is not a column");
	/* start_ns 0; an end past 64 bits; a kind that does not exist */
	DECODE_FAILS(codec,
		     EVENTS_HEAD NO_LAUNCHES
		     "\x01\x9e\x00\x05\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00",
		     -EBADMSG, "EVENTS: gpu start_ns is 0");
	DECODE_FAILS(codec,
		     EVENTS_HEAD NO_LAUNCHES "\x01\x9e\x05\xcf\xff\xff\xff\xff\xff\xff\xff\xff"
					     "\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00",
		     -EBADMSG, "its end passes 64 bits");
	DECODE_FAILS(codec,
		     EVENTS_HEAD NO_LAUNCHES
		     "\x01\x9e\x05\x05\x00\x00\x00\x00\x00\x0a\x00\x00\x00\x00\x00\x00",
		     -EBADMSG, "EVENTS: gpu kind has a value out of range");
}

static void capture_stacks_that_cannot_be_are_refused(void **state)
{
	struct codec_fixture *codec = *state;
	struct message message;

#define GPU_BUT_CAPTURE "\x05\x05\x00\x00\x00\x00\x00\x03\x00\x00\x00\x00\x00"
	assert_int_equal(codec_fixture_decode(
				 codec, EVENTS_HEAD NO_LAUNCHES "\x01\x9e" GPU_BUT_CAPTURE "\x07",
				 25, &message),
			 0);
	assert_int_equal(message.events.gpu[0].capture_stack_id, 7);
	assert_int_equal(message.events.gpu[0].kind, RECORD_GPU_GRAPH);
	DECODE_FAILS(codec,
		     EVENTS_HEAD NO_LAUNCHES "\x01\x9e" GPU_BUT_CAPTURE "\xce\x01\x00\x00\x01",
		     -EMSGSIZE, "EVENTS: gpu capture_stack_id has a value above 16777216");
	DECODE_FAILS(codec, EVENTS_HEAD NO_LAUNCHES "\x01\x9e" GPU_BUT_CAPTURE "\xc0", -EBADMSG,
		     "EVENTS: gpu capture_stack_id is not a column");
	/* As it was before there were capture stacks. */
	DECODE_FAILS(codec, EVENTS_HEAD NO_LAUNCHES "\x01\x9d" GPU_BUT_CAPTURE, -EBADMSG,
		     "EVENTS: gpu capture_stack_id is missing");
}

static void statistics_that_cannot_be_are_malformed(void **state)
{
	struct codec_fixture *codec = *state;

#define STATISTICS_HEAD "\x98\x0f\x01\x01\x01"
#define NO_CALLS        "\x00\x99\x00\x00\x00\x00\x00\x00\x00\x00\x00"
#define CONFIG_FIELDS   "\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00"
	DECODE_FAILS(codec, "\x98\x0f\x01\x01\x00" NO_CALLS "\x00\x90", -EBADMSG,
		     "STATISTICS: process_id is 0");
	DECODE_FAILS(codec, STATISTICS_HEAD "\xce\x00\x01\x00\x01\x90\x00\x90", -EMSGSIZE,
		     "STATISTICS: nr_calls is above 65536");
	DECODE_FAILS(codec, STATISTICS_HEAD "\x01\x98\x01\x01\x00\x00\x00\x00\x00\x00\x00\x90",
		     -EBADMSG, "STATISTICS: call errors is missing");
	DECODE_FAILS(codec, STATISTICS_HEAD "\x01\x99\x00\x01\x00\x00\x00\x00\x00\x00\x00\x00\x90",
		     -EBADMSG, "STATISTICS: call domain is 0 in row 0");
	DECODE_FAILS(codec, STATISTICS_HEAD "\x01\x99\x03\x01\x00\x00\x00\x00\x00\x00\x00\x00\x90",
		     -EBADMSG, "STATISTICS: call domain has a value out of range");
	DECODE_FAILS(codec,
		     STATISTICS_HEAD
		     "\x01\x99\x01\x01\x00\xce\x01\x00\x00\x01\x00\x00\x00\x00\x00\x00\x90",
		     -EMSGSIZE, "STATISTICS: call name has a value above 16777216");
	DECODE_FAILS(codec,
		     STATISTICS_HEAD NO_CALLS
		     "\x01\xdc\x00\x10\x00\xce\x01\x00\x00\x01" CONFIG_FIELDS "\x00\x00\x00\x00",
		     -EMSGSIZE, "STATISTICS: kernel config.name_id has a value above 16777216");
	DECODE_FAILS(codec,
		     STATISTICS_HEAD NO_CALLS "\x01\x9f\x00\x00" CONFIG_FIELDS "\x00\x00\x00",
		     -EBADMSG, "STATISTICS: kernel max_ns is missing");
#define METRICS_HEAD                                                                               \
	"\x9a\x0f\x01\x01\x01" NO_CALLS "\x00\xdc\x00\x10" CONFIG_FIELDS "\x00\x00\x00\x00\x00"    \
	"\x00"
	DECODE_FAILS(codec, METRICS_HEAD "\x01\x9a\x00\x01\x01\x01\x00\x01\x00\x00\x00\x00",
		     -EBADMSG, "STATISTICS: metric nr_passes is 0 in row 0");
	DECODE_FAILS(codec,
		     METRICS_HEAD "\x01\x9a\x00\x01\x01\x01\x01\x01\x00"
				  "\xcf\x7f\xf0\x00\x00\x00\x00\x00\x00\x00\x00",
		     -EBADMSG, "STATISTICS: metric sum has a value out of range");
}

static void links_and_telemetry_may_be_missing_but_no_part_of_them(void **state)
{
	struct codec_fixture *codec = *state;
	struct message message;

#define ZEROS_9    "\x00\x00\x00\x00\x00\x00\x00\x00\x00"
#define ZEROS_18   ZEROS_9 ZEROS_9
#define ZEROS_28   ZEROS_18 ZEROS_9 "\x00"
#define ZEROS_29   ZEROS_28 "\x00"
#define NO_LINKS   "\x00\x93\x00\x00\x00"
#define NOT_PLACED "\x14\x01\x01\x01\x00\x93\x00\x00\x00\x00\x93\x00\x00\x00"
	static const char older[] = "\x98" NOT_PLACED;
	static const char newer[] = "\x9a" NOT_PLACED "\x01\x93\x03\x02\x07";
	/* With an element that nobody knows yet. */
	static const char newest[] = "\xdc\x00\x11" NOT_PLACED
				     "\x01\x93\x03\x02\x07\x00\xdc\x00\x1d" ZEROS_29
				     "\x00\x9a" ZEROS_9 "\x00\x00\x9b" ZEROS_9 "\x00\x00\x00";
	/* A row of an agent without GPM, with 7 as its last column, one with it, and one that counts memory. */
	static const char short_row[] =
		"\x9c" NOT_PLACED NO_LINKS "\x01\xdc\x00\x1d" ZEROS_28 "\x07";
	static const char middle_row[] =
		"\x9c" NOT_PLACED NO_LINKS "\x01\xdc\x00\x30" ZEROS_28 "\x07" ZEROS_18 "\x09";
	static const char whole_row[] = "\x9c" NOT_PLACED NO_LINKS "\x01\xdc\x00\x32" ZEROS_28
					"\x07" ZEROS_18 "\x09\x08\x05";

	assert_int_equal(codec_fixture_decode(codec, older, sizeof(older) - 1, &message), 0);
	assert_int_equal(message.placement.nr_links, 0);
	assert_int_equal(codec_fixture_decode(codec, newest, sizeof(newest) - 1, &message), 0);
	assert_int_equal(message.placement.nr_links, 1);
	assert_int_equal(message.placement.nr_telemetry, 0);
	assert_int_equal(codec_fixture_decode(codec, whole_row, sizeof(whole_row) - 1, &message),
			 0);
	const struct device_telemetry *row = message.placement.telemetry;
	assert_int_equal(row->ecc_uncorrected, 7);
	assert_int_equal(row->traffic_bytes[TELEMETRY_NVLINK_RECEIVED], 9);
	assert_int_equal(row->traffic_bytes[TELEMETRY_DRAM_BYTES], 5);
	assert_int_equal(codec_fixture_decode(codec, middle_row, sizeof(middle_row) - 1, &message),
			 0);
	row = message.placement.telemetry;
	assert_int_equal(row->traffic_bytes[TELEMETRY_NVLINK_RECEIVED], 9);
	assert_int_equal(row->traffic_bytes[TELEMETRY_DRAM_BYTES], 0);
	assert_int_equal(codec_fixture_decode(codec, short_row, sizeof(short_row) - 1, &message),
			 0);
	row = message.placement.telemetry;
	assert_int_equal(row->ecc_uncorrected, 7);
	assert_int_equal(row->traffic_bytes[TELEMETRY_NVLINK_RECEIVED], 0);
	DECODE_FAILS(codec,
		     "\x9c" NOT_PLACED NO_LINKS "\x01\xdc\x00\x31" ZEROS_29 ZEROS_18 "\x00\x00",
		     -EBADMSG, "PLACEMENT: telemetry's dram_bytes is missing");
	DECODE_FAILS(codec, "\x9c" NOT_PLACED NO_LINKS "\x01\xdc\x00\x2f" ZEROS_29 ZEROS_18,
		     -EBADMSG, "PLACEMENT: telemetry's nvlink_received_bytes is missing");
	assert_int_equal(codec_fixture_decode(codec, newer, sizeof(newer) - 1, &message), 0);
	assert_int_equal(message.placement.nr_links, 1);
	assert_int_equal(message.placement.links[0].device_id, 3);
	assert_int_equal(message.placement.links[0].link, DEVICE_LINK_PCIE);
	assert_int_equal(message.placement.links[0].bytes_per_second, 7);
	DECODE_FAILS(codec, "\x9a" NOT_PLACED "\x01\x93\x03\x02\x00", -EBADMSG,
		     "PLACEMENT: bytes_per_second is 0 in row 0");
	DECODE_FAILS(codec, "\x99" NOT_PLACED "\x01", -EBADMSG, "PLACEMENT: columns is missing");
	DECODE_FAILS(codec, "\x9a" NOT_PLACED "\x01\x92\x03\x02", -EBADMSG,
		     "PLACEMENT: bytes_per_second is missing");
	DECODE_FAILS(codec, "\x9a" NOT_PLACED "\xce\x00\x01\x00\x01\x90", -EMSGSIZE,
		     "PLACEMENT: nr_links is above 65536");
	DECODE_FAILS(codec, "\x9b" NOT_PLACED NO_LINKS "\x01", -EBADMSG,
		     "PLACEMENT: columns is missing");
	DECODE_FAILS(codec, "\x9c" NOT_PLACED NO_LINKS "\x01\x91\x00", -EBADMSG,
		     "PLACEMENT: telemetry's begin_ns is missing");
	DECODE_FAILS(codec,
		     "\x9c" NOT_PLACED NO_LINKS "\x01\x92\x00\xcf\x80\x00\x00\x00\x00\x00\x00\x00",
		     -EBADMSG, "PLACEMENT: telemetry's begin_ns has a value out of range");
}

static void counters_that_cannot_be_are_malformed(void **state)
{
	struct codec_fixture *codec = *state;

#define NO_TELEMETRY NO_LINKS "\x00\xdc\x00\x32" ZEROS_29 ZEROS_18 "\x00\x00\x00"
#define NO_STATES    NO_TELEMETRY "\x00\x9a" ZEROS_9 "\x00"
	DECODE_FAILS(codec, "\x9e" NOT_PLACED NO_TELEMETRY "\x01\x91\x00", -EBADMSG,
		     "PLACEMENT: counter state's begin_ns is missing");
	DECODE_FAILS(codec, "\x9d" NOT_PLACED NO_TELEMETRY "\x01", -EBADMSG,
		     "PLACEMENT: columns is missing");
	DECODE_FAILS(codec, "\xdc\x00\x10" NOT_PLACED NO_STATES "\x01\x9b" ZEROS_9 "\x00\x00",
		     -EBADMSG, "PLACEMENT: counters' end_ns is 0 in row 0");
	DECODE_FAILS(codec,
		     "\xdc\x00\x10" NOT_PLACED NO_STATES
		     "\x01\x9b\x00\x00\x01\xcc\x80\x00\x00\x00\x00\x00\x00\x00",
		     -EBADMSG, "PLACEMENT: counters' known has a value out of range");
	DECODE_FAILS(codec,
		     "\xdc\x00\x10" NOT_PLACED NO_STATES
		     "\x01\x9b\x00\x00\x01\x00\xce\x00\x0f\x42\x41\x00\x00\x00\x00\x00\x00",
		     -EBADMSG, "PLACEMENT: counters' sm has a value out of range");
	DECODE_FAILS(codec, "\xdc\x00\x10" NOT_PLACED NO_STATES "\xce\x00\x01\x00\x01\x90",
		     -EMSGSIZE, "PLACEMENT: nr_counters is above 65536");
}

static void pages_that_cannot_be_are_malformed(void **state)
{
	struct codec_fixture *codec = *state;
	struct message message;

#define PAGES_HEAD                                                                                 \
	"\x9a\x07\x01\x01\xc4\x10"                                                                 \
	"0123456789abcdef"
#define NO_PARTS "\x00\x95\x00\x00\x00\x00\x00"
	/* The last byte of a page of nine. */
	static const char last[] =
		PAGES_HEAD "\x01\x01\x95\x00\x00\x09\x08\x01\xc4\x01z\x00\x92\x00\x00";

	assert_int_equal(codec_fixture_decode(codec, last, sizeof(last) - 1, &message), 0);
	assert_int_equal(message.pages.nr_bytes, 1);
	assert_int_equal(message.pages.parts[0].at, 8);
	DECODE_FAILS(codec, PAGES_HEAD "\x00" NO_PARTS "\xc4\x00\x00\x92\x00\x00", -EBADMSG,
		     "PAGES: round is out of range");
	DECODE_FAILS(codec, PAGES_HEAD "\x01\x01\x95\x00\x00\x09\x09\x01\xc4\x01z\x00\x92\x00\x00",
		     -EBADMSG, "PAGES: part 0 does not lie in its page");
	DECODE_FAILS(codec, PAGES_HEAD "\x01\x01\x95\x00\x00\x00\x00\x01\xc4\x01z\x00\x92\x00\x00",
		     -EBADMSG, "PAGES: part 0 does not lie in its page");
	DECODE_FAILS(codec, PAGES_HEAD "\x01\x01\x95\x00\x00\x09\x08\x00\xc4\x01z\x00\x92\x00\x00",
		     -EBADMSG, "PAGES: page part's size is 0 in row 0");
	DECODE_FAILS(codec,
		     PAGES_HEAD "\x01\x01\x95\x00\x00\xce\x04\x00\x00\x01\x08\x01\xc4\x01z"
				"\x00\x92\x00\x00",
		     -EBADMSG, "PAGES: page_bytes has a value out of range");
	DECODE_FAILS(codec, PAGES_HEAD "\x01\x02\x95\x00\x00\x09\x07\x01\xc4\x01z\x00\x92\x00\x00",
		     -EBADMSG, "PAGES: the parts have 2 bytes, not 1");
	DECODE_FAILS(codec, PAGES_HEAD "\x01" NO_PARTS "\xc4\x01z\x00\x92\x00\x00", -EBADMSG,
		     "PAGES: the parts have 0 bytes, not 1");
	/* More bytes than 32 bits can say. */
	DECODE_FAILS(codec,
		     PAGES_HEAD "\x01\xcd\x04\x01\x95\x00\x00\xce\x04\x00\x00\x00\x00"
				"\xce\x00\x40\x00\x00\xc4\x00\x00\x92\x00\x00",
		     -EBADMSG, "PAGES: the parts have 4299161600 bytes, not 0");
	DECODE_FAILS(codec, PAGES_HEAD "\x01\xce\x00\x01\x00\x01\x90\xc4\x00\x00\x90", -EMSGSIZE,
		     "PAGES: nr_parts is above 65536");
	DECODE_FAILS(codec, PAGES_HEAD "\x01" NO_PARTS "\xc4\x00\xce\x00\x01\x00\x01\x90",
		     -EMSGSIZE, "PAGES: nr_tables is above 65536");
}

static void fetches_that_cannot_be_are_malformed(void **state)
{
	struct codec_fixture *codec = *state;

#define FETCH_TEXTS "\xa1u\xa1n"
#define IDENTITY                                                                                   \
	"\xc4\x10"                                                                                 \
	"0123456789abcdef"
	DECODE_FAILS(codec,
		     "\x9c\x15\x01\x04\x01" FETCH_TEXTS "\x00\x00\x00" IDENTITY "\xc4\x00\x90",
		     -EBADMSG, "FETCH: kind is out of range");
	DECODE_FAILS(codec,
		     "\x9c\x15\x01\x00\x00" FETCH_TEXTS "\x00\x00\x00" IDENTITY "\xc4\x00\x90",
		     -EBADMSG, "FETCH: token is out of range");
	DECODE_FAILS(codec,
		     "\x9c\x15\x01\x01\x01" FETCH_TEXTS "\x02\x00\x00" IDENTITY "\xc4\x00\x90",
		     -EBADMSG, "FETCH: file is out of range");
	/* Two bytes from byte 1 of a file of 2. */
	DECODE_FAILS(codec,
		     "\x9c\x15\x01\x03\x01" FETCH_TEXTS "\x01\x01\x02" IDENTITY "\xc4\x02zz\x90",
		     -EBADMSG, "FETCH: bytes behind the file's end");
	DECODE_FAILS(codec,
		     "\x9c\x15\x01\x03\x01" FETCH_TEXTS
		     "\x01\xcf\xff\xff\xff\xff\xff\xff\xff\xff\x02" IDENTITY "\xc4\x02zz\x90",
		     -EBADMSG, "FETCH: bytes behind the file's end");
	DECODE_FAILS(codec,
		     "\x9c\x15\x01\x02\x01" FETCH_TEXTS "\x00\x00\x00" IDENTITY
		     "\xc4\x00\x91\x95\xa1n\xa1k\x03\x00\x00",
		     -EBADMSG, "FETCH: state is out of range");
	DECODE_FAILS(codec,
		     "\x9c\x15\x01\x02\x01" FETCH_TEXTS "\x00\x00\x00" IDENTITY
		     "\xc4\x00\x91\x94\xa1n\xa1k\x02\x00",
		     -EBADMSG, "FETCH: written_ns is missing");
	DECODE_FAILS(codec, "\x9b\x15\x01\x00\x01" FETCH_TEXTS "\x00\x00\x00" IDENTITY "\xc4\x00",
		     -EBADMSG, "FETCH: jobs is missing");
}

static void fetches_over_a_limit_are_too_large(void **state)
{
	static uint8_t frame[WIRE_FETCH_BYTES_MAX + 64];
	static const char head[] = "\x9c\x15\x01\x03\x01" FETCH_TEXTS
				   "\x01\x00\xce\x00\x20\x00\x00" IDENTITY "\xc6\x00\x10\x00\x01";
	const size_t size = sizeof(head) - 1;
	struct codec_fixture *codec = *state;

	memcpy(frame, head, size);
	frame[size + WIRE_FETCH_BYTES_MAX + 1] = 0x90;
	assert_decode_fails(codec, frame, size + WIRE_FETCH_BYTES_MAX + 2, -EMSGSIZE,
			    "FETCH: too many bytes");
	memcpy(frame, "\x9c\x15\x01\x00\x01\xa1u\xd9", 8);
	frame[8] = 255;
	memset(frame + 9, 'n', 255);
	memcpy(frame + 9 + 255, "\x00\x00\x00" IDENTITY "\xc4\x00\x90", 24);
	struct message message;
	assert_int_equal(codec_fixture_decode(codec, frame, 9 + 255 + 24, &message), 0);
	memcpy(frame, "\x9c\x15\x01\x00\x01\xa1u\xda\x01\x00", 10);
	memset(frame + 10, 'n', 256);
	memcpy(frame + 10 + 256, "\x00\x00\x00" IDENTITY "\xc4\x00\x90", 24);
	assert_decode_fails(codec, frame, 10 + 256 + 24, -EMSGSIZE, "FETCH: name is too long");
	memcpy(frame,
	       "\x9c\x15\x01\x02\x01" FETCH_TEXTS "\x00\x00\x00" IDENTITY "\xc4\x00\xdc\x01\x01",
	       35);
	memset(frame + 35, 0xc0, 257);
	assert_decode_fails(codec, frame, 35 + 257, -EMSGSIZE, "FETCH: too many jobs");
}

static void proofs_that_cannot_be_are_refused(void **state)
{
	struct codec_fixture *codec = *state;
	static uint8_t frame[6 + WIRE_PROOF_MAX + 1] = "\x93\x16\x01\xda\x10\x01";

	DECODE_FAILS(codec, "\x93\x16\x01\xa0", -EBADMSG, "PROOF: text is empty");
	DECODE_FAILS(codec, "\x92\x16\x01", -EBADMSG, "PROOF: text is missing");
	memset(frame + 6, 'x', WIRE_PROOF_MAX + 1);
	assert_decode_fails(codec, frame, sizeof(frame), -EMSGSIZE, "PROOF: text is too long");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(frames_cut_anywhere_are_malformed),
		cmocka_unit_test(damage_to_any_byte_does_no_harm),
		cmocka_unit_test(damage_to_many_bytes_does_no_harm),
		cmocka_unit_test(unknown_types_and_versions_are_told_apart_from_damage),
		cmocka_unit_test(elements_that_are_missing_or_of_another_type_are_named),
		cmocka_unit_test(ids_over_the_limit_are_too_large),
		cmocka_unit_test(stacks_that_contradict_themselves_are_malformed),
		cmocka_unit_test(codes_that_contradict_themselves_are_malformed),
		cmocka_unit_test(events_that_cannot_be_are_malformed),
		cmocka_unit_test(capture_stacks_that_cannot_be_are_refused),
		cmocka_unit_test(statistics_that_cannot_be_are_malformed),
		cmocka_unit_test(links_and_telemetry_may_be_missing_but_no_part_of_them),
		cmocka_unit_test(counters_that_cannot_be_are_malformed),
		cmocka_unit_test(pages_that_cannot_be_are_malformed),
		cmocka_unit_test(fetches_that_cannot_be_are_malformed),
		cmocka_unit_test(fetches_over_a_limit_are_too_large),
		cmocka_unit_test(proofs_that_cannot_be_are_refused),
	};

	return cmocka_run_group_tests(tests, codec_fixture_set_up, codec_fixture_tear_down);
}
