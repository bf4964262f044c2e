#include "report/watch/watch_events.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define S 1000000000ull

static struct watch_events *events;
static uint64_t now_ns, newest;
static struct watch_event *list;
static uint32_t count;

static int set_up(void **state)
{
	(void)state;
	now_ns = 1000 * S;
	newest = 0;
	events = watch_events_create();
	return events ? 0 : -1;
}

static int tear_down(void **state)
{
	(void)state;
	watch_events_destroy(events);
	watch_events_free(list, count);
	list = NULL;
	count = 0;
	return 0;
}

static struct watch_finding finding(const char *name, int32_t *ranks, uint32_t nr_ranks)
{
	uint64_t identity = nr_ranks;

	for (uint32_t i = 0; i < nr_ranks; i++)
		identity = 1000 * identity + (uint64_t)ranks[i];
	return (struct watch_finding){
		.identity = identity,
		.name = (char *)name,
		.text = (char *)"by much",
		.communicator = (char *)"all ranks",
		.ranks = ranks,
		.nr_ranks = nr_ranks,
		.is_group = nr_ranks > 1,
		.ground = STRAGGLER_FREQUENCY,
		.age_ns = 3 * S,
	};
}

static int32_t five[] = {5}, six[] = {6}, four_to_seven[] = {4, 5, 6, 7};

/* A look one second later, with new collectives. Returns how many events there are. */
static uint32_t look(struct watch_finding *findings, uint32_t nr_findings)
{
	const struct watch_look at = {
		.findings = findings, .nr_findings = nr_findings, .newest = ++newest};

	watch_events_free(list, count);
	now_ns += S;
	assert_int_equal(watch_events_take(events, &at, now_ns, &list, &count), 0);
	return count;
}

/* A look in which nobody is late. */
static void look_at_steps(uint64_t step_ns)
{
	struct watch_pace pace = {7, 3, step_ns};
	const struct watch_look at = {.paces = &pace, .nr_paces = 1, .newest = ++newest};

	watch_events_free(list, count);
	now_ns += S;
	assert_int_equal(watch_events_take(events, &at, now_ns, &list, &count), 0);
	assert_int_equal(count, 0);
}

static void the_step_without_the_cause_is_that_before_the_onset(void **state)
{
	struct watch_finding late = finding("rank 5 on a", five, 1);

	(void)state;
	late.key = 7;
	late.step = (struct watch_step){3, 47000000, 39000000, false};
	for (uint32_t i = 0; i < 5; i++)
		look_at_steps(41000000);
	/* Onset: the windows of these looks have late steps, and do not count. */
	for (uint32_t i = 0; i < 5; i++)
		look_at_steps(46000000);
	assert_int_equal(look(&late, 1), 0);
	assert_int_equal(look(&late, 1), 1);
	assert_int_equal(list[0].finding.step.now_ns, 47000000);
	assert_int_equal(list[0].finding.step.without_ns, 41000000);
	assert_false(list[0].finding.step.is_least);
	/* Of another communicator nothing was seen before. */
	late = finding("rank 6 on a", six, 1);
	late.key = 8;
	late.step = (struct watch_step){3, 47000000, 39000000, false};
	assert_int_equal(look(&late, 1), 0);
	assert_int_equal(look(&late, 1), 1);
	assert_int_equal(list[0].finding.step.without_ns, 39000000);
	assert_true(list[0].finding.step.is_least);
}

static void the_second_look_names_a_rank(void **state)
{
	struct watch_finding late = finding("rank 5 on a", five, 1);

	(void)state;
	assert_int_equal(look(&late, 1), 0);
	assert_int_equal(look(&late, 1), 1);
	assert_int_equal(list[0].kind, WATCH_EVENT_LATE);
	assert_string_equal(list[0].finding.name, "rank 5 on a");
	assert_int_equal(list[0].time_ns, 1002 * S);
	assert_int_equal(list[0].since_ns, 999 * S);
	assert_int_equal(look(&late, 1), 0);
}

static void one_look_alone_names_nobody(void **state)
{
	struct watch_finding late = finding("rank 5 on a", five, 1);

	(void)state;
	for (int i = 0; i < 3; i++) {
		assert_int_equal(look(&late, 1), 0);
		assert_int_equal(look(NULL, 0), 0);
	}
}

