#include "report/topology/straggler_topology.h"

#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/support/cmocka_test.h"

static char path[] = "/tmp/flamegrid-topology.XXXXXX";

static int set_up(void **state)
{
	(void)state;
	strcpy(path + sizeof(path) - 7, "XXXXXX");
	int fd = mkstemp(path);

	return fd < 0 ? -1 : close(fd);
}

static int tear_down(void **state)
{
	(void)state;
	return unlink(path);
}

static void put(const char *text, size_t size)
{
	FILE *file = fopen(path, "w");

	assert_non_null(file);
	assert_int_equal(fwrite(text, 1, size, file), size);
	assert_int_equal(fclose(file), 0);
}

static struct straggler_topology *read_file(const char *text)
{
	struct straggler_topology *topology;
	char *error;

	put(text, strlen(text));
	assert_int_equal(straggler_topology_read(path, &topology, &error), 0);
	assert_null(error);
	return topology;
}

static void expect(const struct straggler_topology *topology, const char *host, const char *name)
{
	const char *found = straggler_topology_find(topology, host, strlen(host));

	if (!found || !name)
		assert_true(found == name);
	else
		assert_string_equal(found, name);
}

/* The file is refused with a line that names the file, and goes on like this. */
static void refuse(const char *text, size_t size, int status, const char *line)
{
	struct straggler_topology *topology;
	char *error;

	put(text, size);
	assert_int_equal(straggler_topology_read(path, &topology, &error), status);
	assert_null(topology);
	assert_non_null(error);
	assert_memory_equal(error, path, strlen(path));
	assert_string_equal(error + strlen(path), line);
	free(error);
}

#define REFUSE(text, line) refuse(text, sizeof(text) - 1, -EINVAL, line)

static void hosts_have_their_leaf_switch(void **state)
{
	struct straggler_topology *topology =
		read_file("# the site's network\n"
			  "SwitchName=s0 Nodes=n[1-4,07],login1 LinkSpeed=100\n"
			  "switchname=s1 nodes=n[010-012],\\\n"
			  "r[1-2]n[5-6]x # racks\n"
			  "\n"
			  "SwitchName=top Switches=s[0-1]\r\n"
			  "BlockName=b1 Nodes=gpu-1.cluster.example,gpu-2\n"
			  "BlockSizes=4,8");

	(void)state;
	expect(topology, "n1", "switch s0");
	expect(topology, "n4", "switch s0");
	expect(topology, "n5", NULL);
	expect(topology, "n01", NULL);
	expect(topology, "n07", "switch s0");
	expect(topology, "n7", NULL);
	expect(topology, "n010", "switch s1");
	expect(topology, "n12", NULL);
	expect(topology, "n0012", NULL);
	expect(topology, "login1", "switch s0");
	expect(topology, "login", NULL);
	expect(topology, "login11", NULL);
	expect(topology, "r2n6x", "switch s1");
	expect(topology, "r3n6x", NULL);
	expect(topology, "r2n6", NULL);
	expect(topology, "gpu-1.cluster.example", "block b1");
	expect(topology, "gpu-1", NULL);
	expect(topology, "gpu-2.cluster.example", "block b1");
	expect(topology, "top", NULL);
	expect(topology, "", NULL);
	straggler_topology_destroy(topology);
}

static void what_scontrol_prints_has_the_leaf_switches(void **state)
{
	struct straggler_topology *topology =
		read_file("SwitchName=s0 Level=0 LinkSpeed=1 Nodes=tux[0-3]\n"
			  "SwitchName=top Level=1 LinkSpeed=1 Nodes=tux[0-7] Switches=s[0-1]\n"
			  "SwitchName=s1 Level=0 LinkSpeed=1 Nodes=tux[4-7]\n"
			  "BlockName=b1 BlockIndex=0 Nodes=n1 BlockSize=4\n");

	(void)state;
	expect(topology, "tux0", "switch s0");
	expect(topology, "tux5", "switch s1");
	expect(topology, "n1", "block b1");
	straggler_topology_destroy(topology);
}

/* "n1[0-9]" and "n[1-9][0-9]" both need a way back. */
static void numbers_beside_one_another_match_in_each_way(void **state)
{
	struct straggler_topology *topology =
		read_file("SwitchName=a Nodes=n[1-12][3-4]\nSwitchName=b Nodes=m1[0-99]");

	(void)state;
	expect(topology, "n13", "switch a");
	expect(topology, "n123", "switch a");
	expect(topology, "n133", NULL);
	expect(topology, "m10", "switch b");
	expect(topology, "m199", "switch b");
	expect(topology, "m1", NULL);
	expect(topology, "m1999", NULL);
	expect(topology, "n99999999999999999999999999999999999993", NULL);
	straggler_topology_destroy(topology);
}

