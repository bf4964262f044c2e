#include "inject/base/memory_limits.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <cmocka.h>

#define MIB (1ull << 20)

/* A folder that stands for a machine. */
static char root[64];

static void write_file(const char *path, const char *text)
{
	char whole[512];
	FILE *file;

	snprintf(whole, sizeof(whole), "%s%s", root, path);
	for (char *at = strchr(whole + strlen(root) + 1, '/'); at; at = strchr(at + 1, '/')) {
		*at = '\0';
		assert_true(mkdir(whole, 0700) == 0 || errno == EEXIST);
		*at = '/';
	}
	file = fopen(whole, "w");
	assert_non_null(file);
	assert_true(fputs(text, file) >= 0);
	fclose(file);
}

static int set_up(void **state)
{
	(void)state;
	strcpy(root, "/tmp/memory_limits_test_XXXXXX");
	return mkdtemp(root) ? 0 : -1;
}

static int tear_down(void **state)
{
	char command[128];

	(void)state;
	snprintf(command, sizeof(command), "rm -rf '%s'", root);
	return system(command);
}

static uint64_t cgroup_limit(void)
{
	struct memory_limits limits;

	memory_limits_read(root, &limits);
	return limits.cgroup;
}

#define VERSION_2 "30 24 0:27 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw,nsdelegate\n"

static void least_limit_up_to_the_root_counts(void **state)
{
	(void)state;
	write_file("/proc/self/cgroup", "0::/slice/job/step\n");
	write_file("/proc/self/mountinfo", "22 1 8:1 / / rw - ext4 /dev/sda1 rw\n" VERSION_2
					   "31 24 0:28 / /sys/fs/bpf rw - bpf bpf rw\n");
	write_file("/sys/fs/cgroup/slice/job/step/memory.max", "max\n");
	assert_int_equal(cgroup_limit(), MEMORY_LIMIT_NONE);
	write_file("/sys/fs/cgroup/slice/memory.max", "8589934592\n");
	assert_int_equal(cgroup_limit(), 8192 * MIB);
	write_file("/sys/fs/cgroup/slice/job/memory.max", "209715200\n");
	assert_int_equal(cgroup_limit(), 200 * MIB);
	write_file("/sys/fs/cgroup/slice/job/step/memory.max", "314572800\n");
	assert_int_equal(cgroup_limit(), 200 * MIB);
	/* Another's limit is not this one's. */
	write_file("/sys/fs/cgroup/slice/job/other/memory.max", "1048576\n");
	assert_int_equal(cgroup_limit(), 200 * MIB);
}

static void version_1_is_read_where_the_memory_controller_is(void **state)
{
	(void)state;
	write_file("/proc/self/cgroup", "9:name=systemd:/a\n5:cpuacct,memory:/a/b\n0::/c\n");
	write_file("/proc/self/mountinfo",
		   "40 24 0:30 / /cg/cpu rw shared:9 - cgroup cgroup rw,cpu\n"
		   "41 24 0:31 / /cg/memory rw shared:9 - cgroup cgroup rw,cpuacct,memory\n");
	write_file("/cg/cpu/a/b/memory.limit_in_bytes", "4096\n");
	write_file("/cg/memory/memory.limit_in_bytes", "9223372036854771712\n");
	write_file("/cg/memory/a/memory.limit_in_bytes", "9223372036854771712\n");
	assert_int_equal(cgroup_limit(), MEMORY_LIMIT_NONE);
	write_file("/cg/memory/a/b/memory.limit_in_bytes", "104857600\n");
	assert_int_equal(cgroup_limit(), 100 * MIB);
}

static void container_sees_its_own_cgroup_at_the_mount(void **state)
{
	(void)state;
	/* With a namespace of cgroups. */
	write_file("/proc/self/cgroup", "0::/\n");
	write_file("/proc/self/mountinfo", VERSION_2);
	write_file("/sys/fs/cgroup/memory.max", "536870912\n");
	assert_int_equal(cgroup_limit(), 512 * MIB);
	/* Without one: the part of the path that is mounted. */
	write_file("/proc/self/cgroup", "5:memory:/docker/12ab/inner\n");
	write_file("/proc/self/mountinfo",
		   "41 24 0:31 /docker/12ab /cg/memory ro - cgroup cgroup rw,memory\n");
	write_file("/cg/memory/memory.limit_in_bytes", "268435456\n");
	assert_int_equal(cgroup_limit(), 256 * MIB);
	write_file("/cg/memory/inner/memory.limit_in_bytes", "67108864\n");
	assert_int_equal(cgroup_limit(), 64 * MIB);
	/* A cgroup outside of what is mounted: the mounted one is all that can be seen. */
	write_file("/proc/self/cgroup", "5:memory:/docker/12abc\n");
	assert_int_equal(cgroup_limit(), 256 * MIB);
	write_file("/proc/self/cgroup", "5:memory:/../../x\n");
	assert_int_equal(cgroup_limit(), 256 * MIB);
}

