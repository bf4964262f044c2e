/* Pages that this program makes when it is run again, at times that the test sets. */
#include "tests/support/cmocka_test.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "cli/base/verbs.h"
#include "cli/serve/page_cache.h"

#define CLIENTS 100u
#define NAME    "a\033profile" /* with a byte that no terminal should get */

static uint64_t now_ns;

uint64_t __wrap_clock_now_ns(void);

uint64_t __wrap_clock_now_ns(void)
{
	return now_ns;
}

/* ---- what the cache runs */

static int make(const char *command, const char *text)
{
	while (strcmp(command, "hang") == 0)
		pause();
	if (strcmp(command, "large") == 0)
		return ftruncate(STDOUT_FILENO, (off_t)strtoull(text, NULL, 10)) ? EXIT_FAILED
										 : EXIT_OK;
	if (strcmp(command, "nothing") == 0) {
		dprintf(STDERR_FILENO, "%s\n", text);
		return EXIT_NOTHING;
	}
	return write(STDOUT_FILENO, text, strlen(text)) > 0 ? EXIT_OK : EXIT_FAILED;
}

/* ---- who asks */

static int set_up(void **state)
{
	now_ns = UINT64_C(1000000000000);
	return page_cache_create((struct page_cache **)state);
}

static int tear_down(void **state)
{
	page_cache_destroy(*state);
	/* Those that hung were killed, and nobody waits for them. */
	while (waitpid(-1, NULL, 0) > 0)
		;
	return 0;
}

static enum page_state ask_live(struct page_cache *cache, const char *command, const char *text,
				enum page_ask ask, bool is_live, struct page *page)
{
	char key[PAGE_CACHE_KEY];
	const char *const argv[] = {command, text, NAME};
	const struct page_wanted wanted = {key, argv, 3, 0, is_live};

	snprintf(key, sizeof(key), "%s %s", command, text);
	return page_cache_get(cache, &wanted, ask, page);
}

static enum page_state ask_page(struct page_cache *cache, const char *command, const char *text,
				enum page_ask ask, struct page *page)
{
	return ask_live(cache, command, text, ask, false, page);
}

/* The page is not looked at. */
static enum page_state ask_state(struct page_cache *cache, const char *command, const char *text,
				 enum page_ask ask)
{
	struct page page;
	const enum page_state state = ask_page(cache, command, text, ask, &page);

	if (page.fd >= 0)
		close(page.fd);
	free(page.error);
	return state;
}

/* Returns once a command has ended that the cache has not noticed. If none runs it has noticed all. */
static void wait_for_end(void)
{
	siginfo_t info;

	assert_true(waitid(P_ALL, 0, &info, WEXITED | WNOWAIT) == 0 || errno == ECHILD);
}

static enum page_state await(struct page_cache *cache, const char *command, const char *text,
			     struct page *page)
{
	enum page_state state;

	while ((state = ask_page(cache, command, text, PAGE_TAKE, page)) == PAGE_MAKING)
		wait_for_end();
	return state;
}

static void check_page(const struct page *page, const char *text)
{
	char got[PAGE_CACHE_KEY] = "";

	assert_int_equal(page->size, strlen(text));
	assert_int_equal(pread(page->fd, got, sizeof(got) - 1, 0), strlen(text));
	assert_string_equal(got, text);
	close(page->fd);
}

static void number(uint32_t i, char text[static 16])
{
	snprintf(text, 16, "%u", i);
}

/* ---- commands that take too long */