static void what_is_wrong_is_named_with_its_line(void **state)
{
	(void)state;
	REFUSE("", ": has no switch with Nodes");
	REFUSE("SwitchName=top Switches=s0\n", ": has no switch with Nodes");
	REFUSE("\nSwitchName=s0\n", ": line 2: switch s0 has neither Nodes nor Switches");
	REFUSE("BlockName=b0", ": line 1: block b0 has neither Nodes nor Switches");
	REFUSE("# x\n\nNodes=n1\n", ": line 3: there is no SwitchName or BlockName");
	REFUSE("SwitchName=a Nodes=n1\nhello\n", ": line 2: hello: is no KEY=VALUE");
	REFUSE("SwitchName=a Nodes=\n", ": line 1: Nodes=: is no KEY=VALUE");
	REFUSE("SwitchName=a \\\nNodes=n1 \\\n Nodes=n2\n", ": line 1: Nodes is there twice");
	REFUSE("SwitchName=a \\\nNodes=n1\nNode=n2\n",
	       ": line 3: Node: must be SwitchName, BlockName, Nodes, Switches, LinkSpeed or "
	       "BlockSizes");
	REFUSE("SwitchName=a\e[1m Nodes=n1\n", ": line 1: SwitchName=a_[1m: is no list of names");
	REFUSE("SwitchName=a Nodes=n1\0SwitchName=b Nodes=n2", ": is no text");
}

static void lists_of_hosts_must_be_whole(void **state)
{
	static const char *const lists[] = {
		"n[1-4",
		"n]1",
		"n[]",
		"n[1-]",
		"n[4-1]",
		"n[a-b]",
		"n[1,]",
		",n1",
		"n1,",
		"n1,,n2",
		"n[1-2]]",
		"n[[1]]",
		"n$(x)",
		"n[-1]",
		"n[1][2][3][4][5]",
		"n[1-9999999999999999999]",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(lists) / sizeof(*lists); i++) {
		char text[128], line[160];

		snprintf(text, sizeof(text), "SwitchName=a Nodes=%s", lists[i]);
		snprintf(line, sizeof(line), ": line 1: Nodes=%s: is no list of names", lists[i]);
		refuse(text, strlen(text), -EINVAL, line);
	}
}

static void what_a_line_has_is_shown_as_clean_text(void **state)
{
	(void)state;
	REFUSE("SwitchName=a Nodes=n[\xe2\x80\xae"
	       "1\x1b\xff]",
	       ": line 1: Nodes=n[_1_\xef\xbf\xbd]: is no list of names");
}

static void a_file_that_is_not_there_or_too_large_is_refused(void **state)
{
	const size_t size = STRAGGLER_TOPOLOGY_BYTES + 1ul;
	struct straggler_topology *topology;
	char *error, *text = malloc(size);

	(void)state;
	assert_int_equal(straggler_topology_read("/nowhere/x", &topology, &error), -ENOENT);
	assert_null(topology);
	assert_string_equal(error, "/nowhere/x: No such file or directory");
	free(error);
	assert_int_equal(straggler_topology_read("/", &topology, &error), -EISDIR);
	assert_string_equal(error, "/: is neither a file nor a pipe");
	free(error);
	assert_non_null(text);
	memset(text, '#', size);
	refuse(text, size, -EFBIG, ": is larger than 4 MiB");
	free(text);
}

static void lines_may_end_as_windows_writes_them(void **state)
{
	struct straggler_topology *topology =
		read_file("SwitchName=a Nodes=n1\r\nSwitchName=b \\\r\nNodes=n2,n3\r\n\r\n");

	(void)state;
	expect(topology, "n1", "switch a");
	expect(topology, "n2", "switch b");
	expect(topology, "n3", "switch b");
	straggler_topology_destroy(topology);
	REFUSE("SwitchName=a \\\r\nNodes=n1\r\nNode=n2\r\n",
	       ": line 3: Node: must be SwitchName, BlockName, Nodes, Switches, LinkSpeed or "
	       "BlockSizes");
}

