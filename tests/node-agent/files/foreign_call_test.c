#include "tests/support/cmocka_test.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "node-agent/files/foreign_call.h"

#define LIMIT_MS 40u
#define DEVICE   77u

/* Sleeps in read() until something is written, as in a file whose server has stopped. */
struct slow_call {
	struct foreign_call call;
	int gate, returned_fd;
	int runs;
};

static const struct foreign_patience brief = {.limit_ms = LIMIT_MS};

static void run_slow(struct foreign_call *call)
{
	struct slow_call *slow = (struct slow_call *)call;
	uint64_t counter;

	assert_int_equal(read(slow->gate, &counter, sizeof(counter)), sizeof(counter));
	slow->runs++;
}

static void run_at_once(struct foreign_call *call)
{
	((struct slow_call *)call)->runs++;
}

static void say_returned(struct foreign_call *call)
{
	uint64_t one = 1;

	assert_int_equal(write(((struct slow_call *)call)->returned_fd, &one, sizeof(one)),
			 sizeof(one));
}

static struct slow_call make_slow(uint64_t device)
{
	return (struct slow_call){.call = {.run = run_slow,
					   .returned = say_returned,
					   .device = device,
					   .path = "/net/model\n.so"},
				  .gate = eventfd(0, EFD_CLOEXEC),
				  .returned_fd = eventfd(0, EFD_CLOEXEC)};
}

/* The file system answers; waits until the call has returned. */
static void let_go(struct slow_call *slow)
{
	uint64_t counter = 1;

	assert_int_equal(write(slow->gate, &counter, sizeof(counter)), sizeof(counter));
	assert_int_equal(read(slow->returned_fd, &counter, sizeof(counter)), sizeof(counter));
	assert_int_equal(slow->runs, 1);
	close(slow->gate);
	close(slow->returned_fd);
}

static void a_call_that_returns_belongs_to_its_caller(void **state)
{
	struct slow_call call = {.call = {.run = run_at_once}};

	(void)state;
	for (int i = 1; i <= 100; i++) {
		assert_int_equal(foreign_call_make(&call.call, &brief), 0);
		assert_int_equal(call.runs, i);
	}
	assert_int_equal(foreign_calls_left(), 0);
}

static void a_call_that_hangs_is_left_behind_and_named_once(void **state)
{
	struct slow_call slow = make_slow(DEVICE), other = {.call = {.run = run_at_once}};
	char line[FOREIGN_CALL_LINE_MAX];

	(void)state;
	assert_false(foreign_calls_take_line(line));
	assert_int_equal(foreign_call_make(&slow.call, &brief), -ETIMEDOUT);
	assert_int_equal(foreign_calls_left(), 1);
	assert_true(foreign_calls_take_line(line));
	assert_string_equal(line, "/net/model?.so: its file system does not answer; files there "
				  "have no names until it does");
	assert_false(foreign_calls_take_line(line));

	/* Its device is not asked again, others are. */
	other.call.device = DEVICE;
	assert_int_equal(foreign_call_make(&other.call, &brief), -EHOSTDOWN);
	other.call.device = DEVICE + 1;
	assert_int_equal(foreign_call_make(&other.call, &brief), 0);
	other.call.device = 0;
	assert_int_equal(foreign_call_make(&other.call, &brief), 0);

	let_go(&slow);
	assert_int_equal(foreign_calls_left(), 0);
	other.call.device = DEVICE;
	assert_int_equal(foreign_call_make(&other.call, &brief), 0);
	assert_int_equal(other.runs, 3);
}

