#include "report/top/top_view.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "proto/record.h"
#include "report/names/text_width.h"
#include "report/top/top_writer.h"
#include "tests/report/model/report_fixture.h"
#include "top_fixture.h"

static struct top_view *view;
static struct top_sums *sums;
static struct top_facts facts;
static struct top_line line;

static int set_up(void **state)
{
	view = top_view_create(true);
	sums = NULL;
	facts = (struct top_facts){.profile = "prof",
				   .state = "running",
				   .is_running = true,
				   .knows_late = true,
				   .now_ns = 103 * S};
	return top_fixture_set_up(state) || !view ? -1 : 0;
}

static int tear_down(void **state)
{
	top_view_destroy(view);
	top_sums_destroy(sums);
	return top_fixture_tear_down(state);
}

static void take(void)
{
	assert_int_equal(top_view_take(view, sums, &facts), 0);
}

/* Ranks with one GPU each; rank i was busy for i + 1 of 10 parts of 1 s, half of it in a kernel of its own. */
static void make_ranks(int32_t count)
{
	for (int32_t i = 0; i < count; i++) {
		char host[32], kernel[32];
		const uint64_t busy_ns = (uint64_t)(i + 1) * 100 * MS;

		snprintf(host, sizeof(host), "node%02d", (int)i / 4);
		snprintf(kernel, sizeof(kernel), "kernel_%d", (int)i);
		const uint32_t process = top_fixture_process(host, 100 + (uint32_t)i, i, i % 4);
		top_fixture_busy(process, busy_ns, 2 * S, 102 * S);
		top_fixture_stream_busy(process, 7, busy_ns);
		top_fixture_work(process, 7, RECORD_GPU_KERNEL, kernel, 1, busy_ns / 2);
		top_fixture_work(process, 7, RECORD_GPU_KERNEL, "gemm", 1, busy_ns / 2);
	}
	sums = top_fixture_read();
	top_view_show_totals(view, true);
	take();
}

static const char *text(uint32_t number)
{
	top_view_line(view, number, &line);
	for (size_t size = strlen(line.text); size > 0 && line.text[size - 1] == ' '; size--)
		line.text[size - 1] = '\0';
	return line.text;
}

static void assert_begins(uint32_t number, const char *wanted)
{
	const char *found = text(number);

	if (strncmp(found, wanted, strlen(wanted)) != 0)
		fail_msg("line %u is '%s', not '%s'", number, found, wanted);
}

static void press(const char *keys)
{
	for (; *keys; keys++)
		assert_int_equal(top_view_key(view, *keys), 0);
}

static void press_key(int key)
{
	assert_int_equal(top_view_key(view, key), 0);
}

static void it_begins_with_all_ranks_and_their_kernels(void **state)
{
	(void)state;
	make_ranks(2);
	top_view_resize(view, 100, 12);
	assert_int_equal(top_view_lines(view), 12);
	assert_string_equal(text(0), "running: 2 ranks, 2 GPUs; totals, up to 1.0 s old  prof");
	assert_string_equal(text(1), "    NAME                                    busy time     "
				     "busy  comp  nccl  wait  copy  idle    work");
	assert_int_equal(line.style, TOP_STYLE_HEADING);
	assert_string_equal(text(2), "  - all ranks                                            "
				     "15.0% 15.0%  0.0%  0.0%  0.0% 85.0%       4");
	assert_int_equal(line.style, TOP_STYLE_SELECTED);
	assert_string_equal(text(3), "      gemm                                               "
				     " 7.5%  7.5%  0.0%  0.0%  0.0%     -       2");
	assert_begins(4, "      kernel_1");
	assert_begins(5, "      kernel_0");
	assert_begins(6, "  + rank 0  node00");
	assert_begins(7, "  + rank 1  node00");
	assert_string_equal(text(8), "");
	assert_begins(11, "q leave");
}

static void a_node_opens_and_closes(void **state)
{
	(void)state;
	make_ranks(2);
	top_view_resize(view, 80, 20);
	press("jjjj\n"); /* rank 0 */
	assert_begins(6, "  - rank 0");
	assert_begins(7, "    + GPU 0  NVIDIA H10");
	press("j\nj\n");
	assert_begins(8, "      - stream 7");
	assert_begins(9, "          gemm");
	assert_begins(10, "          kernel_0");
	assert_begins(11, "  + rank 1");
	press("j"); /* a kernel: left closes its stream */
	press_key(TOP_KEY_LEFT);
	assert_begins(8, "      + stream 7");
	text(8);
	assert_int_equal(line.style, TOP_STYLE_SELECTED);
	press("hhh");
	assert_begins(7, "  + rank 1");
}

