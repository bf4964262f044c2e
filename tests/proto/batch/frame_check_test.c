#include "proto/batch/frame_check.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "proto/batch/message.h"

/* Of exactly size bytes, so that a sanitizer sees a read past them. */
static int check(const void *bytes, size_t size, size_t *at)
{
	uint8_t *frame = malloc(size ? size : 1);
	int err;

	assert_non_null(frame);
	if (size)
		memcpy(frame, bytes, size);
	err = frame_check(frame, size, at);
	free(frame);
	return err;
}

#define ACCEPTED(literal)                                                                          \
	do {                                                                                       \
		size_t at;                                                                         \
		assert_int_equal(check(literal, sizeof(literal) - 1, &at), 0);                     \
		assert_int_equal(at, sizeof(literal) - 1);                                         \
	} while (0)

#define REFUSED(literal, err, offset)                                                              \
	do {                                                                                       \
		size_t at;                                                                         \
		assert_int_equal(check(literal, sizeof(literal) - 1, &at), err);                   \
		assert_int_equal(at, offset);                                                      \
	} while (0)

static void every_permitted_element_is_accepted(void **state)
{
	(void)state;
	ACCEPTED("\x90");
	ACCEPTED("\x93\x00\x7f\xe0");
	ACCEPTED("\x93\xc0\xc2\xc3");
	ACCEPTED(
		"\x94\xcc\x01\xcd\x01\x02\xce\x01\x02\x03\x04\xcf\x01\x02\x03\x04\x05\x06\x07\x08");
	ACCEPTED(
		"\x94\xd0\x01\xd1\x01\x02\xd2\x01\x02\x03\x04\xd3\x01\x02\x03\x04\x05\x06\x07\x08");
	ACCEPTED("\x92\xca\x01\x02\x03\x04\xcb\x01\x02\x03\x04\x05\x06\x07\x08");
	ACCEPTED("\x95\xa0\xa2hi\xd9\x02hi\xda\x00\x02hi\xdb\x00\x00\x00\x02hi");
	ACCEPTED("\x93\xc4\x01x\xc5\x00\x01x\xc6\x00\x00\x00\x01x");
	ACCEPTED("\xdc\x00\x01\x01");
	ACCEPTED("\xdd\x00\x00\x00\x01\x01");
	ACCEPTED("\x92\x91\x91\x91\x01\x90");
}

static void a_frame_is_one_whole_array(void **state)
{
	(void)state;
	REFUSED("", -EBADMSG, 0);
	REFUSED("\x01", -EBADMSG, 0);
	REFUSED("\xc4\x01x", -EBADMSG, 0);
	REFUSED("\x91", -EBADMSG, 0);
	REFUSED("\x92\x01", -EBADMSG, 0);
	REFUSED("\x91\x01\x01", -EBADMSG, 2);
	REFUSED("\x90\x90", -EBADMSG, 1);
}

static void elements_that_messages_never_hold_are_malformed(void **state)
{
	(void)state;
	REFUSED("\x80", -EBADMSG, 0);
	REFUSED("\x91\x80", -EBADMSG, 1);
	REFUSED("\x91\x81\x01\x02", -EBADMSG, 1);
	REFUSED("\x91\xde\x00\x00", -EBADMSG, 1);
	REFUSED("\x91\xdf\x00\x00\x00\x00", -EBADMSG, 1);
	REFUSED("\x91\xc1", -EBADMSG, 1);
	REFUSED("\x91\xc7\x01\x01x", -EBADMSG, 1);
	REFUSED("\x91\xd4\x01x", -EBADMSG, 1);
	REFUSED("\x91\xd8\x01"
		"0123456789abcdef",
		-EBADMSG, 1);
}