static void with_too_many_left_behind_no_call_is_made(void **state)
{
	struct slow_call slow[FOREIGN_CALLS_LEFT_MAX], other = {.call = {.run = run_at_once}};

	(void)state;
	for (uint32_t i = 0; i < FOREIGN_CALLS_LEFT_MAX; i++) {
		slow[i] = make_slow(0);
		assert_int_equal(foreign_call_make(&slow[i].call, &brief), -ETIMEDOUT);
	}
	assert_int_equal(foreign_call_make(&other.call, &brief), -EHOSTDOWN);
	let_go(&slow[3]);
	assert_int_equal(foreign_call_make(&other.call, &brief), 0);
	for (uint32_t i = 0; i < FOREIGN_CALLS_LEFT_MAX; i++)
		if (i != 3)
			let_go(&slow[i]);
	assert_int_equal(foreign_calls_left(), 0);
}

static void a_user_leaves_only_a_share_of_the_hands_behind(void **state)
{
	struct slow_call slow[FOREIGN_CALLS_LEFT_MAX], other = {.call = {.run = run_at_once}};
	const uid_t hostile = geteuid() + 1;
	uint32_t nr = 0;

	(void)state;
	for (int r = -ETIMEDOUT; r == -ETIMEDOUT; nr += r == -ETIMEDOUT) {
		slow[nr] = make_slow(nr + 1);
		slow[nr].call.user = hostile;
		r = foreign_call_make(&slow[nr].call, &brief);
	}
	close(slow[nr].gate);
	close(slow[nr].returned_fd);
	assert_int_equal(nr, FOREIGN_CALLS_LEFT_MAX / 2);

	/* Others go on, also on devices of these numbers. */
	other.call.user = hostile + 1;
	other.call.device = 1;
	assert_int_equal(foreign_call_make(&other.call, &brief), 0);
	other.call.user = geteuid();
	assert_int_equal(foreign_call_make(&other.call, &brief), 0);
	other.call.user = hostile;
	assert_int_equal(foreign_call_make(&other.call, &brief), -EHOSTDOWN);
	while (nr > 0)
		let_go(&slow[--nr]);
	assert_int_equal(foreign_call_make(&other.call, &brief), 0);
}

/* One of many calls that are all made before the first of them is left behind. */
struct joint_call {
	struct slow_call slow; /* first */
	pthread_barrier_t *made;
	bool has_met;
	pthread_t thread;
	int result;
};

static bool meet_others(void *context, bool asleep)
{
	struct joint_call *joint = context;

	(void)asleep;
	if (!joint->has_met)
		pthread_barrier_wait(joint->made);
	joint->has_met = true;
	return true;
}

static void *make_jointly(void *argument)
{
	struct joint_call *joint = argument;
	const struct foreign_patience patience = {LIMIT_MS, meet_others, joint, 0};

	joint->result = foreign_call_make(&joint->slow.call, &patience);
	return NULL;
}

/* As many users, and more, have called at once as may leave a call behind. */
static void users_together_leave_root_its_hands(void **state)
{
	enum { USERS = FOREIGN_CALLS_LEFT_MAX + 4 };
	struct slow_call other = {.call = {.run = run_at_once}};
	static struct joint_call joint[USERS];
	pthread_barrier_t made;

	(void)state;
	pthread_barrier_init(&made, NULL, USERS);
	for (uint32_t i = 0; i < USERS; i++) {
		joint[i] = (struct joint_call){.slow = make_slow(0), .made = &made};
		joint[i].slow.call.user = geteuid() + 1 + i;
		assert_int_equal(pthread_create(&joint[i].thread, NULL, make_jointly, &joint[i]),
				 0);
	}
	for (uint32_t i = 0; i < USERS; i++) {
		assert_int_equal(pthread_join(joint[i].thread, NULL), 0);
		assert_int_equal(joint[i].result, -ETIMEDOUT);
	}
	assert_int_equal(foreign_calls_left(), USERS);
	other.call.user = geteuid() + 1 + USERS;
	assert_int_equal(foreign_call_make(&other.call, &brief), -EHOSTDOWN);
	other.call.user = geteuid();
	assert_int_equal(foreign_call_make(&other.call, &brief), 0);
	for (uint32_t i = 0; i < USERS; i++)
		let_go(&joint[i].slow);
	pthread_barrier_destroy(&made);
}

