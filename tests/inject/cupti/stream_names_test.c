#include "inject/cupti/stream_names.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "inject/base/definition_writer.h"
#include "inject/base/lifecycle.h"
#include "tests/inject/test_ring.h"

#define CONTEXT    ((void *)0x100)
#define HANDLE(nr) ((void *)(uintptr_t)(0x1000 + 8 * (nr)))

static struct test_ring ring;
static struct definition_writer writer;
static int context_result;

static int context_id(void *context, uint32_t *id)
{
	assert_ptr_equal(context, CONTEXT);
	*id = 3;
	return context_result;
}

/* A stream's id is its handle's number, and 13. */
static int stream_id(void *context, void *stream, uint8_t per_thread, uint32_t *id)
{
	assert_ptr_equal(context, CONTEXT);
	assert_int_equal(per_thread, 0);
	*id = (uint32_t)((uintptr_t)stream - 0x1000) / 8 + 13;
	return CUPTI_ABI_SUCCESS;
}

static const struct cupti_library library = {.get_context_id = context_id,
					     .get_stream_id = stream_id};

static int set_up(void **state)
{
	(void)state;
	test_ring_init(&ring);
	writer = DEFINITION_WRITER_INIT(ring.guest);
	stream_names_on(&library, &writer);
	context_result = CUPTI_ABI_SUCCESS;
	atomic_store(&lifecycle_word, LIFECYCLE_ON);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	test_ring_fini(&ring);
	return 0;
}

static void create(void *handle)
{
	stream_names_created(&(struct cupti_resource_data){.context = CONTEXT, .resource = handle});
}

static void destroy(void *handle)
{
	stream_names_destroyed(
		&(struct cupti_resource_data){.context = CONTEXT, .resource = handle});
}

/* The next definition; its name's size, or -1: there is none. */
static int next(struct definition_stream *stream, char name[64])
{
	char body[256];
	uint32_t type;
	int size = test_ring_definition(&ring, &type, body, sizeof(body));

	if (size < 0)
		return -1;
	assert_int_equal(type, DEFINITION_STREAM);
	assert_true(size >= (int)sizeof(*stream));
	memcpy(stream, body, sizeof(*stream));
	memcpy(name, body + sizeof(*stream), (size_t)size - sizeof(*stream));
	return size - (int)sizeof(*stream);
}

static void named_stream_is_told_by_its_ids(void **state)
{
	struct definition_stream stream;
	char name[64];

	(void)state;
	create(HANDLE(1));
	create(HANDLE(2));
	stream_names_set(HANDLE(2), "prefetch", 8);
	assert_int_equal(next(&stream, name), 8);
	assert_memory_equal(name, "prefetch", 8);
	assert_int_equal(stream.context_id, 3);
	assert_int_equal(stream.stream_id, 15);
	assert_int_equal(stream.flags, DEFINITION_STREAM_NAMED);
	destroy(HANDLE(1));
	destroy(HANDLE(2));
	assert_int_equal(next(&stream, name), -1);
}

static void unknown_streams_are_ignored(void **state)
{
	struct definition_stream stream;
	char name[64];

	(void)state;
	stream_names_set(NULL, "default", 7);
	stream_names_set(HANDLE(5), "never created", 13);
	create(HANDLE(6));
	destroy(HANDLE(6));
	stream_names_set(HANDLE(6), "gone", 4);
	context_result = 1;
	create(HANDLE(7));
	stream_names_set(HANDLE(7), "without a context", 17);
	destroy(HANDLE(8));
	create(NULL);
	assert_int_equal(next(&stream, name), -1);
}

static void handle_that_comes_again_is_another_stream(void **state)
{
	struct definition_stream stream;
	char name[64];

	(void)state;
	for (uint32_t i = 0; i < 3 * STREAM_NAMES_MAX; i++) {
		create(HANDLE(i % 7));
		destroy(HANDLE(i % 7));
	}
	create(HANDLE(4));
	stream_names_set(HANDLE(4), "again", 5);
	assert_int_equal(next(&stream, name), 5);
	assert_int_equal(stream.stream_id, 17);
	destroy(HANDLE(4));
}

static void more_streams_than_there_is_room_for_have_no_names(void **state)
{
	struct definition_stream stream;
	char name[64];

	(void)state;
	for (uint32_t i = 0; i <= STREAM_NAMES_MAX; i++)
		create(HANDLE(i));
	stream_names_set(HANDLE(STREAM_NAMES_MAX), "one too many", 12);
	assert_int_equal(next(&stream, name), -1);
	stream_names_set(HANDLE(STREAM_NAMES_MAX - 1), "the last", 8);
	assert_int_equal(next(&stream, name), 8);
	for (uint32_t i = 0; i <= STREAM_NAMES_MAX; i++)
		destroy(HANDLE(i));
}

static void forgotten_streams_have_no_names(void **state)
{
	struct definition_stream stream;
	char name[64];

	(void)state;
	create(HANDLE(1));
	create(HANDLE(2));
	stream_names_forget();
	stream_names_set(HANDLE(1), "of a window before", 18);
	assert_int_equal(next(&stream, name), -1);
	create(HANDLE(2));
	stream_names_set(HANDLE(2), "new", 3);
	assert_int_equal(next(&stream, name), 3);
	destroy(HANDLE(2));
}

static void forked_child_writes_nothing(void **state)
{
	struct definition_stream stream;
	char name[64];

	(void)state;
	create(HANDLE(1));
	atomic_store(&lifecycle_word, LIFECYCLE_FORKED);
	stream_names_set(HANDLE(1), "child's", 7);
	assert_int_equal(next(&stream, name), -1);
	destroy(HANDLE(1));
}

static void records_of_streams_and_contexts_become_definitions(void **state)
{
	const uint32_t of_stream[6] = {CUPTI_ABI_KIND_STREAM,         3, 14, (uint32_t)-1,
				       CUPTI_ABI_STREAM_NON_BLOCKING, 77};
	const uint32_t of_context[8] = {CUPTI_ABI_KIND_CONTEXT, 3, 0, 7u << 16 | 1};
	const uint32_t of_kernel[8] = {CUPTI_ABI_KIND_CONCURRENT_KERNEL};
	struct definition_stream stream;
	char name[64];

	(void)state;
	assert_true(stream_names_record(of_stream));
	assert_int_equal(next(&stream, name), 0);
	assert_int_equal(stream.context_id, 3);
	assert_int_equal(stream.stream_id, 14);
	assert_int_equal(stream.priority, -1);
	assert_int_equal(stream.flags, DEFINITION_STREAM_PRIORITY | DEFINITION_STREAM_NON_BLOCKING);
	assert_true(stream_names_record(of_context));
	assert_int_equal(next(&stream, name), 0);
	assert_int_equal(stream.stream_id, 7);
	assert_int_equal(stream.flags, DEFINITION_STREAM_DEFAULT);
	assert_false(stream_names_record(of_kernel));
	assert_int_equal(next(&stream, name), -1);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(named_stream_is_told_by_its_ids),
		TEST(unknown_streams_are_ignored),
		TEST(handle_that_comes_again_is_another_stream),
		TEST(more_streams_than_there_is_room_for_have_no_names),
		TEST(forgotten_streams_have_no_names),
		TEST(forked_child_writes_nothing),
		TEST(records_of_streams_and_contexts_become_definitions),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
