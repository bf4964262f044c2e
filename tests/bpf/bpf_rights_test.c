#include "tests/support/cmocka_test.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "node-agent/kernel/bpf_rights.h"

#define LOST "no CPU samples"

static void says(struct bpf_rights rights, const char *missing)
{
	char line[BPF_RIGHTS_LINE_MAX];

	assert_int_equal(bpf_rights_missing(&rights, LOST, line), missing != NULL);
	if (missing) {
		assert_non_null(strstr(line, missing));
		assert_non_null(strstr(line, LOST));
		assert_null(strchr(line, '\n'));
	} else {
		assert_string_equal(line, "");
	}
}

static void what_is_missing_is_named(void **state)
{
	const struct bpf_rights all = {.may_bpf = true, .may_perfmon = true, .has_types = true};
	struct bpf_rights rights = all;

	(void)state;
	says(all, NULL);
	rights.may_bpf = false;
	says(rights, "CAP_BPF");
	rights = all;
	rights.may_perfmon = false;
	says(rights, "CAP_PERFMON");
	rights = all;
	rights.has_types = false;
	says(rights, "/sys/kernel/btf/vmlinux");
	rights = all;
	rights.is_locked = true;
	says(rights, "lockdown");
}

static void write_file(const char *root, const char *path, const char *text)
{
	char full[256];

	snprintf(full, sizeof(full), "%s/%s", root, path);
	for (char *slash = strchr(full + strlen(root) + 1, '/'); slash;
	     slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		mkdir(full, 0700);
		*slash = '/';
	}
	FILE *file = fopen(full, "we");
	assert_non_null(file);
	fputs(text, file);
	assert_int_equal(fclose(file), 0);
}

static void the_kernel_is_asked(void **state)
{
	char root[] = "/tmp/bpf_rights_test.XXXXXX", command[64];
	struct bpf_rights rights;

	(void)state;
	assert_non_null(mkdtemp(root));
	bpf_rights_read(&rights, root);
	assert_false(rights.may_bpf || rights.may_perfmon || rights.has_types || rights.is_locked);

	write_file(root, "proc/self/status",
		   "Name:\tx\nCapEff:\t000000c000000000\nNoNewPrivs:\t0\n");
	write_file(root, "sys/kernel/btf/vmlinux", "x");
	write_file(root, "sys/kernel/security/lockdown", "[none] integrity confidentiality\n");
	bpf_rights_read(&rights, root);
	assert_true(rights.may_bpf && rights.may_perfmon && rights.has_types && !rights.is_locked);

	/* Before these were on their own. */
	write_file(root, "proc/self/status", "Name:\tx\nCapEff:\t0000000000200000\n");
	write_file(root, "sys/kernel/security/lockdown", "none integrity [confidentiality]\n");
	bpf_rights_read(&rights, root);
	assert_true(rights.may_bpf && rights.may_perfmon && rights.is_locked);

	write_file(root, "proc/self/status", "Name:\tx\nCapEff:\t0000008000000000\n");
	bpf_rights_read(&rights, root);
	assert_true(rights.may_bpf && !rights.may_perfmon);
	snprintf(command, sizeof(command), "rm -r %s", root);
	assert_int_equal(system(command), 0);
}

static void errors_of_the_kernel_name_step_and_loss(void **state)
{
	char line[BPF_RIGHTS_LINE_MAX];

	(void)state;
	bpf_rights_explain("perf_event_open", -EACCES, LOST, line);
	assert_non_null(strstr(line, "perf_event_open: "));
	assert_non_null(strstr(line, "kernel.perf_event_paranoid"));
	assert_non_null(strstr(line, LOST));
	bpf_rights_explain("BPF: the ring buffer", -ENOMEM, LOST, line);
	assert_non_null(strstr(line, "BPF: the ring buffer: "));
	assert_non_null(strstr(line, LOST));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_missing_is_named),
		cmocka_unit_test(the_kernel_is_asked),
		cmocka_unit_test(errors_of_the_kernel_name_step_and_loss),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