static bool is_open(const void *context, uint64_t key)
{
	(void)context;
	return top_keys_has(top_view_open(view), key);
}

static void an_open_stream_asks_for_its_kernels_once(void **state)
{
	const struct top_wants wants = {.wants = is_open};

	(void)state;
	make_ranks(1);
	top_sums_destroy(sums);
	assert_int_equal(top_sums_create(&top_from, &wants, &sums), 0);
	take();
	press("G\nj\nj");
	assert_false(top_view_asks(view));
	press("\n");
	assert_true(top_view_asks(view));
	assert_false(top_view_asks(view));
	top_sums_destroy(sums);
	assert_int_equal(top_sums_create(&top_from, &wants, &sums), 0);
	take();
	press("G");
	text(top_view_lines(view) - 2);
	for (uint32_t i = 0; i < top_view_lines(view); i++) {
		text(i);
		if (line.style == TOP_STYLE_SELECTED)
			assert_begins(i, "          kernel_0");
	}
}

static void many_kernels_are_a_line_until_it_is_opened(void **state)
{
	(void)state;
	make_ranks(8);
	top_view_resize(view, 80, 30);
	assert_begins(8, "      4 more kernels");
	assert_begins(9, "  + rank 0");
	press("jjjjjj\n");
	assert_begins(8, "      kernel_3");
	assert_begins(11, "      kernel_0");
	assert_begins(12, "  + rank 0");
	press("gh"); /* closed and opened again, there are few again */
	assert_begins(3, "  + rank 0");
	press("\n");
	assert_begins(8, "      4 more kernels");
}

static void columns_order_ranks(void **state)
{
	(void)state;
	make_ranks(3);
	top_view_resize(view, 100, 20);
	press("s");
	assert_non_null(strstr(text(1), "   BUSY"));
	assert_begins(7, "  + rank 2");
	assert_begins(9, "  + rank 0");
	press("r");
	assert_non_null(strstr(text(1), "  BUSY^"));
	assert_begins(7, "  + rank 0");
	press("S");
	assert_begins(7, "  + rank 0");
	press("r");
	assert_begins(7, "  + rank 2");
}

/* What has no figures in rates stays last in either order. */
static void what_is_not_known_is_last(void **state)
{
	(void)state;
	make_ranks(2);
	struct top_sums *last = sums;
	top_fixture_busy(2, 150 * MS, 4 * S, 104 * S);
	sums = top_fixture_read();
	top_sums_follow(sums, last);
	top_view_show_totals(view, false);
	take();
	top_view_resize(view, 100, 20);
	press("s");
	for (int i = 0; i < 2; i++) {
		const uint32_t rows = 3 + 3;

		assert_begins(rows, "  + rank 0");
		assert_begins(rows + 1, "  + rank 1");
		assert_non_null(strstr(text(rows + 1), "      -"));
		press("r");
	}
	top_sums_destroy(last);
}

static void the_selection_stays_with_its_node(void **state)
{
	(void)state;
	make_ranks(3);
	top_view_resize(view, 80, 20);
	press("G"); /* rank 2 */
	text(9);
	assert_int_equal(line.style, TOP_STYLE_SELECTED);
	press("s");
	assert_begins(7, "  + rank 2");
	assert_int_equal(line.style, TOP_STYLE_SELECTED);
}

static void pages_turn_and_end(void **state)
{
	(void)state;
	make_ranks(40);
	top_view_resize(view, 80, 13); /* ten rows */
	press_key(TOP_KEY_PAGE_DOWN);
	assert_begins(11, "  + rank 3");
	text(11);
	assert_int_equal(line.style, TOP_STYLE_SELECTED);
	press_key(TOP_KEY_END);
	assert_begins(11, "  + rank 39");
	press_key(TOP_KEY_DOWN);
	assert_begins(11, "  + rank 39");
	press_key(TOP_KEY_HOME);
	assert_begins(2, "  - all ranks");
	press_key(TOP_KEY_UP);
	press_key(TOP_KEY_PAGE_UP);
	assert_begins(2, "  - all ranks");
}

