/* Jobs whose nodes fold their own events share the aggregator's memory. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "aggregator/profile/agent_session.h"
#include "aggregator/service/job_dir.h"
#include "aggregator/service/job_table.h"
#include "aggregator/service/node_profiles.h"
#include "aggregator/service/receiver.h"
#include "tests/aggregator/pages/pages_text.h"

#define PAGES_MAX 20u

struct fixture {
	char folder[64];
	struct receiver *receiver;
	struct job_table *table;
};

static int set_up(void **state)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));
	char *error;

	strcpy(fixture->folder, "/tmp/flamegrid_room_XXXXXX");
	assert_non_null(mkdtemp(fixture->folder));
	assert_int_equal(receiver_create(NULL, &fixture->receiver), 0);
	const struct job_table_options options = {.directory = fixture->folder,
						  .pages_max = PAGES_MAX,
						  .receiver = fixture->receiver};
	assert_int_equal(job_table_create(&options, 1, &fixture->table, &error), 0);
	*state = fixture;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *fixture = *state;
	char command[96];

	job_table_destroy(fixture->table);
	receiver_destroy(fixture->receiver);
	snprintf(command, sizeof(command), "rm -r %s", fixture->folder);
	int status = system(command);
	free(fixture);
	return status;
}

static struct open_profile *admit(const struct fixture *fixture, const char *user, const char *key)
{
	const struct peer peer = {.heard_ns = 1};
	const struct message_hello hello = {.job = {.user = {user, (uint32_t)strlen(user)},
						    .key = {key, (uint32_t)strlen(key)},
						    .nr_nodes = 1,
						    .world_size = 1}};
	struct message_welcome welcome = {.version = 1};
	struct open_profile *profile;

	assert_int_equal(job_table_admit(fixture->table, &peer, &hello, &welcome, &profile), 0);
	return profile;
}

/* A node of the job sends a page with this text. */
static void send_page(const struct open_profile *profile, const char *text)
{
	const struct agent_session *superseded;
	struct pages_text pages;
	struct message message = {.type = MESSAGE_PAGES};
	const char *reason;
	bool is_full;
	struct agent_session *session = node_profiles_session(
		profile->nodes, (const uint8_t[WIRE_EPOCH_SIZE]){1}, &is_full);

	pages_text_make(&pages, 7, 1, text);
	message.pages = pages.pages;
	message.pages.seq = 1;
	assert_int_equal(
		node_profiles_apply(profile->nodes, session, &message, 1, &reason, &superseded), 0);
}

static void a_user_has_half_of_it(void **state)
{
	const struct fixture *fixture = *state;
	const struct open_profile *first = admit(fixture, "alice", "1"),
				  *second = admit(fixture, "alice", "2"),
				  *other = admit(fixture, "bob", "1");

	assert_true(job_table_has_room(fixture->table, first, PAGES_MAX / 2));
	assert_false(job_table_has_room(fixture->table, first, PAGES_MAX / 2 + 1));
	send_page(first, "0.0=abcdefgh |0:1");
	assert_true(job_table_has_room(fixture->table, first, 2));
	assert_false(job_table_has_room(fixture->table, first, 3));
	assert_false(job_table_has_room(fixture->table, second, 3));
	assert_true(job_table_has_room(fixture->table, other, PAGES_MAX / 2));
}

static void all_users_have_all_of_it(void **state)
{
	const struct fixture *fixture = *state;
	const struct open_profile *first = admit(fixture, "alice", "1"),
				  *second = admit(fixture, "bob", "1"),
				  *third = admit(fixture, "carol", "1");

	send_page(first, "0.0=abcdefgh |0:1");
	send_page(second, "0.0=abcdefgh |0:1");
	assert_true(job_table_has_room(fixture->table, third, 4));
	assert_false(job_table_has_room(fixture->table, third, 5));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_user_has_half_of_it, set_up, tear_down),
		cmocka_unit_test_setup_teardown(all_users_have_all_of_it, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
