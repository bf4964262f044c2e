#include "tests/support/cmocka_test.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "node-agent/base/capability_set.h"

#define BPF_TWO 0xc000000000ull /* CAP_PERFMON, CAP_BPF */

/* Of a thread, as the kernel says it. */
struct rights {
	unsigned long long permitted, effective, inheritable, ambient, no_new_privs;
};

static unsigned long long field(const char *text, const char *name, int base)
{
	const char *line = strstr(text, name);

	return line ? strtoull(line + strlen(name), NULL, base) : ~0ull;
}

static int read_rights(void *context)
{
	struct rights *rights = context;
	char text[8192];
	int fd = open("/proc/thread-self/status", O_RDONLY | O_CLOEXEC);
	ssize_t size = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);

	if (fd >= 0)
		close(fd);
	text[size > 0 ? size : 0] = '\0';
	*rights = (struct rights){
		.permitted = field(text, "\nCapPrm:", 16),
		.effective = field(text, "\nCapEff:", 16),
		.inheritable = field(text, "\nCapInh:", 16),
		.ambient = field(text, "\nCapAmb:", 16),
		.no_new_privs = field(text, "\nNoNewPrivs:", 10),
	};
	return 7;
}

static void *read_there(void *context)
{
	read_rights(context);
	return NULL;
}

static int start_reader(void *context)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, read_there, context))
		return -1;
	pthread_join(thread, NULL);
	return 0;
}

static void keeps(enum capability_role role, unsigned long long most)
{
	struct rights before, after, within;
	struct capability_set set;

	read_rights(&before);
	if (BPF_TWO & ~before.permitted)
		most |= 1ull << 21; /* CAP_SYS_ADMIN, in their place */
	capability_set_choose(role, &set);
	assert_int_equal(capability_set_call(&set, read_rights, &within), 7);
	read_rights(&after);
	assert_memory_equal(&before, &after, sizeof(before));
	assert_int_equal(within.permitted, before.permitted & most);
	assert_int_equal(within.effective, before.effective & most);
	assert_int_equal(within.inheritable, 0);
	assert_int_equal(within.ambient, 0);
	assert_int_equal(within.no_new_privs, 1);
}

static void a_users_agent_keeps_the_two_that_bpf_takes(void **state)
{
	(void)state;
	keeps(CAPABILITY_ROLE_USER, BPF_TWO);
}

static void a_sites_agent_keeps_what_other_users_files_take(void **state)
{
	(void)state;
	keeps(CAPABILITY_ROLE_SITE, 0x1c000080004);
}

static void a_sampler_of_counters_keeps_what_drivers_ask_for(void **state)
{
	(void)state;
	keeps(CAPABILITY_ROLE_COUNTERS, 0x4000200000); /* CAP_PERFMON, CAP_SYS_ADMIN */
}

static void threads_of_the_call_keep_no_more(void **state)
{
	struct capability_set none = {0};
	struct rights within;

	(void)state;
	assert_int_equal(capability_set_call(&none, start_reader, &within), 0);
	assert_int_equal(within.permitted, 0);
	assert_int_equal(within.effective, 0);
	assert_int_equal(within.no_new_privs, 1);
}

static int keep_all(void *context)
{
	const struct capability_set all = {~0ull};

	return capability_set_keep(&all) ? -1 : read_rights(context);
}

static void what_was_given_up_does_not_come_back(void **state)
{
	struct capability_set none = {0};
	struct rights within;

	(void)state;
	assert_int_equal(capability_set_call(&none, keep_all, &within), 7);
	assert_int_equal(within.permitted, 0);
	assert_int_equal(within.effective, 0);
}

static void a_set_is_named(void **state)
{
	const struct capability_set both = {0xc000000000}, none = {0}, all = {~0ull};
	char text[CAPABILITY_SET_TEXT_MAX];

	(void)state;
	assert_string_equal(capability_set_text(&both, text), "CAP_PERFMON, CAP_BPF");
	assert_string_equal(capability_set_text(&none, text), "no capabilities");
	assert_non_null(strstr(capability_set_text(&all, text), ", CAP_CHECKPOINT_RESTORE"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_users_agent_keeps_the_two_that_bpf_takes),
		cmocka_unit_test(a_sites_agent_keeps_what_other_users_files_take),
		cmocka_unit_test(a_sampler_of_counters_keeps_what_drivers_ask_for),
		cmocka_unit_test(threads_of_the_call_keep_no_more),
		cmocka_unit_test(what_was_given_up_does_not_come_back),
		cmocka_unit_test(a_set_is_named),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
