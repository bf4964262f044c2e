#include "report/watch/watch_writer.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#define S 1000000000ull

static int32_t ranks[] = {5};

static struct watch_event event_of(enum watch_event_kind kind)
{
	return (struct watch_event){
		.kind = kind,
		.time_ns = (86400 + 12 * 3600 + 3 * 60 + 14) * S + 250000000,
		.since_ns = (86400 + 12 * 3600 + 3 * 60 + 10) * S,
		.until_ns = kind == WATCH_EVENT_RECOVERED
				    ? (86400 + 12 * 3600 + 3 * 60 + 12) * S + 500000000
				    : 0,
		.finding = {.name = (char *)"rank 5 on \"a\"",
			    .text = (char *)"last in 98.00 % of 50 collectives of all ranks",
			    .communicator = (char *)"all ranks",
			    .ranks = ranks,
			    .nr_ranks = 1,
			    .ground = STRAGGLER_FREQUENCY,
			    .used = 50,
			    .last = 49,
			    .waited_ns = 290,
			    .share = 0.125,
			    .step = {1, 47000000, 41200000}},
	};
}

static void expect(void (*write)(FILE *out, const struct watch_event *event),
		   const struct watch_event *event, const char *wanted)
{
	char *text;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	assert_non_null(out);
	write(out, event);
	assert_int_equal(fclose(out), 0);
	assert_string_equal(text, wanted);
	free(text);
}

static void late_has_the_step_without_the_cause(void **state)
{
	const struct watch_event event = event_of(WATCH_EVENT_LATE);

	(void)state;
	expect(watch_writer_text, &event,
	       "late since 12:03:10: rank 5 on \"a\": last in 98.00 % of 50 collectives of all "
	       "ranks; without it a step takes 41.200 ms instead of 47.000 ms");
}

/* Of a quarter of the time that the others wait, half would remain. */
static void waits_that_remain_are_told(void **state)
{
	struct watch_event event = event_of(WATCH_EVENT_LATE);

	(void)state;
	event.finding.share = 0.25;
	event.finding.step.collectives = 20;
	expect(watch_writer_text, &event,
	       "late since 12:03:10: rank 5 on \"a\": last in 98.00 % of 50 collectives of all "
	       "ranks; without it a step of 20 collectives takes 41.200 ms instead of 47.000 ms, "
	       "as the others also wait for one another");
}

static void calls_without_gpu_times_are_told(void **state)
{
	struct watch_event event = event_of(WATCH_EVENT_LATE);

	(void)state;
	event.finding.by_host = true;
	event.finding.step = (struct watch_step){0};
	expect(watch_writer_text, &event,
	       "late since 12:03:10: rank 5 on \"a\": last in 98.00 % of 50 collectives of all "
	       "ranks; by the calls' own time on the host");
}

static void a_known_cause_stands_before_the_step(void **state)
{
	struct watch_event event = event_of(WATCH_EVENT_LATE);

	(void)state;
	event.finding.cause = (char *)"slower GPU kernels (gemm)";
	event.finding.cause_share = 0.976;
	expect(watch_writer_text, &event,
	       "late since 12:03:10: rank 5 on \"a\": last in 98.00 % of 50 collectives of all "
	       "ranks; slower GPU kernels (gemm): 98 % of it; without it a step takes 41.200 ms "
	       "instead of 47.000 ms");
}

static void a_loaded_expert_stands_before_the_cause(void **state)
{
	struct watch_event event = event_of(WATCH_EVENT_LATE);

	(void)state;
	event.finding.step = (struct watch_step){0};
	event.finding.expert_gpu_times = 1.4;
	event.finding.expert_bytes_times = 1.25;
	event.finding.cause = (char *)"slower GPU kernels (gemm)";
	event.finding.cause_share = 0.976;
	expect(watch_writer_text, &event,
	       "late since 12:03:10: rank 5 on \"a\": last in 98.00 % of 50 collectives of all "
	       "ranks; its expert took 1.40 times the others' GPU time; slower GPU kernels (gemm): "
	       "98 % of it");
}