static void the_third_look_without_it_lets_it_go(void **state)
{
	struct watch_finding late = finding("rank 5 on a", five, 1);

	(void)state;
	look(&late, 1);
	look(&late, 1);
	assert_int_equal(look(NULL, 0), 0);
	assert_int_equal(look(NULL, 0), 0);
	assert_int_equal(look(&late, 1), 0); /* it counts anew from here */
	assert_int_equal(look(NULL, 0), 0);
	assert_int_equal(look(NULL, 0), 0);
	assert_int_equal(look(NULL, 0), 1);
	assert_int_equal(list[0].kind, WATCH_EVENT_RECOVERED);
	assert_string_equal(list[0].finding.name, "rank 5 on a");
	assert_int_equal(list[0].since_ns, 999 * S);
	assert_int_equal(look(NULL, 0), 0);
	assert_int_equal(look(&late, 1), 0); /* and is named again */
	assert_int_equal(look(&late, 1), 1);
}

/* It was late for five seconds until a look saw that it is no more; later looks still have some of that. */
static void recovery_tells_when_the_lateness_ended(void **state)
{
	struct watch_finding late = finding("rank 5 on a", five, 1);

	(void)state;
	for (int i = 0; i < 3; i++)
		look(&late, 1);
	const uint64_t ended_ns = now_ns;
	for (uint64_t i = 1; i <= 5; i++) {
		late.over_ns = i * S;
		assert_int_equal(look(&late, 1), 0);
	}
	look(NULL, 0);
	look(NULL, 0);
	assert_int_equal(look(NULL, 0), 1);
	assert_int_equal(list[0].kind, WATCH_EVENT_RECOVERED);
	assert_int_equal(list[0].since_ns, 999 * S);
	assert_int_equal(list[0].until_ns, ended_ns);
	assert_int_equal(list[0].time_ns, ended_ns + 8 * S);
}

/* Two processes without a number may have one name. */
static void names_do_not_tell_who_is_late(void **state)
{
	struct watch_finding both[] = {finding("a process on a", five, 1),
				       finding("a process on a", six, 1)};

	(void)state;
	assert_int_equal(look(both, 2), 0);
	assert_int_equal(look(both, 2), 2);
	both[1].name = (char *)"a process on b";
	assert_int_equal(look(&both[1], 1), 0);
	assert_int_equal(look(&both[1], 1), 0);
	assert_int_equal(look(&both[1], 1), 1);
	assert_int_equal(list[0].kind, WATCH_EVENT_RECOVERED);
	assert_int_equal(list[0].finding.ranks[0], 5);
}

static void looks_without_new_collectives_do_not_count(void **state)
{
	struct watch_finding late = finding("rank 5 on a", five, 1);

	(void)state;
	look(&late, 1);
	newest--;
	assert_int_equal(look(&late, 1), 0);
	assert_int_equal(look(&late, 1), 1);
	for (int i = 0; i < 5; i++) {
		newest--;
		assert_int_equal(look(NULL, 0), 0);
	}
}

static void several_are_named_in_the_order_of_the_look(void **state)
{
	struct watch_finding late[] = {finding("rank 5 on a", five, 1),
				       finding("pid 7 on a", NULL, 0)};

	(void)state;
	look(late, 2);
	assert_int_equal(look(late, 2), 2);
	assert_string_equal(list[0].finding.name, "rank 5 on a");
	assert_string_equal(list[1].finding.name, "pid 7 on a");
}

static void a_group_takes_the_place_of_its_ranks(void **state)
{
	struct watch_finding rank = finding("rank 5 on a", five, 1);
	struct watch_finding group = finding("a (4 ranks: 4-7)", four_to_seven, 4);

	(void)state;
	look(&rank, 1);
	assert_int_equal(look(&rank, 1), 1);
	assert_int_equal(look(&group, 1), 0);
	assert_int_equal(look(&group, 1), 1);
	assert_int_equal(list[0].kind, WATCH_EVENT_LATE);
	for (int i = 0; i < 4; i++)
		assert_int_equal(look(&group, 1), 0);
}

static void a_stall_is_told_once_when_it_is_over(void **state)
{
	struct watch_finding stall = finding("rank 5 on a", five, 1);

	(void)state;
	stall.ground = STRAGGLER_STALL;
	assert_int_equal(look(&stall, 1), 0);
	stall.is_over = true;
	assert_int_equal(look(&stall, 1), 1);
	assert_int_equal(list[0].kind, WATCH_EVENT_STALLED);
	assert_int_equal(look(&stall, 1), 0);
	for (int i = 0; i < 4; i++)
		assert_int_equal(look(NULL, 0), 0);
	assert_int_equal(look(&stall, 1), 1);
}

