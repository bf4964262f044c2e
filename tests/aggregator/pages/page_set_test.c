#include "aggregator/pages/page_set.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "aggregator/pages/page_file.h"
#include "aggregator/pages/page_round.h"
#include "pages_text.h"

static int take(struct page_set *set, uint8_t writer, uint64_t round, const char *text,
		const char **reason)
{
	struct pages_text pages;

	pages_text_make(&pages, writer, round, text);
	return page_set_take(set, &pages.pages, reason);
}

static void assert_taken(struct page_set *set, uint8_t writer, uint64_t round, const char *text)
{
	const char *reason = "";

	if (take(set, writer, round, text, &reason))
		fail_msg("%s: %s", text, reason);
}

static void assert_pages(const struct page_set *set, uint32_t writer, uint64_t round,
			 const char *expected)
{
	char text[PAGES_TEXT_SIZE];

	assert_int_equal(page_set_round(set, writer), round);
	pages_text_of(set, writer, text);
	assert_string_equal(text, expected);
}

static void assert_refused(struct page_set *set, uint64_t round, const char *text, const char *why)
{
	uint64_t bytes = page_set_bytes(set);
	uint32_t writers = page_set_writers(set);
	char before[PAGES_TEXT_SIZE] = "", after[PAGES_TEXT_SIZE] = "";
	const char *reason = NULL;

	if (writers)
		pages_text_of(set, 0, before);
	assert_int_equal(take(set, 7, round, text, &reason), -EPROTO);
	assert_string_equal(reason, why);
	assert_int_equal(page_set_bytes(set), bytes);
	assert_int_equal(page_set_writers(set), writers);
	if (writers)
		pages_text_of(set, 0, after);
	assert_string_equal(before, after);
}

/* ---- rounds */

static void a_round_counts_when_its_last_message_has_come(void **state)
{
	struct page_set *set = *state;

	assert_taken(set, 7, 1, "0.0=abc 0.1=d");
	assert_int_equal(page_set_writers(set), 1);
	assert_pages(set, 0, 0, "");
	assert_false(page_set_changed(set));
	assert_taken(set, 7, 1, "3.0=e |0:2 |3:1");
	assert_pages(set, 0, 1, "0.0=abc 0.1=d 3.0=e");
	assert_int_equal(page_set_writer(set, 0)[0], 7);
	assert_true(page_set_changed(set));
	assert_int_equal(page_set_bytes(set), 5);
}

static void a_later_round_has_what_changed_alone(void **state)
{
	struct page_set *set = *state;

	assert_taken(set, 7, 1, "0.0=abc 0.1=d 2.0=z 3.0=e |0:2 |2:1 |3:1");
	assert_taken(set, 7, 2, "0.1=D 0.2=new");
	assert_pages(set, 0, 1, "0.0=abc 0.1=d 2.0=z 3.0=e");
	assert_taken(set, 7, 2, "|0:3 |2:1 |3:1");
	assert_pages(set, 0, 2, "0.0=abc 0.1=D 0.2=new 2.0=z 3.0=e");
	/* A table that shrinks, one that is not in the list, and one that has no pages. */
	assert_taken(set, 7, 9, "3.0=E |0:1 |1:0 |3:1");
	assert_pages(set, 0, 9, "0.0=abc 3.0=E");
	assert_int_equal(page_set_bytes(set), 4);
	assert_taken(set, 7, 10, "|0:0");
	assert_pages(set, 0, 10, "");
	assert_int_equal(page_set_bytes(set), 0);
}

static void a_page_comes_in_parts_over_several_messages(void **state)
{
	struct page_set *set = *state;

	assert_taken(set, 7, 1, "0.0=ab/9 0.0=..c/9");
	assert_taken(set, 7, 1, "0.0=...defgh/9");
	assert_taken(set, 7, 1, "0.0=........i/9 0.1=x/2");
	assert_taken(set, 7, 1, "0.1=.y/2 |0:2");
	assert_pages(set, 0, 1, "0.0=abcdefghi 0.1=xy");
}

static void a_new_round_gives_up_one_that_is_not_complete(void **state)
{
	struct page_set *set = *state;

	assert_taken(set, 7, 1, "0.0=a 0.1=b |0:2");
	assert_taken(set, 7, 2, "0.0=lost/9");
	assert_taken(set, 7, 3, "0.1=B");
	assert_taken(set, 7, 3, "|0:2");
	assert_pages(set, 0, 3, "0.0=a 0.1=B");
	assert_int_equal(page_set_bytes(set), 2);
}

