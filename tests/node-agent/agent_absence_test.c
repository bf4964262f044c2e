#include "node-agent/agent_absence.h"

#include "tests/support/cmocka_test.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "node-agent/agent_state.h"
#include "node-agent/agent_unrecorded.h"
#include "node-agent/files/proc_file.h"
#include "node-agent/guests/guest_listener.h"
#include "node-agent/guests/guest_offers.h"
#include "node-agent/guests/guest_register.h"
#include "node-agent/guests/process_description.h"
#include "node-agent/guests/refused_guests.h"
#include "node-agent/publish/batch_builder.h"
#include "node-agent/publish/publisher.h"
#include "node-agent/run_table.h"
#include "proto/offer_name.h"
#include "tests/node-agent/guests/guest_fixture.h"

static struct agent agent;
static bool no_description, no_memory, no_sending;
static uint64_t nr_sent;
static struct message_process last_sent; /* what it points to is gone */
static char notice[256];                 /* of the last description that got one */
static uint32_t nr_left;

struct process_description *__real_process_description_create(uint32_t process_id, pid_t pid,
							      const struct guest_hello *hello,
							      struct string_dictionary *strings,
							      const struct device_list *devices);
struct process_description *__wrap_process_description_create(uint32_t process_id, pid_t pid,
							      const struct guest_hello *hello,
							      struct string_dictionary *strings,
							      const struct device_list *devices);
struct process_description *__wrap_process_description_create(uint32_t process_id, pid_t pid,
							      const struct guest_hello *hello,
							      struct string_dictionary *strings,
							      const struct device_list *devices)
{
	return no_description ? NULL
			      : __real_process_description_create(process_id, pid, hello, strings,
								  devices);
}

int __wrap_process_description_add_notice(struct process_description *description, const char *text,
					  size_t size);
int __wrap_process_description_add_notice(struct process_description *description, const char *text,
					  size_t size)
{
	(void)description;
	snprintf(notice, sizeof(notice), "%.*s", (int)size, text);
	return 1;
}