static void commands_that_hang_are_stopped_and_their_places_are_free(void **state)
{
	struct page_cache *cache = *state;
	struct page page;

	assert_int_equal(ask_state(cache, "hang", "1", PAGE_TAKE), PAGE_MAKING);
	assert_int_equal(ask_state(cache, "hang", "2", PAGE_TAKE), PAGE_MAKING);
	for (uint64_t ns = 0; ns < PAGE_CHILD_MOST_NS - PAGE_CACHE_HELD_NS / 2;
	     ns += PAGE_CACHE_HELD_NS / 2) {
		assert_int_equal(ask_state(cache, "say", "it", PAGE_TAKE), PAGE_MAKING);
		now_ns += PAGE_CACHE_HELD_NS / 2;
	}
	now_ns = UINT64_C(1000000000000) + PAGE_CHILD_MOST_NS - 1;
	assert_int_equal(ask_state(cache, "hang", "1", PAGE_TAKE), PAGE_MAKING);
	now_ns++;
	assert_int_equal(ask_page(cache, "hang", "1", PAGE_TAKE, &page), PAGE_FAILED);
	assert_non_null(strstr(page.error, "profile: this was not done within 120 s"));
	assert_null(strchr(page.error, '\033'));
	free(page.error);
	assert_int_equal(await(cache, "say", "it", &page), PAGE_READY);
	check_page(&page, "it");
	assert_int_equal(await(cache, "hang", "2", &page), PAGE_FAILED);
	free(page.error);
}

static void a_command_that_hung_is_tried_again_later(void **state)
{
	struct page_cache *cache = *state;

	assert_int_equal(ask_state(cache, "hang", "1", PAGE_TAKE), PAGE_MAKING);
	now_ns += PAGE_CHILD_MOST_NS;
	assert_int_equal(ask_state(cache, "hang", "1", PAGE_TAKE), PAGE_FAILED);
	wait_for_end();
	now_ns += PAGE_CHILD_MOST_NS;
	assert_int_equal(ask_state(cache, "hang", "1", PAGE_TAKE), PAGE_FAILED);
	now_ns += PAGE_CACHE_FRESH_NS;
	assert_int_equal(ask_state(cache, "hang", "1", PAGE_TAKE), PAGE_MAKING);
}

static void commands_are_stopped_while_nobody_asks(void **state)
{
	struct page_cache *cache = *state;

	assert_int_equal(ask_state(cache, "hang", "1", PAGE_TAKE), PAGE_MAKING);
	now_ns += PAGE_CHILD_MOST_NS;
	page_cache_tend(cache);
	wait_for_end(); /* it hung, so it was killed */
	assert_int_equal(ask_state(cache, "hang", "1", PAGE_TAKE), PAGE_FAILED);
}

static void a_command_that_runs_once_has_a_place_of_its_own(void **state)
{
	static const char *const say[] = {"say", "started", NAME}, *const hangs[] = {"hang", "",
										     NAME};
	const struct page_wanted first = {.key = "window 1", .argv = say, .nr_argv = 3},
				 second = {.key = "window 2", .argv = hangs, .nr_argv = 3},
				 third = {.key = "window 3", .argv = say, .nr_argv = 3};
	struct page_cache *cache = *state;
	struct page page;
	enum page_state got;

	ask_state(cache, "hang", "1", PAGE_TAKE);
	ask_state(cache, "hang", "2", PAGE_TAKE);
	assert_int_equal(ask_state(cache, "say", "it", PAGE_TAKE), PAGE_MAKING);
	assert_true(page_cache_begin(cache, &first));
	while ((got = page_cache_look(cache, "window 1", PAGE_TAKE, &page)) == PAGE_MAKING)
		wait_for_end();
	assert_int_equal(got, PAGE_READY);
	check_page(&page, "started");
	assert_true(page_cache_begin(cache, &second));
	assert_false(page_cache_begin(cache, &third));
	assert_int_equal(page_cache_look(cache, "window 3", PAGE_TAKE, &page), PAGE_NOTHING);
	assert_null(page.error);
}

/* ---- many askers */

/* Returns how many of the first pages are not made yet. */
static uint32_t count_unmade(struct page_cache *cache, uint32_t nr)
{
	uint32_t count = 0;
	char text[16];

	for (uint32_t i = 0; i < nr; i++) {
		number(i, text);
		count += ask_state(cache, "say", text, PAGE_LOOK) != PAGE_READY;
	}
	return count;
}