static void writers_do_not_touch_each_other(void **state)
{
	struct page_set *set = *state;

	assert_taken(set, 7, 1, "0.0=a |0:1");
	assert_taken(set, 8, 5, "0.0=b");
	assert_taken(set, 9, 1, "0.0=c |0:1");
	assert_taken(set, 8, 5, "0.1=bb |0:2");
	assert_int_equal(page_set_writers(set), 3);
	assert_pages(set, 0, 1, "0.0=a");
	assert_pages(set, 1, 5, "0.0=b 0.1=bb");
	assert_pages(set, 2, 1, "0.0=c");
}

static void a_writer_that_begins_anew_sends_all_pages(void **state)
{
	struct page_set *set = *state;

	assert_taken(set, 7, 5, "0.0=a 0.1=b |0:2");
	assert_taken(set, 7, 6, "0.0=half");
	page_set_begin(set, (const uint8_t[WIRE_EPOCH_SIZE]){7});
	assert_int_equal(page_set_bytes(set), 2);
	assert_refused(set, 6, "0.1=B |0:2", "a table with pages that never came");
	assert_pages(set, 0, 5, "0.0=a 0.1=b");
	assert_taken(set, 7, 1, "0.0=A |0:1");
	assert_pages(set, 0, 1, "0.0=A");
	assert_refused(set, 1, "0.0=a |0:1", "a round that is over");
	page_set_begin(set, (const uint8_t[WIRE_EPOCH_SIZE]){99}); /* nobody knows this one */
	assert_int_equal(page_set_writers(set), 1);
}

/* ---- hostile messages */

static void a_message_that_cannot_be_changes_nothing(void **state)
{
	struct page_set *set = *state;

	assert_refused(set, 1, "0.0=.b/2", "a page that begins in its middle");
	assert_refused(set, 1, "0.0=a |0:2", "a table with pages that never came");
	assert_taken(set, 7, 3, "0.0=a 0.1=b 4.0=c |0:2 |4:1");
	assert_refused(set, 3, "0.0=x |0:1", "a round that is over");
	assert_refused(set, 2, "0.0=x", "a round that is over");
	assert_refused(set, 4, "0.1=x 0.0=y", "pages that do not rise");
	assert_refused(set, 4, "1.0=x 0.5=y", "pages that do not rise");
	assert_refused(set, 4, "0.0=x 0.0=x", "pages that do not rise");
	assert_refused(set, 4, "0.0=a/3 0.1=b", "a part that does not follow the one before");
	assert_refused(set, 4, "0.0=a/3 0.0=a/3", "a part that does not follow the one before");
	assert_refused(set, 4, "0.0=a/3 0.0=..b/3", "a part that does not follow the one before");
	assert_refused(set, 4, "0.0=a/3 0.0=.b/4", "a part that does not follow the one before");
	assert_refused(set, 4, "0.0=a/3 |0:2 |4:1", "a round that ends within a page");
	assert_refused(set, 4, "|4:1 |0:2", "tables that do not rise");
	assert_refused(set, 4, "|0:1 |0:1", "tables that do not rise");
	assert_refused(set, 4, "|0:3 |4:1", "a table with pages that never came");
	assert_refused(set, 4, "0.3=d |0:4", "a table with pages that never came");
	assert_refused(set, 4, "|0:4294967295 |4:4294967295", "a table with pages that never came");
	assert_refused(set, 4, "0.2=d |0:2 |4:1", "a page beyond the end of its table");
	assert_refused(set, 4, "1.0=d |0:2 |4:1", "a page beyond the end of its table");
	assert_pages(set, 0, 3, "0.0=a 0.1=b 4.0=c");
}

static void a_refused_message_leaves_the_round_that_is_coming(void **state)
{
	struct page_set *set = *state;

	assert_taken(set, 7, 1, "0.0=ab/5");
	assert_refused(set, 1, "0.0=..cde/5 0.1=f 0.1=g", "pages that do not rise");
	assert_refused(set, 1, "0.0=..cde/5 |0:2", "a table with pages that never came");
	assert_refused(set, 2, "0.0=..cde/5", "a page that begins in its middle");
	assert_taken(set, 7, 1, "0.0=..CDE/5 |0:1");
	assert_pages(set, 0, 1, "0.0=abCDE");
}