static void without_a_usual_step_it_has_the_most_that_can_be_saved(void **state)
{
	struct watch_event event = event_of(WATCH_EVENT_LATE);
	char *text = NULL;
	size_t size;

	(void)state;
	event.finding.step.is_least = true;
	expect(watch_writer_text, &event,
	       "late since 12:03:10: rank 5 on \"a\": last in 98.00 % of 50 collectives of all "
	       "ranks; without it up to 5.800 ms less of 47.000 ms a step");
	FILE *out = open_memstream(&text, &size);
	watch_writer_json(out, &event);
	fclose(out);
	assert_non_null(strstr(text, "\"step_ns\":47000000,\"step_without_ns\":null,"));
	free(text);
	event.finding.step.without_ns = event.finding.step.now_ns;
	expect(watch_writer_text, &event,
	       "late since 12:03:10: rank 5 on \"a\": last in 98.00 % of 50 collectives of all "
	       "ranks");
}

static void without_steps_it_has_the_time_of_a_collective(void **state)
{
	struct watch_event event = event_of(WATCH_EVENT_LATE);

	(void)state;
	event.finding.step.collectives = 0;
	expect(watch_writer_text, &event,
	       "late since 12:03:10: rank 5 on \"a\": last in 98.00 % of 50 collectives of all "
	       "ranks; without it a collective of all ranks comes each 41.200 ms instead of "
	       "47.000 ms");
}

static void nothing_is_said_of_a_step_that_is_not_known(void **state)
{
	struct watch_event event = event_of(WATCH_EVENT_LATE);

	(void)state;
	event.finding.step = (struct watch_step){0};
	expect(watch_writer_text, &event,
	       "late since 12:03:10: rank 5 on \"a\": last in 98.00 % of 50 collectives of all "
	       "ranks");
	expect(watch_writer_json, &event,
	       "{\"schema\":2,\"event\":\"late\",\"time\":\"1970-01-02T12:03:14.250Z\","
	       "\"since\":\"1970-01-02T12:03:10.000Z\",\"until\":null,\"name\":\"rank 5 on "
	       "\\\"a\\\"\","
	       "\"group\":false,\"ranks\":[5],\"stage\":null,\"ground\":\"frequency\","
	       "\"communicator\":\"all ranks\",\"collectives\":50,\"last\":49,"
	       "\"waited_ns\":290,\"share\":0.125000,\"step_collectives\":null,"
	       "\"step_ns\":null,\"step_without_ns\":null,\"waiting\":0,\"cause\":null,\"cause_"
	       "share\":null,\"expert_gpu_times\":null,\"expert_bytes_times\":null,"
	       "\"text\":\"last in 98.00 % of 50 collectives of all ranks\"}\n");
}

static void recovery_says_how_long_it_was(void **state)
{
	const struct watch_event event = event_of(WATCH_EVENT_RECOVERED);

	(void)state;
	expect(watch_writer_text, &event,
	       "no longer late: rank 5 on \"a\", which was late for 2.500 s, since 12:03:10");
}

static void a_link_is_slow_and_no_longer(void **state)
{
	struct watch_event event = event_of(WATCH_EVENT_SLOW);

	(void)state;
	event.finding.name = (char *)"link of ranks 4-5";
	event.finding.text = (char *)"move data at 4.20 GB/s";
	event.finding.is_link = true;
	expect(watch_writer_text, &event,
	       "slow since 12:03:10: link of ranks 4-5: they move data at 4.20 GB/s");
	event.kind = WATCH_EVENT_RECOVERED;
	event.until_ns = event.since_ns + 2500000000;
	expect(watch_writer_text, &event,
	       "no longer slow: link of ranks 4-5, which was slow for 2.500 s, since 12:03:10");
}

static void a_stall_says_when_it_was(void **state)
{
	struct watch_event event = event_of(WATCH_EVENT_STALLED);

	(void)state;
	event.finding.text = (char *)"once; each other rank waited 1.200 s for it";
	expect(watch_writer_text, &event,
	       "stalled at 12:03:10: rank 5 on \"a\": once; each other rank waited 1.200 s for it");
}

