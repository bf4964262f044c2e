/* The choice among candidates that answer as a test wants. */
#include "inject/capture/cupti_choice.h"

#include "tests/support/cmocka_test.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "inject/base/definition_writer.h"
#include "inject/capture/subscription.h"
#include "inject/cupti/cupti_library.h"
#include "inject/cupti/cupti_search.h"
#include "proto/absence.h"
#include "tests/inject/test_ring.h"

#define NO_FILE (-1) /* the loader refuses the candidate */

/* What subscribing to each candidate returns, or NO_FILE. */
static struct {
	int answers[3];
	uint32_t nr_asked;
	const char *holder;
} fake;

static struct test_ring ring;
static struct definition_writer notices;

void __wrap_cupti_search_process(struct cupti_search *search);
int __wrap_cupti_library_open(const char *path, bool mapped, struct cupti_library *library);
int __wrap_subscription_open(const struct cupti_library *library, cupti_callback_fn *receive);
void __wrap_subscription_holder(const struct cupti_library *library,
				char name[static CUPTI_ABI_NAME_SIZE]);

void __wrap_cupti_search_process(struct cupti_search *search)
{
	search->nr_candidates = 3;
	for (int i = 0; i < 3; i++)
		snprintf(search->candidates[i].path, sizeof(search->candidates[i].path), "/c%d", i);
	strcpy(search->looked, "/c0, /c1, /c2");
}

int __wrap_cupti_library_open(const char *path, bool mapped, struct cupti_library *library)
{
	(void)mapped;
	library->version = (uint32_t)(path[2] - '0');
	return fake.answers[library->version] == NO_FILE ? -ENOENT : 0;
}

int __wrap_subscription_open(const struct cupti_library *library, cupti_callback_fn *receive)
{
	(void)receive;
	fake.nr_asked++;
	return fake.answers[library->version];
}

void __wrap_subscription_holder(const struct cupti_library *library,
				char name[static CUPTI_ABI_NAME_SIZE])
{
	(void)library;
	strcpy(name, fake.holder);
}

static int set_up(void **state)
{
	(void)state;
	memset(&fake, 0, sizeof(fake));
	test_ring_init(&ring);
	notices = DEFINITION_WRITER_INIT(ring.guest);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	test_ring_fini(&ring);
	return 0;
}

/* path NULL: none is chosen. notice NULL: none is written. */
static void assert_choice(const int answers[3], const char *path, const char *notice)
{
	struct cupti_library library;
	uint8_t body[2048] = {0};
	uint32_t type;

	memcpy(fake.answers, answers, sizeof(fake.answers));
	const char *chosen = cupti_choice_make(&library, NULL, &notices);
	if (path)
		assert_string_equal(chosen, path);
	else
		assert_null(chosen);
	int size = test_ring_definition(&ring, &type, body, sizeof(body) - 1);
	if (!notice) {
		assert_int_equal(size, -1);
		return;
	}
	assert_int_equal(type, DEFINITION_NOTICE);
	assert_string_equal((const char *)body + sizeof(struct definition_notice), notice);
}

#define CHOOSE(path, notice, ...) assert_choice((const int[3]){__VA_ARGS__}, path, notice)

static void the_first_that_lets_the_guest_subscribe_is_chosen(void **state)
{
	(void)state;
	CHOOSE("/c0", NULL, 0, 0, 0);
	assert_int_equal(fake.nr_asked, 1);
	CHOOSE("/c2", NULL, NO_FILE, CUPTI_ABI_NOT_INITIALIZED, 0);
}

static void another_profilers_cupti_ends_the_search(void **state)
{
	const int taken = CUPTI_ABI_SUBSCRIBER_TAKEN;

	(void)state;
	fake.holder = "Nsight";
	CHOOSE(NULL, ABSENCE_FAILED "another profiler holds CUPTI in this process: Nsight (/c1)",
	       NO_FILE, taken, 0);
	fake.holder = "";
	CHOOSE(NULL, ABSENCE_FAILED "another profiler holds CUPTI in this process (/c0)", taken, 0,
	       0);
	assert_int_equal(fake.nr_asked, 2);
}

static void a_notice_says_why_none_can_be_used(void **state)
{
	(void)state;
	CHOOSE(NULL, ABSENCE_FAILED "/c1 cannot be used with this driver (CUPTI error 15)", NO_FILE,
	       CUPTI_ABI_NOT_INITIALIZED, NO_FILE);
	CHOOSE(NULL,
	       ABSENCE_FAILED "libcupti was not found (flamegrid doctor tells how to get it); "
			      "looked at: /c0, /c1, /c2",
	       NO_FILE, NO_FILE, NO_FILE);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(the_first_that_lets_the_guest_subscribe_is_chosen),
		TEST(another_profilers_cupti_ends_the_search),
		TEST(a_notice_says_why_none_can_be_used),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