static void files_that_make_no_sense_are_no_limit(void **state)
{
	char *line = calloc(1, 20000);

	(void)state;
	assert_int_equal(cgroup_limit(), MEMORY_LIMIT_NONE);
	memset(line, 'x', 19000);
	write_file("/proc/self/mountinfo", line);
	write_file("/proc/self/cgroup", line);
	assert_int_equal(cgroup_limit(), MEMORY_LIMIT_NONE);
	write_file("/proc/self/cgroup", "0::/a\n::\n:\n\n4:memory\n");
	write_file("/proc/self/mountinfo",
		   "1 2 3\n - \n1 2 3 4 - cgroup2\n1 2 3 / /m rw - cgroup2\n" VERSION_2);
	write_file("/sys/fs/cgroup/a/memory.max", "\n");
	write_file("/sys/fs/cgroup/memory.max", "99999999999999999999999999\n");
	assert_int_equal(cgroup_limit(), MEMORY_LIMIT_NONE);
	memset(line + 5, '/', 19000);
	memcpy(line, "0::/a", 5);
	write_file("/proc/self/cgroup", line);
	assert_int_equal(cgroup_limit(), MEMORY_LIMIT_NONE);
	free(line);
}

static void memory_of_the_machine_is_the_total(void **state)
{
	struct memory_limits limits;

	(void)state;
	memory_limits_read(root, &limits);
	assert_int_equal(limits.machine, MEMORY_LIMIT_NONE);
	write_file("/proc/meminfo", "MemTotal:       16384 kB\nMemFree:        1024 kB\n");
	memory_limits_read(root, &limits);
	assert_int_equal(limits.machine, 16 * MIB);
	write_file("/proc/meminfo", "MemTotal:\n");
	memory_limits_read(root, &limits);
	assert_int_equal(limits.machine, MEMORY_LIMIT_NONE);
}

#define DATA_LIMIT (1ull << 60) /* above what sanitizers map */

static void limits_of_the_process_are_read(void **state)
{
	struct memory_limits limits;
	struct rlimit old, old_stack, old_data, limit;

	(void)state;
	getrlimit(RLIMIT_FSIZE, &old);
	limit = old;
	limit.rlim_cur = 50 * MIB;
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
	getrlimit(RLIMIT_STACK, &old_stack);
	limit = old_stack;
	limit.rlim_cur = 3 * MIB;
	assert_int_equal(setrlimit(RLIMIT_STACK, &limit), 0);
	getrlimit(RLIMIT_DATA, &old_data);
	limit = old_data;
	limit.rlim_cur = DATA_LIMIT;
	assert_int_equal(setrlimit(RLIMIT_DATA, &limit), 0);
	unsetenv("LOCAL_WORLD_SIZE");
	setenv("SLURM_STEP_TASKS_PER_NODE", "8(x2),4", 1);
	errno = 77;
	memory_limits_read("", &limits);
	assert_int_equal(errno, 77);
	setrlimit(RLIMIT_FSIZE, &old);
	setrlimit(RLIMIT_STACK, &old_stack);
	setrlimit(RLIMIT_DATA, &old_data);
	assert_int_equal(limits.data, DATA_LIMIT);
	assert_int_equal(limits.file, 50 * MIB);
	assert_int_equal(limits.thread_stack, 3 * MIB);
	assert_int_equal(limits.ranks, 8);
	assert_true(limits.machine > MIB && limits.machine != MEMORY_LIMIT_NONE);
	assert_true(limits.address_space_used > MIB);
	setenv("LOCAL_WORLD_SIZE", "4", 1);
	memory_limits_read("", &limits);
	assert_int_equal(limits.ranks, 4);
	setenv("LOCAL_WORLD_SIZE", "none", 1);
	setenv("SLURM_STEP_TASKS_PER_NODE", "", 1);
	memory_limits_read("", &limits);
	assert_int_equal(limits.ranks, 1);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(least_limit_up_to_the_root_counts),
		TEST(version_1_is_read_where_the_memory_controller_is),
		TEST(container_sees_its_own_cgroup_at_the_mount),
		TEST(files_that_make_no_sense_are_no_limit),
		TEST(memory_of_the_machine_is_the_total),
		TEST(limits_of_the_process_are_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