static void json_has_integers_and_all_ranks(void **state)
{
	static int32_t both[] = {4, 5};
	struct watch_event event = event_of(WATCH_EVENT_RECOVERED);

	(void)state;
	event.finding.ranks = both;
	event.finding.nr_ranks = 2;
	event.finding.is_group = true;
	event.finding.cause = (char *)"waits (\"poll\")";
	event.finding.cause_share = 0.75;
	event.finding.has_stage = true;
	event.finding.stage = 1;
	event.finding.expert_gpu_times = 1.4;
	event.finding.expert_bytes_times = 1.25;
	expect(watch_writer_json, &event,
	       "{\"schema\":2,\"event\":\"recovered\",\"time\":\"1970-01-02T12:03:14.250Z\","
	       "\"since\":\"1970-01-02T12:03:10.000Z\",\"until\":\"1970-01-02T12:03:12.500Z\","
	       "\"name\":\"rank 5 on \\\"a\\\"\","
	       "\"group\":true,\"ranks\":[4,5],\"stage\":1,\"ground\":\"frequency\","
	       "\"communicator\":\"all ranks\",\"collectives\":50,\"last\":49,"
	       "\"waited_ns\":290,\"share\":0.125000,\"step_collectives\":1,"
	       "\"step_ns\":47000000,\"step_without_ns\":41200000,\"waiting\":0,"
	       "\"cause\":\"waits (\\\"poll\\\")\",\"cause_share\":0.750000,"
	       "\"expert_gpu_times\":1.4000,\"expert_bytes_times\":1.2500,"
	       "\"text\":\"last in 98.00 % of 50 collectives of all ranks\"}\n");
}

static struct watch_event missing_of(enum watch_event_kind kind)
{
	struct watch_event event = event_of(kind);

	event.finding.ground = STRAGGLER_NOT_NAMED;
	event.finding.text = (char *)"has not come to collective 151 (all_reduce, all ranks); "
				     "7 ranks wait for it";
	event.finding.used = event.finding.last = 0;
	event.finding.share = 0;
	event.finding.waited_ns = 4 * S;
	event.finding.step = (struct watch_step){0};
	event.nr_waiting = 7;
	return event;
}

static void a_missing_rank_says_how_long_others_wait(void **state)
{
	const struct watch_event event = missing_of(WATCH_EVENT_MISSING);

	(void)state;
	expect(watch_writer_text, &event,
	       "missing since 12:03:10: rank 5 on \"a\": has not come to collective 151 "
	       "(all_reduce, all ranks); 7 ranks wait for it, for 4.000 s");
	expect(watch_writer_json, &event,
	       "{\"schema\":2,\"event\":\"missing\",\"time\":\"1970-01-02T12:03:14.250Z\","
	       "\"since\":\"1970-01-02T12:03:10.000Z\",\"until\":null,\"name\":\"rank 5 on "
	       "\\\"a\\\"\","
	       "\"group\":false,\"ranks\":[5],\"stage\":null,\"ground\":null,"
	       "\"communicator\":\"all ranks\",\"collectives\":0,\"last\":0,"
	       "\"waited_ns\":4000000000,\"share\":0.000000,\"step_collectives\":null,"
	       "\"step_ns\":null,\"step_without_ns\":null,\"waiting\":7,"
	       "\"cause\":null,\"cause_share\":null,"
	       "\"expert_gpu_times\":null,\"expert_bytes_times\":null,"
	       "\"text\":\"has not come to collective 151 (all_reduce, all ranks); "
	       "7 ranks wait for it\"}\n");
}

static void a_rank_that_came_says_how_long_others_waited(void **state)
{
	const struct watch_event event = missing_of(WATCH_EVENT_CAME);

	(void)state;
	expect(watch_writer_text, &event,
	       "no longer missing: rank 5 on \"a\", for which 7 ranks waited 4.000 s, since "
	       "12:03:10");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(late_has_the_step_without_the_cause),
		cmocka_unit_test(waits_that_remain_are_told),
		cmocka_unit_test(calls_without_gpu_times_are_told),
		cmocka_unit_test(a_known_cause_stands_before_the_step),
		cmocka_unit_test(a_loaded_expert_stands_before_the_cause),
		cmocka_unit_test(without_a_usual_step_it_has_the_most_that_can_be_saved),
		cmocka_unit_test(without_steps_it_has_the_time_of_a_collective),
		cmocka_unit_test(nothing_is_said_of_a_step_that_is_not_known),
		cmocka_unit_test(recovery_says_how_long_it_was),
		cmocka_unit_test(a_link_is_slow_and_no_longer),
		cmocka_unit_test(a_stall_says_when_it_was),
		cmocka_unit_test(json_has_integers_and_all_ranks),
		cmocka_unit_test(a_missing_rank_says_how_long_others_wait),
		cmocka_unit_test(a_rank_that_came_says_how_long_others_waited),
	};

	setenv("TZ", "UTC", 1);
	tzset();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