void *__real_malloc(size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_malloc(size_t size)
{
	return no_memory ? NULL : __real_malloc(size);
}

int __wrap_batch_builder_flush_dictionaries(struct batch_builder *builder);
int __wrap_batch_builder_flush_dictionaries(struct batch_builder *builder)
{
	(void)builder;
	return 0;
}

int __wrap_publisher_send(struct publisher *publisher, struct message *message);
int __wrap_publisher_send(struct publisher *publisher, struct message *message)
{
	(void)publisher;
	assert_int_equal(message->type, MESSAGE_PROCESS);
	if (no_sending)
		return -ENOMEM;
	nr_sent++;
	last_sent = message->process;
	return 0;
}

uint64_t __wrap_publisher_last_seq(const struct publisher *publisher);
uint64_t __wrap_publisher_last_seq(const struct publisher *publisher)
{
	(void)publisher;
	return nr_sent;
}

static int set_up(void **state)
{
	(void)state;
	agent = (struct agent){
		.strings = string_dictionary_create(),
		.absence.refused = refused_guests_create(),
		.runs = run_table_create(),
	};
	no_description = no_memory = no_sending = false;
	nr_sent = 0;
	*notice = '\0';
	return agent.strings && agent.absence.refused && agent.runs ? 0 : -1;
}

static int tear_down(void **state)
{
	(void)state;
	agent_unrecorded_fini(&agent.unrecorded);
	fair_shares_forget(&agent.process_ids);
	run_table_destroy(agent.runs);
	refused_guests_destroy(agent.absence.refused);
	string_dictionary_destroy(agent.strings);
	return 0;
}

static void say_absence(void)
{
	const struct guest_absence absence = {.error = ENOMEM};

	agent_absence_heard(&agent, 0, getuid(), &absence);
}

static void processes_without_memory_to_describe_them_are_counted(void **state)
{
	const struct guest_hello hello = guest_fixture_hello(1);
	const struct guest_arrival arrival = {.uid = getuid(), .hello = &hello};

	(void)state;
	no_description = true;
	say_absence();
	say_absence();
	for (int asks = 0; asks < 2; asks++) /* one guest */
		agent_absence_answered(&agent, &arrival, HANDSHAKE_REFUSED_FULL);
	no_description = false;
	agent_absence_end(&agent);
	assert_int_equal(nr_sent, 1);
	assert_non_null(strstr(notice, "not recorded: 3 processes, which are not named"));
}

static void a_process_without_memory_to_count_its_user_is_counted(void **state)
{
	(void)state;
	agent.unrecorded.named.total = AGENT_UNRECORDED_MAX;
	say_absence(); /* the first keeps its description until the count is written */
	agent_absence_end(&agent);
	assert_non_null(strstr(notice, "this process and 0 others of its user"));
	no_memory = true;
	say_absence();
	no_memory = false;
	agent_absence_end(&agent);
	assert_int_equal(nr_sent, 2);
	assert_non_null(strstr(notice, "1 processes, which are not named"));
}

static void a_count_that_cannot_be_sent_is_sent_a_period_later(void **state)
{
	(void)state;
	agent.unrecorded.named.total = AGENT_UNRECORDED_MAX;
	say_absence();
	no_sending = true;
	say_absence();
	assert_int_equal(agent_absence_step(&agent, 1), 1 + AGENT_UNRECORDED_PERIOD_NS);
	assert_int_equal(nr_sent, 0);
	no_sending = false;
	assert_int_equal(agent_absence_step(&agent, 1 + AGENT_UNRECORDED_PERIOD_NS), UINT64_MAX);
	assert_int_equal(nr_sent, 1);
	assert_non_null(strstr(notice, "2 processes, which are not named"));
	agent_absence_end(&agent);
	assert_int_equal(nr_sent, 1);
}

/* ---- with a register ---- */

static char directory[32], path[64];

static int set_up_register(void **state)
{
	if (set_up(state))
		return -1;
	strcpy(directory, "/tmp/agent-absence.XXXXXX");
	if (!mkdtemp(directory))
		return -1;
	snprintf(path, sizeof(path), "%s/agent", directory);
	return guest_register_open(path, &agent.scope.reg);
}

/* Nobody is left in the register, and no offer. */
static int tear_down_register(void **state)
{
	guest_offers_close(agent.absence.offers);
	guest_register_close(agent.scope.reg);
	return tear_down(state) | rmdir(directory);
}

static void count_left(void *context, const struct guest_register_entry *entry)
{
	(void)context;
	(void)entry;
	nr_left++;
}

/* Whom the next agent would tell of if this one were killed now. */
static uint32_t left_to_the_next(void)
{
	nr_left = 0;
	guest_register_each(agent.scope.reg, count_left, NULL);
	return nr_left;
}

static void store_all(void)
{
	guest_register_stored(agent.scope.reg, nr_sent);
}

static void say_absence_of(pid_t pid, uint8_t instance)
{
	struct guest_absence absence = {.error = ENOMEM};

	memset(absence.instance, instance, sizeof(absence.instance));
	agent_absence_heard(&agent, pid, getuid(), &absence);
}

static struct guest_hello hello_of(uint8_t instance)
{
	struct guest_hello hello = guest_fixture_hello(instance);

	memset(hello.instance, instance, sizeof(hello.instance));
	return hello;
}

static void a_guest_of_the_register_stays_until_its_count_is_stored(void **state)
{
	const struct guest_hello hello = guest_fixture_hello(1);

	(void)state;
	assert_int_equal(guest_register_add(agent.scope.reg, 0, getuid(), &hello), 0);
	agent.unrecorded.named.total = AGENT_UNRECORDED_MAX;
	agent_absence_inherit(&agent);
	assert_int_equal(nr_sent, 0);
	store_all();
	assert_int_equal(left_to_the_next(), 1);
	agent_absence_end(&agent);
	assert_int_equal(nr_sent, 1);
	store_all();
	assert_int_equal(left_to_the_next(), 0);
}

/* In a container the guest knows itself by another pid, and perhaps by another start. */
static void a_guest_that_has_ended_is_told_of_as_the_agent_before_saw_it(void **state)
{
	struct guest_hello hello = guest_fixture_hello(1);
	pid_t pid = fork();

	(void)state;
	if (pid == 0) {
		pause();
		_exit(0);
	}
	assert_true(pid > 0);
	const uint64_t start_ticks = proc_file_start_ticks(pid);
	hello.pid = 7;
	hello.start_ticks = 1;
	assert_int_equal(guest_register_add(agent.scope.reg, pid, getuid(), &hello), 0);
	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	agent_absence_inherit(&agent);
	assert_int_equal(nr_sent, 1);
	assert_int_equal(last_sent.pid, pid);
	assert_int_equal(last_sent.start_ticks, start_ticks);
	assert_memory_equal(last_sent.instance, hello.instance, sizeof(hello.instance));
	store_all();
}

static void a_process_that_says_why_is_kept_until_that_is_stored(void **state)
{
	(void)state;
	say_absence_of(getpid(), 1);
	assert_int_equal(nr_sent, 1);
	assert_int_equal(left_to_the_next(), 1);
	store_all();
	assert_int_equal(left_to_the_next(), 0);
}

static void processes_that_are_only_counted_are_kept_until_that_is_stored(void **state)
{
	(void)state;
	agent.unrecorded.named.total = AGENT_UNRECORDED_MAX;
	say_absence_of(getpid(), 1);
	say_absence_of(getpid(), 2);
	store_all();
	assert_int_equal(left_to_the_next(), 2);
	agent_absence_end(&agent);
	assert_int_equal(nr_sent, 1);
	assert_int_equal(left_to_the_next(), 2);
	store_all();
	assert_int_equal(left_to_the_next(), 0);
}

static void a_refused_guest_is_kept_until_its_message_is_stored(void **state)
{
	const struct guest_hello hello = hello_of(1);
	const struct guest_arrival arrival = {.uid = getuid(), .hello = &hello};

	(void)state;
	agent_absence_answered(&agent, &arrival, HANDSHAKE_REFUSED_FULL);
	agent_absence_end(&agent);
	assert_int_equal(nr_sent, 1);
	assert_int_equal(left_to_the_next(), 1);
	store_all();
	assert_int_equal(left_to_the_next(), 0);
}

static void a_process_that_tells_two_agents_is_told_of_once(void **state)
{
	const struct guest_hello living = hello_of(1), gone = hello_of(2);

	(void)state;
	assert_int_equal(guest_register_add(agent.scope.reg, getpid(), getuid(), &living), 0);
	assert_int_equal(guest_register_add(agent.scope.reg, 0, getuid(), &gone), 0);
	agent_absence_inherit(&agent);
	assert_int_equal(nr_sent, 1);
	say_absence_of(getpid(), 1);
	assert_int_equal(nr_sent, 2);
	say_absence_of(0, 2);
	assert_int_equal(nr_sent, 2);
	agent_absence_end(&agent);
	assert_int_equal(nr_sent, 2);
	store_all();
	assert_int_equal(left_to_the_next(), 0);
}

/* The user has no process id left, or there is no memory. */
static void processes_that_nothing_names_are_told_of_once(void **state)
{
	(void)state;
	agent.unrecorded.named.total = AGENT_UNRECORDED_MAX;
	say_absence_of(getpid(), 1);
	no_description = true;
	agent.unrecorded.named.total = 0;
	say_absence_of(getpid(), 2);
	no_description = false;
	no_sending = true;
	agent_absence_step(&agent, 1);
	assert_int_equal(nr_sent, 0);
	store_all();
	assert_int_equal(left_to_the_next(), 2);
	no_sending = false;
	agent_absence_step(&agent, 1 + AGENT_UNRECORDED_PERIOD_NS);
	assert_int_equal(nr_sent, 1);
	assert_non_null(strstr(notice, "2 processes, which are not named"));
	assert_int_equal(left_to_the_next(), 2);
	store_all();
	assert_int_equal(left_to_the_next(), 0);
}

/* ---- with offers ---- */

/* Fills the register, but for `places`. */
static void fill_register(uint32_t places)
{
	for (uint32_t i = places; i < GUEST_REGISTER_MAX; i++) {
		struct guest_hello hello = hello_of(0);

		memcpy(hello.instance, &i, sizeof(i));
		assert_int_equal(guest_register_add(agent.scope.reg, 0, geteuid(), &hello), 0);
		guest_register_told(agent.scope.reg, geteuid(), hello.instance, 1);
	}
}

static void leave_offer(uint8_t instance)
{
	const struct guest_hello hello = hello_of(instance);
	char name[OFFER_NAME_SIZE], file[192];

	offer_name(&hello, name);
	snprintf(file, sizeof(file), "%s" HANDSHAKE_OFFERS "/%s", path, name);
	int fd = open(file, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	close(fd);
}

/* An agent before us left an offer. */
static void inherit_offer(void)
{
	struct guest_offers *killed;
	struct stat begin, now;

	assert_int_equal(guest_offers_open(path, false, &killed), 0);
	leave_offer(1);
	guest_offers_close(killed);
	/* Files are dated by this clock: ours is later. */
	assert_int_equal(chmod(directory, 0700) | stat(directory, &begin), 0);
	do
		assert_int_equal(chmod(directory, 0700) | stat(directory, &now), 0);
	while (now.st_ctim.tv_sec == begin.st_ctim.tv_sec &&
	       now.st_ctim.tv_nsec == begin.st_ctim.tv_nsec);
	assert_int_equal(guest_offers_open(path, false, &agent.absence.offers), 0);
}

static void an_offer_stays_until_the_register_has_a_place(void **state)
{
	(void)state;
	inherit_offer();
	fill_register(0);
	assert_int_equal(agent_absence_step(&agent, 1), 1 + AGENT_ABSENCE_PLACE_NS);
	assert_int_equal(nr_sent, 0);
	guest_register_stored(agent.scope.reg, 1);
	assert_int_equal(left_to_the_next(), 0);
	assert_int_equal(agent_absence_step(&agent, 1 + AGENT_ABSENCE_PLACE_NS), UINT64_MAX);
	assert_int_equal(nr_sent, 1);
	assert_int_equal(left_to_the_next(), 1);
	store_all();
}

static void an_agent_that_ends_tells_of_offers_without_a_place(void **state)
{
	(void)state;
	inherit_offer();
	fill_register(0);
	agent_absence_step(&agent, 1);
	assert_int_equal(nr_sent, 0);
	agent.end.phase = PHASE_DRAINING;
	agent_absence_end(&agent);
	assert_int_equal(nr_sent, 1);
	store_all();
}

static void an_agent_that_ends_tells_of_offers_that_never_reached_it(void **state)
{
	(void)state;
	assert_int_equal(guest_offers_open(path, false, &agent.absence.offers), 0);
	leave_offer(1);
	assert_int_equal(agent_absence_step(&agent, 1), UINT64_MAX);
	assert_int_equal(nr_sent, 0);
	agent.end.phase = PHASE_DRAINING;
	agent_absence_end(&agent);
	assert_int_equal(nr_sent, 1);
	store_all();
}

static void an_agent_that_ends_before_it_looked_at_all_offers_leaves_some(void **state)
{
	char file[192];

	(void)state;
	assert_int_equal(guest_offers_open(path, false, &agent.absence.offers), 0);
	for (uint32_t i = 0; i < AGENT_ABSENCE_OFFERS_END; i++) {
		snprintf(file, sizeof(file), "%s" HANDSHAKE_OFFERS "/%u", path, i);
		int fd = open(file, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
		assert_true(fd >= 0);
		close(fd);
	}
	agent.end.phase = PHASE_DRAINING;
	agent_absence_end(&agent);
	assert_true(agent.end.leaves_guests);
	agent.end.leaves_guests = false;
	agent_absence_end(&agent);
	assert_false(agent.end.leaves_guests);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
#define REGISTER_TEST(name)                                                                        \
	cmocka_unit_test_setup_teardown(name, set_up_register, tear_down_register)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(processes_without_memory_to_describe_them_are_counted),
		TEST(a_process_without_memory_to_count_its_user_is_counted),
		TEST(a_count_that_cannot_be_sent_is_sent_a_period_later),
		REGISTER_TEST(a_guest_of_the_register_stays_until_its_count_is_stored),
		REGISTER_TEST(a_guest_that_has_ended_is_told_of_as_the_agent_before_saw_it),
		REGISTER_TEST(a_process_that_says_why_is_kept_until_that_is_stored),
		REGISTER_TEST(processes_that_are_only_counted_are_kept_until_that_is_stored),
		REGISTER_TEST(a_refused_guest_is_kept_until_its_message_is_stored),
		REGISTER_TEST(a_process_that_tells_two_agents_is_told_of_once),
		REGISTER_TEST(processes_that_nothing_names_are_told_of_once),
		REGISTER_TEST(an_offer_stays_until_the_register_has_a_place),
		REGISTER_TEST(an_agent_that_ends_tells_of_offers_without_a_place),
		REGISTER_TEST(an_agent_that_ends_tells_of_offers_that_never_reached_it),
		REGISTER_TEST(an_agent_that_ends_before_it_looked_at_all_offers_leaves_some),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