static void each_of_a_hundred_askers_gets_its_page_in_order(void **state)
{
	struct page_cache *cache = *state;
	bool is_served[CLIENTS] = {false};
	uint32_t nr_served = 0;
	struct page page;
	char text[16];

	for (uint32_t i = 0; i < CLIENTS; i++) {
		number(i, text);
		assert_int_equal(ask_state(cache, "say", text, PAGE_TAKE), PAGE_MAKING);
	}
	while (nr_served < CLIENTS) {
		wait_for_end();
		/* Whoever asks first in each round is not served sooner. */
		for (uint32_t i = CLIENTS; i-- > 0;) {
			number(i, text);
			if (is_served[i] || ask_state(cache, "say", text, PAGE_LOOK) != PAGE_READY)
				continue;
			assert_in_range(count_unmade(cache, i), 0, PAGE_CACHE_CHILDREN - 1);
			assert_int_equal(ask_page(cache, "say", text, PAGE_TAKE, &page),
					 PAGE_READY);
			check_page(&page, text);
			is_served[i] = true;
			nr_served++;
		}
	}
}

static void fill(struct page_cache *cache)
{
	char text[16];

	for (uint32_t i = 0; i < PAGE_CACHE_PAGES; i++) {
		number(i, text);
		assert_int_equal(ask_state(cache, "say", text, PAGE_LOOK), PAGE_MAKING);
	}
	for (uint32_t i = 0; i < PAGE_CACHE_PAGES; i++) {
		number(i, text);
		while (ask_state(cache, "say", text, PAGE_LOOK) == PAGE_MAKING)
			wait_for_end();
	}
}

static void pages_stay_until_their_askers_have_them(void **state)
{
	struct page_cache *cache = *state;
	char text[16];

	fill(cache);
	now_ns += PAGE_CACHE_HELD_NS - 1;
	assert_int_equal(ask_state(cache, "say", "more", PAGE_TAKE), PAGE_FULL);
	for (uint32_t i = 0; i < PAGE_CACHE_PAGES; i++) {
		number(i, text);
		assert_int_equal(ask_state(cache, "say", text, PAGE_LOOK), PAGE_READY);
	}
	assert_int_equal(ask_state(cache, "say", "7", PAGE_TAKE), PAGE_READY);
	assert_int_equal(ask_state(cache, "say", "more", PAGE_TAKE), PAGE_MAKING);
	assert_int_equal(ask_state(cache, "say", "yet more", PAGE_TAKE), PAGE_FULL);
	assert_int_equal(ask_state(cache, "say", "8", PAGE_LOOK), PAGE_READY);
}

static void pages_that_nobody_comes_back_for_give_way(void **state)
{
	struct page_cache *cache = *state;

	fill(cache);
	assert_int_equal(ask_state(cache, "say", "more", PAGE_TAKE), PAGE_FULL);
	now_ns += PAGE_CACHE_HELD_NS;
	assert_int_equal(ask_state(cache, "say", "more", PAGE_TAKE), PAGE_MAKING);
}

static void an_asker_that_goes_loses_its_turn(void **state)
{
	struct page_cache *cache = *state;
	struct page page;

	ask_state(cache, "hang", "1", PAGE_TAKE);
	ask_state(cache, "hang", "2", PAGE_TAKE);
	assert_int_equal(ask_state(cache, "say", "gone", PAGE_TAKE), PAGE_MAKING);
	now_ns += PAGE_CACHE_HELD_NS / 2;
	assert_int_equal(ask_state(cache, "say", "it", PAGE_TAKE), PAGE_MAKING);
	now_ns += PAGE_CACHE_HELD_NS / 2;
	assert_int_equal(page_cache_look(cache, "say gone", PAGE_TAKE, &page), PAGE_NOTHING);
	assert_null(page.error);
	assert_int_equal(page_cache_look(cache, "say it", PAGE_TAKE, &page), PAGE_MAKING);
}