/* The sizes are made up: nobody reads so many bytes. */
static void a_profile_has_a_limit(void **state)
{
	struct page_round round = {.round = 1, .bytes = PAGE_ROUND_BYTES_MAX - 2};
	const struct message_page_part large = {.page_bytes = 3, .size = 3},
				       small = {.page_bytes = 2, .size = 2};
	const struct message_page_table table = {0, 2};
	struct message_pages pages = {
		.nr_parts = 1, .parts = &large, .bytes = (const uint8_t *)"abc"};
	struct page_list *before = page_list_create(2), *after;
	const char *reason = "";

	(void)state;
	assert_int_equal(page_round_add(&round, &pages, &reason), -EPROTO);
	assert_string_equal(reason, "a profile above 1 GiB");
	assert_int_equal(round.count, 0);
	pages.parts = &small;
	assert_int_equal(page_round_add(&round, &pages, &reason), 0);
	page_list_add(before, &(struct profile_page){0, 0, 1, NULL});
	page_list_add(before, &(struct profile_page){0, 1, PAGE_ROUND_BYTES_MAX - 1, NULL});
	pages.nr_tables = 1;
	pages.tables = &table;
	assert_int_equal(page_round_finish(&round, before, &pages, &after, &reason), -EPROTO);
	assert_string_equal(reason, "a profile above 1 GiB");
	assert_null(after);
	page_round_fini(&round);
	page_list_destroy(before);
}

/* ---- the file */

static const char *path_of(const char *name)
{
	static char path[128];
	static char folder[64] = "/tmp/flamegrid_page_set_XXXXXX";

	static bool is_made;

	if (!is_made)
		assert_non_null(mkdtemp(folder));
	is_made = true;
	if (!name) {
		assert_int_equal(rmdir(folder), 0);
		return NULL;
	}
	snprintf(path, sizeof(path), "%s/%s", folder, name);
	return path;
}

static int remove_folder(void **state)
{
	(void)state;
	unlink(path_of("pages"));
	unlink(path_of("again"));
	path_of(NULL);
	return 0;
}

static struct page_set *save_and_load(struct page_set *set)
{
	struct page_set *loaded;

	assert_int_equal(page_set_save(set, path_of("pages")), 0);
	assert_false(page_set_changed(set));
	assert_int_equal(page_set_load(path_of("pages"), &loaded), 0);
	return loaded;
}

static void a_saved_set_is_loaded_as_it_was(void **state)
{
	struct page_set *set = *state;

	assert_taken(set, 7, 12, "0.0=abc 0.1=d 3.0=e |0:2 |3:1");
	assert_taken(set, 8, 1, "0.0=incomplete");
	assert_taken(set, 9, 1, "|0:0");
	page_set_end(set, (const uint8_t[WIRE_EPOCH_SIZE]){9});
	struct page_set *loaded = save_and_load(set);
	assert_int_equal(page_set_writers(loaded), 2);
	assert_pages(loaded, 0, 12, "0.0=abc 0.1=d 3.0=e");
	assert_false(page_set_ended(loaded, 0));
	assert_int_equal(page_set_writer(loaded, 1)[0], 9);
	assert_true(page_set_ended(loaded, 1));
	assert_int_equal(page_set_bytes(loaded), 5);
	assert_false(page_set_changed(loaded));
	/* No epoch of before is known, so the next round has all pages. */
	const char *reason;
	assert_int_equal(take(loaded, 7, 13, "0.1=D |0:2 |3:1", &reason), -EPROTO);
	assert_taken(loaded, 7, 1, "0.0=A |0:1");
	assert_pages(loaded, 0, 1, "0.0=A");
	page_set_destroy(loaded);
}

static void an_empty_set_has_a_file_too(void **state)
{
	struct page_set *loaded = save_and_load(*state);

	assert_int_equal(page_set_writers(loaded), 0);
	page_set_destroy(loaded);
}

static void a_file_that_cannot_be_written_leaves_the_old_one(void **state)
{
	struct page_set *set = *state, *loaded;
	char path[128], temporary[160];

	assert_taken(set, 7, 1, "0.0=a |0:1");
	snprintf(path, sizeof(path), "%s", path_of("pages"));
	snprintf(temporary, sizeof(temporary), "%s.tmp", path);
	assert_int_equal(page_set_save(set, path), 0);
	assert_taken(set, 7, 2, "0.0=b |0:1");
	assert_int_equal(mkdir(temporary, 0700), 0); /* the place of the new file is taken */
	assert_int_equal(page_set_save(set, path), -EEXIST);
	assert_true(page_set_changed(set));
	rmdir(temporary);
	assert_int_equal(page_set_save(set, path_of("missing/pages")), -ENOENT);
	assert_int_equal(page_set_load(path_of("pages"), &loaded), 0);
	assert_pages(loaded, 0, 1, "0.0=a");
	page_set_destroy(loaded);
	assert_int_equal(page_set_load(path_of("none"), &loaded), -ENOENT);
	assert_null(loaded);
	assert_int_equal(page_set_load("/", &loaded), -EPROTO);
}

