#include "node-agent/agent_absence.h"

#include "tests/support/cmocka_test.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/node-agent/guests/guest_fixture.h"
#include "node-agent/agent_state.h"
#include "node-agent/publish/batch_builder.h"
#include "node-agent/guests/guest_listener.h"
#include "node-agent/guests/guest_register.h"
#include "node-agent/guests/process_description.h"
#include "node-agent/publish/publisher.h"
#include "node-agent/guests/refused_guests.h"
#include "node-agent/run_table.h"

static struct agent agent;
static bool no_description, no_memory, no_sending;
static uint64_t nr_sent;
static char notice[256]; /* of the last description that got one */
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
		.refused = refused_guests_create(),
		.runs = run_table_create(),
	};
	no_description = no_memory = no_sending = false;
	nr_sent = 0;
	*notice = '\0';
	return agent.strings && agent.refused && agent.runs ? 0 : -1;
}

static int tear_down(void **state)
{
	(void)state;
	agent_absence_fini(&agent);
	fair_shares_forget(&agent.process_ids);
	run_table_destroy(agent.runs);
	refused_guests_destroy(agent.refused);
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
	agent.absences.total = AGENT_ABSENCES_MAX;
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
	agent.absences.total = AGENT_ABSENCES_MAX;
	say_absence();
	no_sending = true;
	say_absence();
	assert_int_equal(agent_absence_step(&agent, 1), 1 + AGENT_ABSENCE_PERIOD_NS);
	assert_int_equal(nr_sent, 0);
	no_sending = false;
	assert_int_equal(agent_absence_step(&agent, 1 + AGENT_ABSENCE_PERIOD_NS), UINT64_MAX);
	assert_int_equal(nr_sent, 1);
	assert_non_null(strstr(notice, "2 processes, which are not named"));
	agent_absence_end(&agent);
	assert_int_equal(nr_sent, 1);
}

static void count_left(void *context, const struct guest_register_entry *entry)
{
	(void)context;
	(void)entry;
	nr_left++;
}

static uint32_t left_in_register(void)
{
	nr_left = 0;
	guest_register_stored(agent.scope.reg, nr_sent);
	guest_register_each(agent.scope.reg, count_left, NULL);
	return nr_left;
}

static void a_guest_of_the_register_stays_until_its_count_is_stored(void **state)
{
	const struct guest_hello hello = guest_fixture_hello(1);
	char directory[] = "/tmp/agent-absence.XXXXXX", path[64];

	(void)state;
	assert_non_null(mkdtemp(directory));
	snprintf(path, sizeof(path), "%s/agent", directory);
	assert_int_equal(guest_register_open(path, &agent.scope.reg), 0);
	guest_register_add(agent.scope.reg, 0, getuid(), &hello);
	agent.absences.total = AGENT_ABSENCES_MAX;
	agent_absence_inherit(&agent);
	assert_int_equal(nr_sent, 0);
	assert_int_equal(left_in_register(), 1);
	agent_absence_end(&agent);
	assert_int_equal(nr_sent, 1);
	assert_int_equal(left_in_register(), 0);
	guest_register_close(agent.scope.reg);
	assert_int_equal(rmdir(directory), 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(processes_without_memory_to_describe_them_are_counted),
		TEST(a_process_without_memory_to_count_its_user_is_counted),
		TEST(a_count_that_cannot_be_sent_is_sent_a_period_later),
		TEST(a_guest_of_the_register_stays_until_its_count_is_stored),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