/* "SwitchName=a Nodes=" and hosts, over several lines. */
static void a_line_has_an_end(void **state)
{
	const char *const begin = "\nSwitchName=a Nodes=";
	const size_t least = STRAGGLER_TOPOLOGY_LINE - strlen(begin) + 1;
	char *text = malloc(least + 64);

	(void)state;
	assert_non_null(text);
	strcpy(text, begin);
	memset(text + strlen(begin), 'n', least);
	text[strlen(begin) + least] = '\0';
	straggler_topology_destroy(read_file(text));
	memcpy(text + strlen(begin) + 8, "\\\n", 2); /* the two do not count */
	strcat(text, "nnn\n");
	refuse(text, strlen(text), -EINVAL, ": line 2: is longer than 64 KiB");
	free(text);
}

/* As bash makes one of `<(scontrol show topology)`. */
static void a_pipe_is_read_to_its_end(void **state)
{
	const char text[] = "SwitchName=a Nodes=n1\n";
	struct straggler_topology *topology;
	char name[64], *error;
	int ends[2];

	(void)state;
	assert_int_equal(pipe(ends), 0);
	assert_int_equal(write(ends[1], text, strlen(text)), strlen(text));
	close(ends[1]);
	snprintf(name, sizeof(name), "/dev/fd/%d", ends[0]);
	assert_int_equal(straggler_topology_read(name, &topology, &error), 0);
	expect(topology, "n1", "switch a");
	straggler_topology_destroy(topology);
	close(ends[0]);
}

int __real_poll(struct pollfd *wanted, nfds_t count, int timeout_ms);
int __wrap_poll(struct pollfd *wanted, nfds_t count, int timeout_ms);

static bool time_is_up;

int __wrap_poll(struct pollfd *wanted, nfds_t count, int timeout_ms)
{
	return time_is_up ? 0 : __real_poll(wanted, count, timeout_ms);
}

static void a_pipe_that_nobody_writes_is_refused_when_its_time_is_up(void **state)
{
	struct straggler_topology *topology;
	char *error;

	(void)state;
	assert_int_equal(unlink(path), 0);
	assert_int_equal(mkfifo(path, 0600), 0);
	time_is_up = true;
	assert_int_equal(straggler_topology_read(path, &topology, &error), -ETIMEDOUT);
	time_is_up = false;
	assert_null(topology);
	assert_non_null(strstr(error, ": nothing came for 10 seconds"));
	free(error);
}

static void expect_result(const struct straggler_topology *topology, const char *host,
			  const char *expected)
{
	char *error = NULL;

	assert_int_equal(straggler_topology_check(topology, "topo", host, strlen(host), &error),
			 expected ? -EINVAL : 0);
	if (expected)
		assert_string_equal(error, expected);
	else
		assert_null(error);
	free(error);
}

static void a_host_in_two_switches_is_refused_with_both(void **state)
{
	static const char said[] =
		"topo: line 3: switch b has host n2, which switch a of line 1 has, too";
	struct straggler_topology *topology = read_file("SwitchName=a Nodes=n[0-2]\n"
							"# others\n"
							"SwitchName=b Nodes=n[2-3],n9.x\n"
							"SwitchName=a Nodes=n[1,4]\n"
							"SwitchName=top Switches=a,b Nodes=n[0-9]\n"
							"BlockName=a Nodes=n9\n");

	(void)state;
	expect_result(topology, "n2", said);
	expect_result(topology, "n2.example.org", said);
	expect_result(topology, "n0", NULL);
	expect_result(topology, "n1", NULL); /* twice in one switch */
	expect_result(topology, "n9.x", NULL);
	expect_result(topology, "n9.y", NULL);
	expect_result(topology, "n7", NULL);
	straggler_topology_destroy(topology);
}

static void a_device_is_refused(void **state)
{
	struct straggler_topology *topology;
	char *error;

	(void)state;
	assert_int_equal(straggler_topology_read("/dev/null", &topology, &error), -EINVAL);
	assert_null(topology);
	assert_string_equal(error, "/dev/null: is neither a file nor a pipe");
	free(error);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(hosts_have_their_leaf_switch),
		TEST(what_scontrol_prints_has_the_leaf_switches),
		TEST(numbers_beside_one_another_match_in_each_way),
		TEST(what_is_wrong_is_named_with_its_line),
		TEST(lists_of_hosts_must_be_whole),
		TEST(what_a_line_has_is_shown_as_clean_text),
		TEST(a_file_that_is_not_there_or_too_large_is_refused),
		TEST(lines_may_end_as_windows_writes_them),
		TEST(a_line_has_an_end),
		TEST(a_pipe_is_read_to_its_end),
		TEST(a_pipe_that_nobody_writes_is_refused_when_its_time_is_up),
		TEST(a_device_is_refused),
		TEST(a_host_in_two_switches_is_refused_with_both),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