/* Reads until it is told to stop. */
#define DROPS_MAX 500u

struct dripping_call {
	struct slow_call slow; /* first */
	unsigned int looks;
};

static void run_dripping(struct foreign_call *call)
{
	struct slow_call *slow = (struct slow_call *)call;
	uint64_t drop = 0;

	while (drop < DROPS_MAX)
		assert_int_equal(read(slow->gate, &drop, sizeof(drop)), sizeof(drop));
	slow->runs++;
}

/* Between two drops there are looks that find the hand asleep. */
static bool drip(void *context, bool asleep)
{
	struct dripping_call *dripping = context;
	uint64_t drop = dripping->looks++ < DROPS_MAX ? 1 : DROPS_MAX;

	(void)asleep;
	if (dripping->looks % 3 == 0)
		assert_int_equal(write(dripping->slow.gate, &drop, sizeof(drop)), sizeof(drop));
	return true;
}

static void a_file_system_that_answers_bit_by_bit_is_left(void **state)
{
	struct dripping_call dripping = {.slow = make_slow(DEVICE)};
	const struct foreign_patience patience = {3 * LIMIT_MS, drip, &dripping, 6 * LIMIT_MS};
	uint64_t last = DROPS_MAX;

	(void)state;
	dripping.slow.call.run = run_dripping;
	assert_int_equal(foreign_call_make(&dripping.slow.call, &patience), -ETIMEDOUT);
	assert_int_equal(foreign_calls_left(), 1);
	assert_int_equal(write(dripping.slow.gate, &last, sizeof(last)), sizeof(last));
	assert_int_equal(read(dripping.slow.returned_fd, &last, sizeof(last)), sizeof(last));
	close(dripping.slow.gate);
	close(dripping.slow.returned_fd);
}

/* Works on until it is told that its caller has looked at it as often as would be enough to leave one that sleeps. */
struct busy_call {
	struct foreign_call call;
	atomic_uint looks;
};

static void run_busy(struct foreign_call *call)
{
	while (((struct busy_call *)call)->looks < 20)
		;
}

static bool count_look(void *context, bool asleep)
{
	(void)asleep;
	((struct busy_call *)context)->looks++;
	return true;
}

static void a_hand_that_works_is_waited_for(void **state)
{
	struct busy_call busy = {.call = {.run = run_busy}};
	const struct foreign_patience patience = {LIMIT_MS, count_look, &busy, 10 * LIMIT_MS};

	(void)state;
	assert_int_equal(foreign_call_make(&busy.call, &patience), 0);
	assert_int_equal(foreign_calls_left(), 0);
}

static bool is_not_wanted(void *context, bool asleep)
{
	(void)context;
	(void)asleep;
	return false;
}

static void a_call_that_is_not_wanted_any_more_is_left_sooner(void **state)
{
	struct slow_call slow = make_slow(DEVICE);
	const struct foreign_patience hour = {.limit_ms = 3600000};
	const struct foreign_patience little = {400, is_not_wanted, NULL, 0};
	struct slow_call other = {.call = {.run = run_at_once}};

	(void)state;
	assert_int_equal(foreign_call_make(&slow.call, &little), -ETIMEDOUT);
	assert_int_equal(foreign_call_make(&other.call, &hour), 0);
	let_go(&slow);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_call_that_returns_belongs_to_its_caller),
		cmocka_unit_test(a_call_that_hangs_is_left_behind_and_named_once),
		cmocka_unit_test(with_too_many_left_behind_no_call_is_made),
		cmocka_unit_test(a_user_leaves_only_a_share_of_the_hands_behind),
		cmocka_unit_test(users_together_leave_root_its_hands),
		cmocka_unit_test(a_file_system_that_answers_bit_by_bit_is_left),
		cmocka_unit_test(a_hand_that_works_is_waited_for),
		cmocka_unit_test(a_call_that_is_not_wanted_any_more_is_left_sooner),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