/* A group that is found once is told nobody, and its rank stays late, or recovers. */
static void a_group_of_one_look_hides_no_recovery(void **state)
{
	struct watch_finding five_late = finding("rank 5 on a", five, 1);
	struct watch_finding group = finding("a (4 ranks: 4-7)", four_to_seven, 4);

	(void)state;
	look(&five_late, 1);
	assert_int_equal(look(&five_late, 1), 1);
	assert_int_equal(look(&group, 1), 0);
	assert_int_equal(look(&five_late, 1), 0);
	assert_int_equal(look(&group, 1), 0);
	assert_int_equal(look(NULL, 0), 0);
	assert_int_equal(look(NULL, 0), 0);
	assert_int_equal(look(NULL, 0), 1);
	assert_int_equal(list[0].kind, WATCH_EVENT_RECOVERED);
}

/* A look may cost so much that the next one comes after the window. */
static void a_stall_that_leaves_the_window_between_two_looks_is_told(void **state)
{
	struct watch_finding stall = finding("rank 5 on a", five, 1);

	(void)state;
	stall.ground = STRAGGLER_STALL;
	assert_int_equal(look(&stall, 1), 0);
	assert_int_equal(look(NULL, 0), 0); /* a second later: it was none */
	assert_int_equal(look(&stall, 1), 0);
	const uint64_t seen_ns = now_ns;
	now_ns += 9 * S;
	assert_int_equal(look(NULL, 0), 1);
	assert_int_equal(list[0].kind, WATCH_EVENT_STALLED);
	assert_int_equal(list[0].since_ns, seen_ns - 3 * S);
	now_ns += 9 * S;
	assert_int_equal(look(NULL, 0), 0);
}

static void the_rest_of_a_lateness_is_no_stall(void **state)
{
	struct watch_finding late = finding("rank 5 on a", five, 1);
	struct watch_finding rest = late;

	(void)state;
	rest.ground = STRAGGLER_STALL;
	rest.is_over = true;
	look(&late, 1);
	assert_int_equal(look(&late, 1), 1);
	assert_int_equal(look(&rest, 1), 0);
	assert_int_equal(look(&rest, 1), 0);
	assert_int_equal(look(&rest, 1), 1);
	assert_int_equal(list[0].kind, WATCH_EVENT_RECOVERED);
	assert_int_equal(look(&rest, 1), 0);
	assert_int_equal(look(&late, 1), 0); /* it begins anew */
	assert_int_equal(look(&late, 1), 1);
	assert_int_equal(list[0].kind, WATCH_EVENT_LATE);
	for (int i = 0; i < 3; i++)
		look(NULL, 0);
	assert_int_equal(list[0].kind, WATCH_EVENT_RECOVERED);
	assert_int_equal(look(&rest, 1), 1); /* a stall of its own */
	assert_int_equal(list[0].kind, WATCH_EVENT_STALLED);
}

/* What looks like a stall at first may be the beginning of lateness. */
static void a_stall_that_does_not_end_is_lateness(void **state)
{
	struct watch_finding late = finding("rank 5 on a", five, 1);

	(void)state;
	late.ground = STRAGGLER_STALL;
	assert_int_equal(look(&late, 1), 0);
	late.ground = STRAGGLER_COST;
	assert_int_equal(look(&late, 1), 0);
	assert_int_equal(look(&late, 1), 1);
	assert_int_equal(list[0].kind, WATCH_EVENT_LATE);
}

/* ---- links */

static void a_link_is_slow_after_three_windows(void **state)
{
	struct watch_finding link = finding("link of ranks 4-7", four_to_seven, 4);
	struct watch_finding rank = finding("rank 5 on a", five, 1);
	struct watch_finding both[2];

	(void)state;
	link.is_link = true;
	link.ground = STRAGGLER_NOT_NAMED;
	both[0] = rank;
	both[1] = link;
	assert_int_equal(look(both, 2), 0);
	assert_int_equal(look(both, 2), 1); /* the rank is no part of a link */
	for (int i = 0; i < 16; i++)
		assert_int_equal(look(both, 2), 0);
	assert_int_equal(look(both, 2), 1);
	assert_int_equal(list[0].kind, WATCH_EVENT_SLOW);
	assert_int_equal(list[0].since_ns, 1001 * S);
	assert_int_equal(look(&rank, 1), 0);
	assert_int_equal(look(&rank, 1), 0);
	assert_int_equal(look(&rank, 1), 1);
	assert_int_equal(list[0].kind, WATCH_EVENT_RECOVERED);
	assert_true(list[0].finding.is_link);
}

