#include "fleet/pyroscope_profile.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "aggregator/profile/collection.h"
#include "tests/support/cmocka_test.h"

#define LABELS     ",{\"name\":\"host\",\"value\":\"n1\"}"
#define NAME_BYTES 700000u
#define SOURCE     "0123456789abcdef0123456789abcdef"

/* Two works, whose names are as long as a test wants. */
struct fixture {
	char *names[2];
	const char *strings[3];
	struct report_leaf leaves[2];
	struct report_tree tree;
	struct profile profile;
	struct report_options options;
	struct report_view view;
};

static int set_up(void **state)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));

	fixture->strings[0] = "";
	for (uint32_t i = 0; i < 2; i++) {
		fixture->names[i] = calloc(1, NAME_BYTES + 1);
		fixture->names[i][0] = (char)('a' + i);
		fixture->strings[i + 1] = fixture->names[i];
		fixture->leaves[i] = (struct report_leaf){.name = i + 1, .rank = -1, .gpu = -1};
	}
	static const struct report_node root;
	fixture->tree = (struct report_tree){.strings = fixture->strings,
					     .nr_strings = 3,
					     .nodes = &root,
					     .nr_nodes = 1,
					     .leaves = fixture->leaves,
					     .nr_leaves = 2,
					     .planes = 1u << REPORT_PLANE_GPU};
	fixture->profile.collection = collection_create();
	fixture->view = (struct report_view){
		.profile = &fixture->profile, .tree = &fixture->tree, .options = &fixture->options};
	*state = fixture;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *fixture = *state;

	collection_destroy(fixture->profile.collection);
	free(fixture->names[0]);
	free(fixture->names[1]);
	free(fixture);
	return 0;
}

/* Makes a batch of the first works. Returns what the maker's end() does. */
static int make(struct pyroscope_profile *profile, uint32_t nr_rows, struct export_batch *batch)
{
	struct export_maker maker;

	pyroscope_profile_maker(profile, &maker);
	assert_true(maker.only_grows);
	assert_int_equal(maker.begin(maker.context, (5ull << 48) + 9, EXPORT_WORK), 0);
	for (uint32_t i = 0; i < nr_rows; i++) {
		const struct export_delta delta = {.place = LABELS,
						   .place_size = strlen(LABELS),
						   .leaf = i,
						   .count = 1,
						   .ns = 7};

		assert_int_equal(maker.row(maker.context, &delta), 0);
	}
	return maker.end(maker.context, batch);
}

static void push_has_labels_and_an_id(void **state)
{
	static const char head[] = "{\"series\":[{\"labels\":[{\"name\":\"__name__\",\"value\":"
				   "\"flamegrid\"},{\"name\":\"service_name\",\"value\":"
				   "\"flamegrid\"}" LABELS "],\"samples\":[{\"ID\":"
				   "\"01234567-89ab-cdef-0005-000000000009\",\"rawProfile\":\"H4sI";
	const struct fixture *fixture = *state;
	struct pyroscope_profile profile = {
		.view = &fixture->view, .source = SOURCE, .time_ns = 100};
	struct export_batch first = {0}, second = {0};

	assert_int_equal(make(&profile, 2, &first), 0);
	assert_true(first.body_size > sizeof(head));
	assert_memory_equal(first.body, head, sizeof(head) - 1);
	assert_memory_equal((char *)first.body + first.body_size - 6, "\"}]}]}", 6);
	/* The next one has another time, and so other bytes. */
	assert_int_equal(make(&profile, 2, &second), 0);
	assert_int_equal(profile.time_ns, 102);
	assert_true(first.body_size != second.body_size ||
		    memcmp(first.body, second.body, first.body_size) != 0);
	export_batch_fini(&first);
	export_batch_fini(&second);
	pyroscope_profile_fini(&profile);
}

static void profile_that_is_too_large_is_halved(void **state)
{
	struct fixture *fixture = *state;
	struct pyroscope_profile profile = {
		.view = &fixture->view, .source = SOURCE, .time_ns = 100};
	struct export_batch batch = {0};

	for (uint32_t i = 0; i < 2; i++)
		memset(fixture->names[i], 'a' + (int)i, NAME_BYTES);
	assert_int_equal(make(&profile, 2, &batch), -E2BIG);
	assert_null(batch.body);
	assert_int_equal(make(&profile, 1, &batch), 0);
	assert_non_null(batch.body);
	export_batch_fini(&batch);
	pyroscope_profile_fini(&profile);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(push_has_labels_and_an_id),
		TEST(profile_that_is_too_large_is_halved),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
