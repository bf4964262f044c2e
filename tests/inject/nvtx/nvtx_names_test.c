#include "inject/nvtx/nvtx_names.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "proto/stack_word.h"
#include "tests/inject/test_ring.h"

#define THREADS 4

static uint32_t intern(struct nvtx_names *names, uint32_t domain, const char *name)
{
	struct nvtx_text text;

	nvtx_text_ascii(&text, name);
	return nvtx_names_intern(names, domain, &text);
}

static uint32_t intern_number(struct nvtx_names *names, const char *format, uint32_t number)
{
	char name[64];

	snprintf(name, sizeof(name), format, number);
	return intern(names, NVTX_DOMAIN_DEFAULT, name);
}

static uint32_t add_domain(struct nvtx_names *names, const char *name)
{
	struct nvtx_text text;

	nvtx_text_ascii(&text, name);
	return nvtx_names_domain(names, &text);
}

static void assert_text(const struct nvtx_text *text, const char *wanted)
{
	assert_non_null(text);
	assert_int_equal(text->size, strlen(wanted));
	assert_memory_equal(text->bytes, wanted, text->size);
}

static void equal_names_have_one_id(void **state)
{
	struct nvtx_names *names = nvtx_names_create(NVTX_DIGITS_AUTO);
	uint32_t library = add_domain(names, "library");

	(void)state;
	assert_int_equal(intern(names, 0, "forward"), intern(names, 0, "forward"));
	assert_int_not_equal(intern(names, 0, "forward"), intern(names, 0, "backward"));
	assert_int_not_equal(intern(names, 0, "forward"), intern(names, library, "forward"));
	assert_int_not_equal(intern(names, 0, ""), NVTX_NAME_LOST);
	assert_text(nvtx_names_text(names, intern(names, 0, "forward")), "forward");
	nvtx_names_destroy(names);
}

static void names_that_differ_in_digits_are_kept_until_there_are_many(void **state)
{
	struct nvtx_names *names = nvtx_names_create(NVTX_DIGITS_AUTO);

	(void)state;
	for (uint32_t i = 0; i < NVTX_VARIANTS_MAX; i++) {
		char wanted[64];

		snprintf(wanted, sizeof(wanted), "step %u", i);
		assert_text(nvtx_names_text(names, intern_number(names, "step %u", i)), wanted);
	}
	assert_text(nvtx_names_text(names, intern_number(names, "step %u", 70)), "step #");
	assert_int_equal(intern_number(names, "step %u", 71), intern_number(names, "step %u", 72));
	/* What was kept stays, and other names have their own count. */
	assert_text(nvtx_names_text(names, intern_number(names, "step %u", 3)), "step 3");
	assert_text(nvtx_names_text(names, intern_number(names, "layer %u", 70)), "layer 70");
	nvtx_names_destroy(names);
}

static void masked_names_have_no_digits(void **state)
{
	struct nvtx_names *names = nvtx_names_create(NVTX_DIGITS_MASK);

	(void)state;
	assert_int_equal(intern(names, 0, "step 1"), intern(names, 0, "step 22"));
	assert_text(nvtx_names_text(names, intern(names, 0, "step 1")), "step #");
	nvtx_names_destroy(names);
}

static void more_names_than_there_is_room_for_are_lost(void **state)
{
	struct nvtx_names *names = nvtx_names_create(NVTX_DIGITS_KEEP);

	(void)state;
	for (uint32_t i = 0; i < NVTX_NAMES_MAX; i++)
		assert_int_not_equal(intern_number(names, "step %u", i), NVTX_NAME_LOST);
	assert_int_equal(intern_number(names, "step %u", NVTX_NAMES_MAX), NVTX_NAME_LOST);
	assert_int_not_equal(intern_number(names, "step %u", 17), NVTX_NAME_LOST);
	assert_null(nvtx_names_text(names, NVTX_NAME_LOST));
	nvtx_names_destroy(names);
}

static void more_domains_than_there_is_room_for_share_one(void **state)
{
	struct nvtx_names *names = nvtx_names_create(NVTX_DIGITS_KEEP);
	char name[32];

	(void)state;
	for (uint32_t i = 0; i + 1 < NVTX_DOMAINS_MAX; i++) {
		snprintf(name, sizeof(name), "domain %u", i);
		assert_int_equal(add_domain(names, name), i + 1);
	}
	assert_int_equal(add_domain(names, "domain 5"), 6);
	assert_int_equal(add_domain(names, "one more"), NVTX_DOMAINS_MAX);
	assert_text(nvtx_names_domain_text(names, NVTX_DOMAINS_MAX), "...");
	nvtx_names_destroy(names);
}