/* What the set takes while a snapshot is written does not come into the file, and takes nothing away from it. */
static void a_snapshot_is_of_one_moment(void **state)
{
	struct page_set *set = *state, *loaded;

	assert_taken(set, 7, 1, "0.0=a 0.1=b |0:2");
	struct page_snapshot *snapshot = page_set_snapshot(set);
	assert_non_null(snapshot);
	assert_taken(set, 7, 2, "0.0=A |0:1");
	assert_taken(set, 7, 3, "0.0=AA |0:1");
	for (uint8_t writer = 8; writer < 40; writer++) /* the array of writers moves */
		assert_taken(set, writer, 1, "0.0=c |0:1");
	assert_int_equal(page_file_write(snapshot, path_of("pages")), 0);
	page_set_release(set, snapshot, true);
	assert_true(page_set_changed(set));
	assert_pages(set, 0, 3, "0.0=AA");
	assert_int_equal(page_set_load(path_of("pages"), &loaded), 0);
	assert_int_equal(page_set_writers(loaded), 1);
	assert_pages(loaded, 0, 1, "0.0=a 0.1=b");
	page_set_destroy(loaded);
	page_set_release(set, page_set_snapshot(set), false);
	assert_true(page_set_changed(set));
}

/* The file's head, and two writers with theirs, of three pages and of one. */
enum {
	HEAD_SIZE = 32,
	FIRST_SIZE = 64 + 3 * 24 + 5,
	SECOND_SIZE = 64 + 24 + 16,
	FILE_SIZE = HEAD_SIZE + FIRST_SIZE + SECOND_SIZE,
};

static FILE *save_two(struct page_set *set)
{
	assert_taken(set, 7, 12, "0.0=abc 0.1=d 3.0=e |0:2 |3:1");
	assert_taken(set, 8, 1, "0.0=ffffffffffffffff |0:1");
	assert_int_equal(page_set_save(set, path_of("pages")), 0);
	FILE *file = fopen(path_of("pages"), "r+");
	assert_non_null(file);
	return file;
}

/* The writer that is not damaged has all its pages; the other one has the sound ones, or is counted. */
static void assert_damaged(const struct page_set *set, uint8_t writer, bool has_head)
{
	char text[PAGES_TEXT_SIZE];

	assert_int_equal(page_set_writers(set), has_head ? 2 : 1);
	assert_int_equal(page_set_lost_writers(set), !has_head);
	for (uint32_t i = 0; i < page_set_writers(set); i++) {
		const uint8_t name = page_set_writer(set, i)[0];

		pages_text_of(set, i, text);
		if (name == writer) {
			assert_in_range(page_set_lost_pages(set, i), 1, name == 7 ? 3 : 1);
			assert_int_equal(page_set_lost_pages(set, i) + page_set_pages(set, i),
					 name == 7 ? 3 : 1);
			continue;
		}
		assert_int_equal(page_set_lost_pages(set, i), 0);
		assert_string_equal(text,
				    name == 7 ? "0.0=abc 0.1=d 3.0=e" : "0.0=ffffffffffffffff");
	}
}

/* What was damaged is still known when the set was saved, and loaded again. */
static void expect_damage(size_t at)
{
	const uint8_t writer = at < HEAD_SIZE + FIRST_SIZE ? 7 : 8;
	const size_t in_writer = at - HEAD_SIZE - (writer == 7 ? 0 : FIRST_SIZE);
	struct page_set *loaded, *again;

	if (at < HEAD_SIZE) {
		assert_int_equal(page_set_load(path_of("pages"), &loaded), -EPROTO);
		assert_null(loaded);
		return;
	}
	assert_int_equal(page_set_load(path_of("pages"), &loaded), 0);
	assert_damaged(loaded, writer, in_writer >= 64);
	assert_int_equal(page_set_save(loaded, path_of("again")), 0);
	assert_int_equal(page_set_load(path_of("again"), &again), 0);
	assert_damaged(again, writer, in_writer >= 64);
	page_set_destroy(again);
	page_set_destroy(loaded);
}

static void damage_to_any_byte_of_the_file_costs_its_writer_alone(void **state)
{
	uint8_t bytes[512];
	FILE *file = save_two(*state);

	assert_int_equal(fread(bytes, 1, sizeof(bytes), file), FILE_SIZE);
	for (size_t at = 0; at < FILE_SIZE; at++) {
		const uint8_t damaged = (uint8_t)(bytes[at] ^ 1u << at % 8);

		assert_int_equal(pwrite(fileno(file), &damaged, 1, (off_t)at), 1);
		expect_damage(at);
		assert_int_equal(pwrite(fileno(file), &bytes[at], 1, (off_t)at), 1);
	}
	fclose(file);
}

