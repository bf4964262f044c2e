/* The events of a step's time: its launches, and GPU work to the end of what they caused, against a recount. */
#include "strips_fixture.h"

#include "timeline/trace/timeline_events.h"

#define ROUNDS 200u

static const struct timeline_launch *launch_of(const struct timeline_events *events,
					       const struct timeline_work *work)
{
	return work->launch == TIMELINE_SOURCE_NONE ? NULL : &events->launches[work->launch];
}

/* The end of the work that was launched in the time. */
static uint64_t end_of(const struct timeline_events *all, uint64_t from_ns, uint64_t to_ns)
{
	uint64_t end_ns = to_ns;

	for (uint32_t i = 0; i < all->nr_work; i++) {
		const struct timeline_launch *launch = launch_of(all, &all->work[i]);

		if (launch && launch->time_ns >= from_ns && launch->time_ns < to_ns &&
		    all->work[i].end_ns > end_ns)
			end_ns = all->work[i].end_ns;
	}
	return end_ns;
}

/* Whether nobody knows the piece's launch, or it came before the time. */
static bool is_launchless(const struct timeline_events *all, const struct timeline_work *work,
			  uint64_t from_ns)
{
	for (uint32_t i = 0; i < all->nr_work; i++) {
		const struct timeline_work *other = &all->work[i];

		if (other->process_id != work->process_id ||
		    other->correlation_id != work->correlation_id)
			continue;
		const struct timeline_launch *launch = launch_of(all, other);
		return work->kind != RECORD_GPU_SYNC && (!launch || launch->time_ns < from_ns);
	}
	return false;
}

static void check(struct strips_fixture *f, const struct timeline_events *all, uint64_t from_ns,
		  uint64_t to_ns, uint64_t *nr_later)
{
	const struct timeline_request range = {.from_ns = from_ns, .to_ns = to_ns};
	struct timeline_events events;
	uint32_t nr_launches = 0;
	uint64_t nr_launchless = 0, nr_with_launch = 0;

	assert_int_equal(timeline_events_read(f->source, &range, true, &events), 0);
	assert_int_equal(events.host_to_ns, to_ns);
	assert_int_equal(events.to_ns, end_of(all, from_ns, to_ns));
	for (uint32_t i = 0; i < all->nr_launches; i++)
		nr_launches +=
			all->launches[i].time_ns >= from_ns && all->launches[i].time_ns < to_ns;
	assert_int_equal(events.nr_launches, nr_launches);
	for (uint32_t i = 0; i < events.nr_launches; i++)
		assert_true(events.launches[i].time_ns < to_ns);
	for (uint32_t i = 0; i < events.nr_marks; i++)
		assert_true(events.marks[i].time_ns < to_ns);
	for (uint32_t i = 0; i < events.nr_work; i++) {
		assert_true(events.work[i].start_ns < events.to_ns);
		nr_launchless += is_launchless(all, &events.work[i], from_ns);
		nr_with_launch += events.work[i].kind != RECORD_GPU_SYNC &&
				  events.work[i].launch != TIMELINE_SOURCE_NONE;
		*nr_later += events.work[i].kind != RECORD_GPU_SYNC;
	}
	assert_int_equal(events.nr_launchless, nr_launchless);
	*nr_later -= nr_launchless + nr_with_launch;
	timeline_events_fini(&events);
}

static void a_time_ends_for_launches_before_it_ends_for_gpus(void **state)
{
	struct strips_fixture *f = *state;
	struct timeline_events all;
	uint64_t nr_later = 0;

	assert_int_equal(timeline_events_read(f->source, &TIMELINE_REQUEST_ALL, false, &all), 0);
	for (uint32_t i = 0; i < ROUNDS; i++) {
		const uint64_t from_ns = FIRST_NS + strips_fixture_some(f, SPAN_NS - 100);

		check(f, &all, from_ns, from_ns + 1 + strips_fixture_some(f, 2000), &nr_later);
	}
	/* Work that was launched behind the time was there, and did not count as work whose launch is missing. */
	assert_true(nr_later > 0);
	timeline_events_fini(&all);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_time_ends_for_launches_before_it_ends_for_gpus,
						strips_fixture_set_up, strips_fixture_tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