static void handles_lead_back_and_others_lead_nowhere(void **state)
{
	struct nvtx_names *names = nvtx_names_create(NVTX_DIGITS_KEEP);
	uint32_t name = intern(names, 0, "registered"), domain = add_domain(names, "library");
	const char *handle = nvtx_names_handle(names, name);

	(void)state;
	assert_int_equal(nvtx_names_of_handle(names, handle), name);
	assert_int_equal(nvtx_names_of_handle(names, handle + 1), NVTX_NAME_LOST);
	assert_int_equal(nvtx_names_of_handle(names, NULL), NVTX_NAME_LOST);
	assert_int_equal(nvtx_names_of_handle(names, nvtx_names_handle(names, NVTX_NAME_LOST)),
			 NVTX_NAME_LOST);
	handle = nvtx_names_domain_handle(names, domain);
	assert_int_equal(nvtx_names_of_domain_handle(names, handle), domain);
	assert_int_equal(nvtx_names_of_domain_handle(names, handle - 1), NVTX_DOMAIN_DEFAULT);
	assert_int_equal(nvtx_names_of_domain_handle(names, NULL), NVTX_DOMAIN_DEFAULT);
	assert_int_equal(nvtx_names_of_domain_handle(names, &domain), NVTX_DOMAIN_DEFAULT);
	nvtx_names_destroy(names);
}

static void names_are_in_the_ring_once_and_with_their_domain(void **state)
{
	struct nvtx_names *names = nvtx_names_create(NVTX_DIGITS_KEEP);
	uint32_t name = intern(names, add_domain(names, "library"), "op");
	struct record_ring_code code;
	struct test_ring ring;

	(void)state;
	test_ring_init(&ring);
	uint64_t word = nvtx_names_word(names, ring.guest, name);

	assert_true(stack_word_is_range(word));
	assert_false(stack_word_is_mark(word));
	assert_false(stack_word_is_python(word));
	assert_true(nvtx_names_word(names, ring.guest, name) == word);
	assert_int_equal(record_ring_read_code(ring.agent, stack_word_range_code(word), &code), 0);
	assert_int_equal(code.file_size, 7);
	assert_memory_equal(code.file, "library", 7);
	assert_int_equal(code.name_size, 2);
	assert_memory_equal(code.name, "op", 2);
	assert_true(nvtx_names_word(names, ring.guest, NVTX_NAME_LOST) == stack_word_range(0));
	test_ring_fini(&ring);
	nvtx_names_destroy(names);
}

static void full_ring_leaves_names_out(void **state)
{
	struct nvtx_names *names = nvtx_names_create(NVTX_DIGITS_KEEP);
	struct test_ring ring;

	(void)state;
	test_ring_init(&ring);
	while (record_ring_add_code(ring.guest, "file", 4, "name", 4))
		;
	assert_true(nvtx_names_word(names, ring.guest, intern(names, 0, "late")) ==
		    stack_word_range(0));
	test_ring_fini(&ring);
	nvtx_names_destroy(names);
}

static void *intern_many(void *user)
{
	static _Thread_local uint32_t ids[1000];

	for (uint32_t i = 0; i < 1000; i++)
		ids[i] = intern_number(user, "name %u", i);
	return ids;
}

static void *intern_and_sum(void *user)
{
	const uint32_t *ids = intern_many(user);
	uintptr_t sum = 0;

	for (uint32_t i = 0; i < 1000; i++)
		sum = sum * 31 + ids[i];
	return (void *)sum;
}

static void threads_agree_on_ids(void **state)
{
	struct nvtx_names *names = nvtx_names_create(NVTX_DIGITS_KEEP);
	void *sums[THREADS];
	pthread_t threads[THREADS];

	(void)state;
	for (int i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, intern_and_sum, names), 0);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], &sums[i]);
	for (int i = 1; i < THREADS; i++)
		assert_ptr_equal(sums[i], sums[0]);
	nvtx_names_destroy(names);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(equal_names_have_one_id),
		cmocka_unit_test(names_that_differ_in_digits_are_kept_until_there_are_many),
		cmocka_unit_test(masked_names_have_no_digits),
		cmocka_unit_test(more_names_than_there_is_room_for_are_lost),
		cmocka_unit_test(more_domains_than_there_is_room_for_share_one),
		cmocka_unit_test(handles_lead_back_and_others_lead_nowhere),
		cmocka_unit_test(names_are_in_the_ring_once_and_with_their_domain),
		cmocka_unit_test(full_ring_leaves_names_out),
		cmocka_unit_test(threads_agree_on_ids),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