static void what_nobody_asked_for_waits_for_nobody(void **state)
{
	struct page_cache *cache = *state;
	struct page page;

	assert_int_equal(ask_state(cache, "say", "early", PAGE_AHEAD), PAGE_MAKING);
	wait_for_end();
	page_cache_tend(cache);
	assert_int_equal(page_cache_look(cache, "say early", PAGE_TAKE, &page), PAGE_READY);
	check_page(&page, "early");
	/* Beside it are as many pages as without it, but nothing else that nobody asked for. */
	assert_int_equal(ask_state(cache, "hang", "ahead", PAGE_AHEAD), PAGE_MAKING);
	ask_state(cache, "say", "another", PAGE_AHEAD);
	assert_int_equal(page_cache_look(cache, "say another", PAGE_TAKE, &page), PAGE_NOTHING);
	assert_null(page.error);
	ask_state(cache, "hang", "1", PAGE_TAKE);
	assert_int_equal(await(cache, "say", "it", &page), PAGE_READY);
	check_page(&page, "it");
	ask_state(cache, "hang", "2", PAGE_TAKE);
	assert_int_equal(ask_state(cache, "say", "late", PAGE_AHEAD), PAGE_MAKING);
	assert_int_equal(page_cache_look(cache, "say late", PAGE_TAKE, &page), PAGE_NOTHING);
	assert_null(page.error);
}

/* ---- pages */

static void a_live_page_that_was_waited_for_is_given_however_late(void **state)
{
	struct page_cache *cache = *state;
	struct page page;

	assert_int_equal(ask_live(cache, "say", "it", PAGE_TAKE, true, &page), PAGE_MAKING);
	wait_for_end();
	page_cache_tend(cache);
	now_ns += PAGE_CACHE_HELD_NS - 1;
	assert_int_equal(ask_live(cache, "say", "it", PAGE_TAKE, true, &page), PAGE_READY);
	check_page(&page, "it");
	/* Then it is made anew. */
	assert_int_equal(ask_live(cache, "say", "it", PAGE_TAKE, true, &page), PAGE_MAKING);
	while (ask_live(cache, "say", "it", PAGE_LOOK, true, &page) == PAGE_MAKING)
		wait_for_end();
	check_page(&page, "it");
}

static void pages_of_too_many_bytes_hold_up_further_ones_until_they_are_taken(void **state)
{
	struct page_cache *cache = *state;
	char size[16];

	snprintf(size, sizeof(size), "%u", PAGE_CACHE_BYTES + 1);
	while (ask_state(cache, "large", size, PAGE_LOOK) == PAGE_MAKING)
		wait_for_end();
	assert_int_equal(ask_state(cache, "say", "it", PAGE_TAKE), PAGE_MAKING);
	/* Nothing runs: there is no child to wait for. */
	assert_int_equal(waitid(P_ALL, 0, &(siginfo_t){0}, WEXITED | WNOWAIT | WNOHANG), -1);
	assert_int_equal(ask_state(cache, "large", size, PAGE_TAKE), PAGE_READY);
	assert_int_equal(ask_state(cache, "say", "it", PAGE_TAKE), PAGE_MAKING);
	wait_for_end();
	assert_int_equal(ask_state(cache, "say", "it", PAGE_TAKE), PAGE_READY);
	/* The large one has gone. */
	assert_int_equal(ask_state(cache, "large", size, PAGE_TAKE), PAGE_MAKING);
}

static void what_is_not_there_is_told_by_the_command(void **state)
{
	struct page_cache *cache = *state;
	struct page page;

	assert_int_equal(await(cache, "nothing", "no step 7", &page), PAGE_NOTHING);
	assert_string_equal(page.error, "no step 7\n");
	assert_int_equal(page.fd, -1);
	free(page.error);
	assert_int_equal(await(cache, "say", "", &page), PAGE_FAILED);
	assert_string_equal(page.error, "the page could not be made\n");
	free(page.error);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		TEST(commands_that_hang_are_stopped_and_their_places_are_free),
		TEST(a_command_that_hung_is_tried_again_later),
		TEST(commands_are_stopped_while_nobody_asks),
		TEST(a_command_that_runs_once_has_a_place_of_its_own),
		TEST(each_of_a_hundred_askers_gets_its_page_in_order),
		TEST(pages_stay_until_their_askers_have_them),
		TEST(pages_that_nobody_comes_back_for_give_way),
		TEST(an_asker_that_goes_loses_its_turn),
		TEST(what_nobody_asked_for_waits_for_nobody),
		TEST(a_live_page_that_was_waited_for_is_given_however_late),
		TEST(pages_of_too_many_bytes_hold_up_further_ones_until_they_are_taken),
		TEST(what_is_not_there_is_told_by_the_command),
	};

	if (argc == 4)
		return make(argv[1], argv[2]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