static void a_link_that_is_slow_now_and_then_is_not_told(void **state)
{
	struct watch_finding link = finding("link of ranks 4-7", four_to_seven, 4);

	(void)state;
	link.is_link = true;
	for (int i = 1; i < 100; i++)
		assert_int_equal(look(&link, i % 18 != 0), 0);
}

/* ---- ranks that do not come */

static struct watch_absence absence(const char *name, int32_t *ranks, uint32_t nr_ranks)
{
	return (struct watch_absence){
		.finding = finding(name, ranks, nr_ranks), .nr_waiting = 7, .progress = 1};
}

/* A look one second later, without new collectives. */
static uint32_t look_for(struct watch_absence *absences, uint32_t nr_absences)
{
	const struct watch_look at = {
		.absences = absences, .nr_absences = nr_absences, .newest = newest};

	watch_events_free(list, count);
	now_ns += S;
	assert_int_equal(watch_events_take(events, &at, now_ns, &list, &count), 0);
	return count;
}

static uint32_t look_times(struct watch_absence *absences, uint32_t nr_absences, uint32_t times)
{
	uint32_t all = 0;

	while (times-- > 0)
		all += look_for(absences, nr_absences);
	return all;
}

static void a_rank_that_does_not_come_is_missing_once(void **state)
{
	struct watch_absence missing = absence("rank 5 on a", five, 1);

	(void)state;
	assert_int_equal(look_times(&missing, 1, 10), 0);
	assert_int_equal(look_for(&missing, 1), 1);
	assert_int_equal(list[0].kind, WATCH_EVENT_MISSING);
	assert_string_equal(list[0].finding.name, "rank 5 on a");
	assert_int_equal(list[0].finding.waited_ns, 10 * S);
	assert_int_equal(list[0].since_ns, 1001 * S);
	assert_int_equal(list[0].nr_waiting, 7);
	assert_int_equal(look_times(&missing, 1, 100), 0);
	assert_int_equal(look_for(NULL, 0), 1);
	assert_int_equal(list[0].kind, WATCH_EVENT_CAME);
	assert_int_equal(list[0].since_ns, 1001 * S);
	assert_int_equal(look_times(NULL, 0, 3), 0);
	assert_int_equal(look_times(&missing, 1, 11), 1);
}

static void a_wait_begins_anew_with_each_call(void **state)
{
	struct watch_absence missing = absence("rank 5 on a", five, 1);

	(void)state;
	for (int i = 0; i < 30; i++, missing.progress++)
		assert_int_equal(look_for(&missing, 1), 0);
}

static void a_wait_no_longer_than_usual_is_none(void **state)
{
	struct watch_absence missing = absence("rank 5 on a", five, 1);

	(void)state;
	missing.usual_ns = 30 * S;
	assert_int_equal(look_times(&missing, 1, 31), 0);
	assert_int_equal(look_for(&missing, 1), 1);
}

static void a_rank_whose_process_has_ended_is_missing_at_the_second_look(void **state)
{
	struct watch_absence missing = absence("rank 5 on a", five, 1);

	(void)state;
	missing.has_ended = true;
	assert_int_equal(look_for(&missing, 1), 0);
	assert_int_equal(look_for(&missing, 1), 1);
}

static void the_end_of_those_that_waited_is_no_coming(void **state)
{
	struct watch_absence missing = absence("rank 5 on a", five, 1);

	(void)state;
	assert_int_equal(look_times(&missing, 1, 11), 1);
	missing.is_over = true;
	assert_int_equal(look_times(&missing, 1, 3), 0);
	assert_int_equal(look_times(NULL, 0, 3), 0);
}

/* Rows of a node come later than those of others, so that its ranks always seem to lack in the newest collectives. */
static void who_lacks_in_a_later_collective_has_come(void **state)
{
	struct watch_absence missing = absence("a (4 ranks: 4-7)", four_to_seven, 4);

	(void)state;
	missing.sequence = 5;
	assert_int_equal(look_times(&missing, 1, 11), 1);
	missing.sequence++;
	assert_int_equal(look_for(&missing, 1), 1);
	assert_int_equal(list[0].kind, WATCH_EVENT_CAME);
	for (int i = 0; i < 30; i++, missing.sequence++)
		assert_int_equal(look_for(&missing, 1), 0);
}

