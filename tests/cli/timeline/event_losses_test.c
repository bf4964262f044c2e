/* What is said of what a timeline lacks: one of a thing, and several. */
#include "tests/support/cmocka_test.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "cli/timeline/event_losses.h"

static char said[4096];

void __wrap_log_write(enum log_level level, const char *format, ...);

void __wrap_log_write(enum log_level level, const char *format, ...)
{
	const size_t used = strlen(said);
	va_list arguments;

	assert_in_range(level, LOG_LEVEL_ERROR, LOG_LEVEL_DEBUG);
	va_start(arguments, format);
	vsnprintf(said + used, sizeof(said) - used, format, arguments);
	va_end(arguments);
	strncat(said, "\n", sizeof(said) - strlen(said) - 1);
}

static bool say(uint64_t nr)
{
	const struct timeline_counts counts = {.log = {.foreign = nr,
						       .misnamed = nr,
						       .misnamed_number = 7,
						       .nameless = nr,
						       .dropped_events = nr,
						       .lost_events = nr,
						       .damaged = nr,
						       .compressed = nr},
					       .unknown = nr,
					       .unclocked = nr,
					       .others = nr};

	said[0] = '\0';
	const bool lacks = event_losses_say(&counts, nr, (uint32_t)nr);
	event_losses_say_workless(nr);
	return lacks;
}

static void nothing_is_said_of_none(void **state)
{
	(void)state;
	assert_false(say(0));
	assert_string_equal(said, "");
}

static void one_is_singular(void **state)
{
	(void)state;
	assert_true(say(1));
	assert_string_equal(
		said,
		"1 piece of GPU work has no launch here: it came before this time, or before what "
		"was kept, or was not seen\n"
		"1 file beside the timeline's is of another profile, or no regular file: it is "
		"left "
		"out\n"
		"1 file of the timeline has another number inside than in the name, as copies "
		"have: "
		"left out, for instance 00000007.events\n"
		"1 file was written by an older version, and does not say of which profile it is\n"
		"1 older event was dropped as --timeline and --max-size asked\n"
		"1 event is missing: the disk did not take it\n"
		"1 damaged part of the timeline's files was left out\n"
		"1 block is compressed, and libzstd is missing (Debian: libzstd1)\n"
		"1 process has no timeline\n"
		"1 event names what the profile, which is being written, does not know yet: it is "
		"left out\n"
		"1 event is left out: its clock was never compared\n"
		"1 record that is neither GPU work nor a wait is left out\n"
		"1 launch has no GPU work here: it came after this time, or never, or the call "
		"failed\n");
}

static void several_are_plural(void **state)
{
	(void)state;
	assert_true(say(2));
	assert_string_equal(
		said,
		"2 pieces of GPU work have no launch here: it came before this time, or before "
		"what "
		"was kept, or was not seen\n"
		"2 files beside the timeline's are of another profile, or no regular files: they "
		"are "
		"left out\n"
		"2 files of the timeline have another number inside than in the name, as copies "
		"have: "
		"left out, for instance 00000007.events\n"
		"2 files were written by an older version, and do not say of which profile they "
		"are\n"
		"2 older events were dropped as --timeline and --max-size asked\n"
		"2 events are missing: the disk did not take them\n"
		"2 damaged parts of the timeline's files were left out\n"
		"2 blocks are compressed, and libzstd is missing (Debian: libzstd1)\n"
		"2 processes have no timeline\n"
		"2 events name what the profile, which is being written, does not know yet: they "
		"are "
		"left out\n"
		"2 events are left out: their clock was never compared\n"
		"2 records that are neither GPU work nor waits are left out\n"
		"2 launches have no GPU work here: it came after this time, or never, or the call "
		"failed\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_is_said_of_none),
		cmocka_unit_test(one_is_singular),
		cmocka_unit_test(several_are_plural),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