static void elements_that_pass_the_end_are_malformed(void **state)
{
	(void)state;
	REFUSED("\x91\xc4", -EBADMSG, 1);
	REFUSED("\x91\xc6\xff\xff\xff\xff", -EBADMSG, 1);
	REFUSED("\x91\xc4\x02x", -EBADMSG, 1);
	REFUSED("\x91\xcf\x01", -EBADMSG, 1);
	REFUSED("\x92\x01\xa5oops", -EBADMSG, 2);
	REFUSED("\xdc\x01", -EBADMSG, 0);
	REFUSED("\xdc\x01\x00\x01", -EBADMSG, 0);
}

static void five_bytes_may_not_claim_a_huge_array(void **state)
{
	(void)state;
	REFUSED("\xdd\xff\xff\xff\xff", -EMSGSIZE, 0);
	REFUSED("\x91\xdd\x00\x01\x00\x01", -EMSGSIZE, 1);
}

static void nesting_is_limited(void **state)
{
	(void)state;
	ACCEPTED("\x91\x91\x91\x91\x01");
	ACCEPTED("\x91\x91\x91\x90");
	REFUSED("\x91\x91\x91\x91\x90", -EMSGSIZE, 4);
}

static void strings_are_limited_and_bins_are_not(void **state)
{
	size_t size = WIRE_STRING_MAX + 1 + 6, at;
	uint8_t *frame = calloc(1, size);

	(void)state;
	assert_non_null(frame);
	memcpy(frame, "\x91\xdb\x00\x01\x00\x00", 6);
	assert_int_equal(frame_check(frame, size, &at), -EMSGSIZE);
	assert_int_equal(at, 1);
	frame[1] = 0xc6;
	assert_int_equal(frame_check(frame, size, &at), 0);
	memcpy(frame, "\x91\xdb\x00\x00\xff\xff", 6);
	assert_int_equal(frame_check(frame, size - 1, &at), 0);
	free(frame);
}

static void the_frame_is_limited(void **state)
{
	uint8_t *frame = calloc(1, WIRE_FRAME_MAX + 1);
	size_t at;

	(void)state;
	assert_non_null(frame);
	memcpy(frame, "\x91\xc6\x00\x3f\xff\xfa", 6);
	assert_int_equal(frame_check(frame, WIRE_FRAME_MAX, &at), 0);
	memcpy(frame, "\x91\xc6\x00\x3f\xff\xfb", 6);
	assert_int_equal(frame_check(frame, WIRE_FRAME_MAX + 1, &at), -EMSGSIZE);
	assert_int_equal(at, 0);
	free(frame);
}

/* Arrays of WIRE_ITEMS_MAX small integers: each is within its limit, all of them are not. */
static void the_sum_of_elements_is_limited(void **state)
{
	size_t size = 1 + 2 * (5 + (size_t)WIRE_ITEMS_MAX), at;
	uint8_t *frame = calloc(1, size);

	(void)state;
	assert_non_null(frame);
	frame[0] = 0x92;
	memcpy(frame + 1, "\xdd\x00\x01\x00\x00", 5);
	memcpy(frame + 1 + 5 + WIRE_ITEMS_MAX, "\xdd\x00\x01\x00\x00", 5);
	assert_int_equal(frame_check(frame, size, &at), -EMSGSIZE);
	assert_int_equal(at, 1 + 5 + WIRE_ITEMS_MAX);
	memcpy(frame + 1 + 5 + WIRE_ITEMS_MAX, "\xdd\x00\x00\xff\xfe", 5);
	assert_int_equal(frame_check(frame, size - 2, &at), 0);
	free(frame);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_permitted_element_is_accepted),
		cmocka_unit_test(a_frame_is_one_whole_array),
		cmocka_unit_test(elements_that_messages_never_hold_are_malformed),
		cmocka_unit_test(elements_that_pass_the_end_are_malformed),
		cmocka_unit_test(five_bytes_may_not_claim_a_huge_array),
		cmocka_unit_test(nesting_is_limited),
		cmocka_unit_test(strings_are_limited_and_bins_are_not),
		cmocka_unit_test(the_frame_is_limited),
		cmocka_unit_test(the_sum_of_elements_is_limited),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