/* First one rank of a host lacks, then all of them do. */
static void a_host_takes_the_place_of_its_rank(void **state)
{
	struct watch_absence rank = absence("rank 5 on a", five, 1);
	struct watch_absence host = absence("a (4 ranks: 4-7)", four_to_seven, 4);

	(void)state;
	assert_int_equal(look_times(&rank, 1, 11), 1);
	assert_int_equal(look_for(&host, 1), 1);
	assert_int_equal(list[0].kind, WATCH_EVENT_MISSING);
	assert_string_equal(list[0].finding.name, "a (4 ranks: 4-7)");
	assert_int_equal(list[0].since_ns, 1001 * S);
	assert_int_equal(look_times(&host, 1, 20), 0);
	assert_int_equal(look_for(NULL, 0), 1);
	assert_int_equal(list[0].kind, WATCH_EVENT_CAME);
}

static uint32_t current(void)
{
	watch_events_free(list, count);
	assert_int_equal(watch_events_current(events, now_ns, &list, &count), 0);
	return count;
}

static void what_goes_on_is_what_was_told_and_is_not_over(void **state)
{
	struct watch_finding late = finding("rank 5 on a", five, 1);
	struct watch_finding group = finding("b (4 ranks: 4-7)", four_to_seven, 4);
	struct watch_finding both[] = {group, late};

	(void)state;
	look(&late, 1);
	assert_int_equal(current(), 0);
	look(&late, 1);
	assert_int_equal(current(), 1);
	assert_int_equal(list[0].kind, WATCH_EVENT_LATE);
	assert_string_equal(list[0].finding.name, "rank 5 on a");
	assert_int_equal(list[0].time_ns, now_ns);
	look(both, 2);
	look(both, 2);
	look(both, 2);
	assert_int_equal(current(), 1); /* the group has the rank */
	assert_string_equal(list[0].finding.name, "b (4 ranks: 4-7)");
	for (uint32_t i = 0; i < WATCH_EVENTS_GONE + 1; i++)
		look(NULL, 0);
	assert_int_equal(current(), 0);
}

static void a_missing_rank_goes_on_until_it_comes(void **state)
{
	struct watch_absence missing = absence("rank 5 on a", five, 1);

	(void)state;
	look_times(&missing, 1, 60);
	assert_int_equal(current(), 1);
	assert_int_equal(list[0].kind, WATCH_EVENT_MISSING);
	assert_int_equal(list[0].nr_waiting, 7);
	look_times(NULL, 0, 1);
	assert_int_equal(current(), 0);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(the_second_look_names_a_rank),
		TEST(the_step_without_the_cause_is_that_before_the_onset),
		TEST(one_look_alone_names_nobody),
		TEST(the_third_look_without_it_lets_it_go),
		TEST(recovery_tells_when_the_lateness_ended),
		TEST(names_do_not_tell_who_is_late),
		TEST(looks_without_new_collectives_do_not_count),
		TEST(several_are_named_in_the_order_of_the_look),
		TEST(a_group_takes_the_place_of_its_ranks),
		TEST(a_group_of_one_look_hides_no_recovery),
		TEST(what_goes_on_is_what_was_told_and_is_not_over),
		TEST(a_missing_rank_goes_on_until_it_comes),
		TEST(a_stall_is_told_once_when_it_is_over),
		TEST(a_stall_that_leaves_the_window_between_two_looks_is_told),
		TEST(a_stall_that_does_not_end_is_lateness),
		TEST(a_link_is_slow_after_three_windows),
		TEST(a_link_that_is_slow_now_and_then_is_not_told),
		TEST(a_rank_that_does_not_come_is_missing_once),
		TEST(a_wait_begins_anew_with_each_call),
		TEST(a_wait_no_longer_than_usual_is_none),
		TEST(a_rank_whose_process_has_ended_is_missing_at_the_second_look),
		TEST(the_end_of_those_that_waited_is_no_coming),
		TEST(who_lacks_in_a_later_collective_has_come),
		TEST(a_host_takes_the_place_of_its_rank),
		TEST(the_rest_of_a_lateness_is_no_stall),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