static void a_search_goes_from_match_to_match(void **state)
{
	(void)state;
	make_ranks(12);
	top_view_resize(view, 80, 40);
	press("/NODE02");
	assert_begins(39, "/NODE02_");
	press("\n");
	assert_begins(17, "  + rank 8  node02");
	assert_int_equal(line.style, TOP_STYLE_SELECTED);
	text(18);
	assert_int_equal(line.style, TOP_STYLE_MATCH);
	press("n");
	text(18);
	assert_int_equal(line.style, TOP_STYLE_SELECTED);
	press("N");
	text(17);
	assert_int_equal(line.style, TOP_STYLE_SELECTED);
	press("N");
	text(20); /* around the end */
	assert_int_equal(line.style, TOP_STYLE_SELECTED);
	press_key(TOP_KEY_ESCAPE);
	text(18);
	assert_int_equal(line.style, TOP_STYLE_PLAIN);
}

static void a_search_opens_what_is_closed(void **state)
{
	(void)state;
	make_ranks(12);
	top_view_resize(view, 80, 60);
	press("/kernel_0\n"); /* of all ranks' kernels the last one */
	for (uint32_t i = 0; i < 60; i++) {
		text(i);
		if (line.style == TOP_STYLE_SELECTED) {
			assert_non_null(strstr(text(i), "kernel_0"));
			return;
		}
	}
	fail_msg("nothing is selected");
}

static void a_search_without_a_match_says_so(void **state)
{
	(void)state;
	make_ranks(1);
	press("/xyz");
	assert_begins(23, "/xyz   (no match)");
	press("\n");
	assert_begins(23, "no match for xyz");
	press("/gex");
	press_key(TOP_KEY_BACKSPACE);
	press("\n");
	text(3);
	assert_int_equal(line.style, TOP_STYLE_SELECTED);
}

static struct watch_event late_event(int32_t *rank)
{
	return (struct watch_event){.kind = WATCH_EVENT_LATE,
				    .time_ns = 103 * S,
				    .since_ns = 100 * S,
				    .finding = {.name = (char *)"rank 1 on node00",
						.text = (char *)"last in all",
						.communicator = (char *)"all ranks",
						.ranks = rank,
						.nr_ranks = 1}};
}

static void late_ranks_are_marked_and_told(void **state)
{
	int32_t rank = 1;
	const struct watch_event event = late_event(&rank);

	(void)state;
	make_ranks(2);
	facts.late = &event;
	facts.nr_late = 1;
	take();
	assert_non_null(strstr(text(1), ": rank 1 on node00: last in all"));
	assert_int_equal(line.style, TOP_STYLE_LATE);
	assert_begins(7, "  + rank 0");
	assert_begins(8, "! + rank 1");
	assert_int_equal(line.style, TOP_STYLE_LATE);
}

static void late_ranks_that_find_no_line_are_counted(void **state)
{
	int32_t rank = 1;
	const struct watch_event events[] = {late_event(&rank), late_event(&rank),
					     late_event(&rank)};

	(void)state;
	make_ranks(2);
	facts.late = events;
	facts.nr_late = 3;
	take();
	top_view_resize(view, 80, 12);
	assert_begins(2, "(and 1 more) late since ");
	assert_begins(3, "    NAME");
}

static void narrow_terminals_have_fewer_columns(void **state)
{
	(void)state;
	make_ranks(2);
	top_view_resize(view, 40, 12);
	assert_string_equal(text(1), "    NAME                busy  wait  idle");
	for (uint32_t columns = 1; columns < 200; columns++) {
		top_view_resize(view, columns, 12);
		for (uint32_t i = 0; i < 12; i++) {
			top_view_line(view, i, &line);
			assert_true(text_width_of(line.text) <= columns);
			assert_int_equal(text_width_of(line.text), line.columns);
		}
	}
	top_view_resize(view, 20, 12);
	assert_string_equal(text(0), "too small a terminal");
	top_view_resize(view, 80, 3);
	assert_string_equal(text(0), "too small a terminal");
	assert_string_equal(text(2), "");
	press_key(TOP_KEY_PAGE_DOWN);
}

static void names_are_clean_and_cut(void **state)
{
	char name[10001];

	(void)state;
	memset(name, 'x', sizeof(name) - 1);
	name[10000] = '\0';
	const uint32_t process = top_fixture_process("no\x1b[31mde\n\xe2\x80\xae", 100, 0, 0);
	top_fixture_busy(process, 100 * MS, 2 * S, 102 * S);
	top_fixture_work(process, 7, RECORD_GPU_KERNEL, name, 1, MS);
	top_fixture_work(process, 7, RECORD_GPU_KERNEL, "\xd7\x90\t\xff\x07", 1, MS / 2);
	sums = top_fixture_read();
	top_view_show_totals(view, true);
	take();
	top_view_resize(view, 80, 24);
	assert_begins(3, "      xx…xxxxxxxxxxxxxx ");
	assert_begins(4, "      \xd7\x90_\xef\xbf\xbd_");
	assert_begins(5, "  + rank 0  no_[31");
	for (uint32_t i = 0; i < top_view_lines(view); i++) {
		top_view_line(view, i, &line);
		for (const char *at = line.text; *at; at++)
			assert_true((unsigned char)*at >= ' ');
	}
}