/* Writes the file with size further bytes between its writers: the word over and over. */
static void part_writers(FILE *file, const uint8_t bytes[static FILE_SIZE], const char *word,
			 size_t size)
{
	rewind(file);
	fwrite(bytes, 1, HEAD_SIZE + FIRST_SIZE, file);
	for (size_t i = 0; i < size; i++)
		fputc(word[i % strlen(word)], file);
	fwrite(bytes + HEAD_SIZE + FIRST_SIZE, 1, SECOND_SIZE, file);
	assert_int_equal(fflush(file), 0);
}

/* Wherever the reader's window ends, and whether the bytes look like writers. */
static void a_writer_is_found_behind_any_number_of_bytes(void **state)
{
	static const char *const words[] = {"x", "fgwriter", "fgwrite"};
	uint8_t bytes[512];
	FILE *file = save_two(*state);
	struct page_set *loaded;

	assert_int_equal(fread(bytes, 1, sizeof(bytes), file), FILE_SIZE);
	for (size_t size = 1; size < 2 * 4096 + 200; size += size % 4096 == 200 ? 3600 : 1) {
		part_writers(file, bytes, words[size % 3], size);
		assert_int_equal(page_set_load(path_of("pages"), &loaded), 0);
		assert_int_equal(page_set_writers(loaded), 2);
		assert_int_equal(page_set_lost_writers(loaded), 0);
		assert_pages(loaded, 0, 12, "0.0=abc 0.1=d 3.0=e");
		assert_pages(loaded, 1, 1, "0.0=ffffffffffffffff");
		page_set_destroy(loaded);
	}
	fclose(file);
}

static void of_a_file_that_was_cut_off_the_begin_is_read(void **state)
{
	FILE *file = save_two(*state);
	struct page_set *loaded;

	for (size_t size = FILE_SIZE; size-- > 0;) {
		assert_int_equal(ftruncate(fileno(file), (off_t)size), 0);
		int error = page_set_load(path_of("pages"), &loaded);
		assert_int_equal(error, size < HEAD_SIZE ? -EPROTO : 0);
		if (error)
			continue;
		assert_int_equal(page_set_writers(loaded), size >= HEAD_SIZE + FIRST_SIZE);
		assert_int_equal(page_set_lost_writers(loaded), 2 - page_set_writers(loaded));
		page_set_destroy(loaded);
	}
	fclose(file);
}

static void a_new_round_mends_what_was_damaged(void **state)
{
	FILE *file = save_two(*state);
	struct page_set *loaded;

	assert_int_equal(pwrite(fileno(file), "?", 1, FILE_SIZE - 1), 1);
	fclose(file);
	assert_int_equal(page_set_load(path_of("pages"), &loaded), 0);
	assert_int_equal(page_set_lost_pages(loaded, 1), 1);
	assert_taken(loaded, 8, 1, "0.0=g |0:1");
	assert_int_equal(page_set_lost_pages(loaded, 1), 0);
	page_set_destroy(loaded);
}

static int set_up(void **state)
{
	*state = page_set_create();
	return *state ? 0 : -1;
}

static int tear_down(void **state)
{
	page_set_destroy(*state);
	return 0;
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_round_counts_when_its_last_message_has_come),
		TEST(a_later_round_has_what_changed_alone),
		TEST(a_page_comes_in_parts_over_several_messages),
		TEST(a_new_round_gives_up_one_that_is_not_complete),
		TEST(writers_do_not_touch_each_other),
		TEST(a_writer_that_begins_anew_sends_all_pages),
		TEST(a_message_that_cannot_be_changes_nothing),
		TEST(a_refused_message_leaves_the_round_that_is_coming),
		TEST(a_profile_has_a_limit),
		TEST(a_saved_set_is_loaded_as_it_was),
		TEST(an_empty_set_has_a_file_too),
		TEST(a_file_that_cannot_be_written_leaves_the_old_one),
		TEST(a_snapshot_is_of_one_moment),
		TEST(damage_to_any_byte_of_the_file_costs_its_writer_alone),
		TEST(a_writer_is_found_behind_any_number_of_bytes),
		TEST(of_a_file_that_was_cut_off_the_begin_is_read),
		TEST(a_new_round_mends_what_was_damaged),
	};

	return cmocka_run_group_tests(tests, NULL, remove_folder);
}
