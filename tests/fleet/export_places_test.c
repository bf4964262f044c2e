#include <string.h>

#include "aggregator/profile/catalog.h"
#include "aggregator/profile/collection.h"
#include "aggregator/profile/roster.h"
#include "fleet/export_places.h"
#include "tests/support/cmocka_test.h"

static uint32_t add_string(struct collection *collection, const char *text)
{
	uint32_t id;

	assert_int_equal(catalog_add_string(collection->catalog, text, (uint32_t)strlen(text), &id),
			 0);
	return id;
}

static void add_device(struct collection *collection, int32_t index, uint8_t uuid, const char *name)
{
	struct roster_device device = {
		.host = 1, .index = index, .uuid = {uuid}, .name = add_string(collection, name)};
	uint32_t id;

	assert_int_equal(roster_add_device(collection->roster, &device, &id), 0);
}

static void expect_gpu(struct export_places *places, int32_t gpu, const char *expected)
{
	const struct report_leaf leaf = {.host = 1, .gpu = gpu};
	size_t size;
	const char *text = export_places_text(places, &leaf, &size);

	assert_non_null(text);
	assert_int_equal(size, strlen(text));
	assert_string_equal(strstr(text, "\"gpu_uuid\""), expected);
}

static void labels_that_are_not_known_are_left_out(void **state)
{
	const char *const strings[] = {"", "n\"1"};
	const struct report_tree tree = {.strings = strings, .nr_strings = 2};
	struct profile profile = {.collection = collection_create()};
	struct export_places *places = export_places_create(&profile, &tree, "u", EXPORT_PYROSCOPE);
	size_t size;

	(void)state;
	assert_non_null(places);
	assert_string_equal(
		export_places_text(places, &(struct report_leaf){.host = 1, .rank = 3, .gpu = 0},
				   &size),
		",{\"name\":\"user\",\"value\":\"u\"},{\"name\":\"host\",\"value\":"
		"\"n\\\"1\"},{\"name\":\"rank\",\"value\":\"3\"},{\"name\":\"gpu\","
		"\"value\":\"0\"}");
	assert_string_equal(
		export_places_text(places, &(struct report_leaf){.host = 1, .rank = -1, .gpu = -1},
				   &size),
		",{\"name\":\"user\",\"value\":\"u\"},{\"name\":\"host\",\"value\":\"n\\\"1\"}");
	export_places_destroy(places);
	collection_destroy(profile.collection);
}

static void gpu_has_the_uuid_that_others_show(void **state)
{
	const char *const strings[] = {"", "n1"};
	const struct report_tree tree = {.strings = strings, .nr_strings = 2};
	struct profile profile = {.collection = collection_create()};
	uint32_t id;

	(void)state;
	assert_non_null(profile.collection);
	const struct roster_host host = {.node = add_string(profile.collection, "n1")};
	assert_int_equal(roster_add_host(profile.collection->roster, &host, &id), 0);
	add_device(profile.collection, 0, 0xab, "NVIDIA H100");
	add_device(profile.collection, 1, 0xcd, "NVIDIA H100 MIG 1g.10gb");
	add_device(profile.collection, 2, 1, "NVIDIA H100 MIG 1g.10gb");
	add_device(profile.collection, 2, 2, "NVIDIA H100 MIG 1g.10gb");
	add_device(profile.collection, 3, 3, "NVIDIA H100 MIG 1g.10gb");
	add_device(profile.collection, 3, 4, "NVIDIA H100 MIG 1g.10gb");
	add_device(profile.collection, 3, 5, "NVIDIA H100 MIG 2g.20gb");
	add_device(profile.collection, 4, 0, "NVIDIA H100");
	struct export_places *places =
		export_places_create(&profile, &tree, "u", EXPORT_CLICKHOUSE);
	assert_non_null(places);
	expect_gpu(places, 0,
		   "\"gpu_uuid\":\"GPU-ab000000-0000-0000-0000-000000000000\","
		   "\"model\":\"NVIDIA H100\",\"driver\":\"\"");
	expect_gpu(places, 1,
		   "\"gpu_uuid\":\"MIG-cd000000-0000-0000-0000-000000000000\","
		   "\"model\":\"NVIDIA H100 MIG 1g.10gb\",\"driver\":\"\"");
	expect_gpu(places, 2,
		   "\"gpu_uuid\":\"\",\"model\":\"NVIDIA H100 MIG 1g.10gb\",\"driver\":\"\"");
	expect_gpu(places, 3, "\"gpu_uuid\":\"\",\"model\":\"\",\"driver\":\"\"");
	expect_gpu(places, 4, "\"gpu_uuid\":\"\",\"model\":\"NVIDIA H100\",\"driver\":\"\"");
	export_places_destroy(places);
	collection_destroy(profile.collection);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(labels_that_are_not_known_are_left_out),
		cmocka_unit_test(gpu_has_the_uuid_that_others_show),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