static void a_terminal_of_ascii_gets_ascii(void **state)
{
	(void)state;
	top_view_destroy(view);
	view = top_view_create(false);
	make_ranks(1);
	struct top_sums *last = sums;
	top_fixture_busy(1 + 1, 600 * MS, 3 * S, 103 * S);
	top_fixture_work(2, 7, RECORD_GPU_KERNEL, "\xd7\x90", 1, MS);
	sums = top_fixture_read();
	top_sums_follow(sums, last);
	top_view_show_totals(view, false);
	take();
	top_view_resize(view, 100, 20);
	assert_string_equal(text(2), "  - all ranks                                          4 "
				     "50.0%  0.1%  0.0%  0.0%  0.0% 50.0%     1.0");
	for (uint32_t i = 0; i < 20; i++) {
		top_view_line(view, i, &line);
		for (const char *at = line.text; *at; at++)
			assert_true((unsigned char)*at >= ' ' && (unsigned char)*at < 0x7f);
	}
	top_sums_destroy(last);
}

static void silent_and_ended_ranks_say_so(void **state)
{
	(void)state;
	make_ranks(2);
	facts.now_ns = 140 * S;
	take();
	top_view_resize(view, 100, 24);
	assert_begins(6, "  + rank 0  node00  silent for 38 s");
	assert_int_equal(line.style, TOP_STYLE_FAINT);
	facts.is_running = false;
	facts.state = "ended";
	take();
	assert_begins(0, "ended: 2 ranks, 2 GPUs; totals");
	assert_null(strstr(text(6), "silent"));
}

static void without_sums_there_is_the_state_alone(void **state)
{
	(void)state;
	facts.message = "prof/profile.db: empty";
	take();
	press("jk\nhl/x\nnst");
	press_key(TOP_KEY_END);
	facts.message = "prof/profile.db: empty";
	press_key(TOP_KEY_ESCAPE);
	take();
	assert_string_equal(text(0), "running  prof");
	assert_string_equal(text(23), "prof/profile.db: empty");
	assert_int_equal(top_view_key(view, 'q'), 1);
}

static void help_stands_in_place_of_the_rows(void **state)
{
	(void)state;
	make_ranks(1);
	press("?");
	assert_begins(0, "up, down");
	press("x");
	assert_begins(0, "running");
}

static void one_table_has_all_ranks(void **state)
{
	char *written;
	size_t size;
	FILE *out = open_memstream(&written, &size);
	uint32_t lines = 0;

	(void)state;
	make_ranks(30);
	assert_int_equal(top_writer_text(out, view), 0);
	fclose(out);
	for (const char *at = written; *at; at++)
		lines += *at == '\n';
	assert_int_equal(lines, 2 + 1 + 5 + 1 + 30);
	assert_non_null(strstr(written, "rank 29  node07"));
	assert_null(strstr(written, "q leave"));
	free(written);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(it_begins_with_all_ranks_and_their_kernels),
		TEST(a_node_opens_and_closes),
		TEST(an_open_stream_asks_for_its_kernels_once),
		TEST(many_kernels_are_a_line_until_it_is_opened),
		TEST(columns_order_ranks),
		TEST(what_is_not_known_is_last),
		TEST(the_selection_stays_with_its_node),
		TEST(pages_turn_and_end),
		TEST(a_search_goes_from_match_to_match),
		TEST(a_search_opens_what_is_closed),
		TEST(a_search_without_a_match_says_so),
		TEST(late_ranks_are_marked_and_told),
		TEST(late_ranks_that_find_no_line_are_counted),
		TEST(narrow_terminals_have_fewer_columns),
		TEST(names_are_clean_and_cut),
		TEST(a_terminal_of_ascii_gets_ascii),
		TEST(silent_and_ended_ranks_say_so),
		TEST(without_sums_there_is_the_state_alone),
		TEST(help_stands_in_place_of_the_rows),
		TEST(one_table_has_all_ranks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
