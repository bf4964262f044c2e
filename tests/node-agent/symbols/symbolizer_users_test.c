/* Several users' names at once: what one user's files do to the names of others. A file is slow where a wrapped function
 * waits for the test. */
#include "tests/support/cmocka_test.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "node-agent/base/agent_task.h"
#include "node-agent/files/elf_file.h"
#include "node-agent/generated/generated_file.h"
#include "node-agent/symbols/debug_file.h"
#include "node-agent/symbols/perf_map.h"
#include "node-agent/symbols/symbol_queue.h"
#include "node-agent/symbols/symbolizer.h"
#include "tests/node-agent/guests/loaded_fixture.h"

#define WAIT_S         30
#define SLOW_USER      60000u
#define UNKNOWN_MODULE 1000u /* no place is known of it: its names wait in root's line */

/* No limit: a wrapped function waits for as long as the test needs. */
static const struct symbolizer_options options = {.file_limit_ms = 3600000};

static const char *inline_path, *objcopy;
static sem_t entered, go;
static unsigned int nr_refreshed;

/* A wrapped function calls this in the middle of a user's file. */
static void be_slow(void)
{
	sem_post(&entered);
	while (sem_wait(&go) && errno == EINTR)
		;
}

static void wait_until_entered(void)
{
	struct timespec until;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += WAIT_S;
	assert_int_equal(sem_timedwait(&entered, &until), 0);
}

static int set_up(void **state)
{
	(void)state;
	return sem_init(&entered, 0, 0) || sem_init(&go, 0, 0) ? -1 : 0;
}

static struct symbolizer_result next_result(struct symbolizer *symbolizer)
{
	struct pollfd ready = {.fd = symbolizer_fd(symbolizer), .events = POLLIN};
	struct symbolizer_result result;

	while (symbolizer_collect(symbolizer, &result, 1) == 0)
		assert_int_equal(poll(&ready, 1, WAIT_S * 1000), 1);
	return result;
}

/* Root's line is served while the files of others are slow. */
static void expect_root_is_served(struct symbolizer *symbolizer, uint32_t frame_id)
{
	assert_int_equal(symbolizer_request(symbolizer, frame_id, UNKNOWN_MODULE, 0), 0);
	assert_int_equal(next_result(symbolizer).frame_id, frame_id);
}

/* ---- perf maps ---------------------------------------------------------------------------------- */

void __real_perf_map_refresh(struct perf_map *map);
void __wrap_perf_map_refresh(struct perf_map *map);
const char *__real_perf_map_find(const struct perf_map *map, uint64_t address);
const char *__wrap_perf_map_find(const struct perf_map *map, uint64_t address);

void __wrap_perf_map_refresh(struct perf_map *map)
{
	nr_refreshed++;
	__real_perf_map_refresh(map);
}

const char *__wrap_perf_map_find(const struct perf_map *map, uint64_t address)
{
	be_slow();
	return __real_perf_map_find(map, address);
}

static void write_map(const char *path, const char *line)
{
	FILE *file = fopen(path, "a");

	assert_non_null(file);
	assert_true(fputs(line, file) >= 0);
	assert_int_equal(fclose(file), 0);
}

/* Each request sees what the process had written when the request was made; no other user's requests matter. */
static void a_perf_map_is_read_once_for_all_requests_that_wait(void **state)
{
	enum { REQUESTS = 10, OTHERS = 100 };
	struct symbolizer_module module = {.module_id = 1,
					   .kind = SYMBOLIZER_PERF_MAP,
					   .owner = SLOW_USER,
					   .pid = getpid(),
					   .path = "generated"};
	struct symbolizer *symbolizer;
	char path[64];

	(void)state;
	snprintf(path, sizeof(path), "/tmp/perf-%d.map", (int)getpid());
	unlink(path);
	write_map(path, "1000 10 first\n");
	assert_int_equal(symbolizer_start(&options, &symbolizer), 0);
	assert_int_equal(symbolizer_add_module(symbolizer, &module), 0);
	assert_int_equal(symbolizer_request(symbolizer, 0, 1, 0x1000), 0);
	wait_until_entered();
	assert_int_equal(nr_refreshed, 1);
	write_map(path, "2000 10 second\n");
	for (uint32_t id = 1; id <= REQUESTS; id++)
		assert_int_equal(symbolizer_request(symbolizer, id, 1, 0x2000), 0);

	for (uint32_t id = 0; id <= REQUESTS; id++) {
		expect_root_is_served(symbolizer, OTHERS + id);
		sem_post(&go);
		struct symbolizer_result result = next_result(symbolizer);

		assert_int_equal(result.frame_id, id);
		assert_string_equal(result.name, id == 0 ? "first" : "second");
		if (id < REQUESTS)
			wait_until_entered();
	}
	assert_int_equal(nr_refreshed, 2);
	symbolizer_stop(symbolizer, WAIT_S * 1000);
	unlink(path);
}

/* ---- debug files -------------------------------------------------------------------------------- */

int __real_debug_file_open(const struct debug_file_query *query, struct elf_file **debug);
int __wrap_debug_file_open(const struct debug_file_query *query, struct elf_file **debug);

int __wrap_debug_file_open(const struct debug_file_query *query, struct elf_file **debug)
{
	if (query->user >= SLOW_USER)
		be_slow();
	return __real_debug_file_open(query, debug);
}

/* A directory with the library's two parts, and a server of debug files. */
struct site {
	char directory[64], library[96], debug[96];
	uint64_t hidden; /* an address that only the debug file names */
	int server;
	struct symbolizer_options options;
};

static void start_server(struct site *site)
{
	struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
	socklen_t size = sizeof(address);
	char text[128];

	site->server = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(bind(site->server, (struct sockaddr *)&address, size), 0);
	assert_int_equal(listen(site->server, 8), 0);
	assert_int_equal(getsockname(site->server, (struct sockaddr *)&address, &size), 0);
	snprintf(text, sizeof(text), "http://127.0.0.1:%d/", ntohs(address.sin_port));
	setenv("DEBUGINFOD_URLS", text, 1);
	snprintf(text, sizeof(text), "%s/fetched", site->directory);
	setenv("DEBUGINFOD_CACHE_PATH", text, 1);
	setenv("no_proxy", "*", 1);
}

static void make_site(struct site *site)
{
	const char *const strip[5] = {"--strip-all", inline_path, site->library};
	const char *const keep[5] = {"--only-keep-debug", inline_path, site->debug};

	loaded_fixture_directory(site->directory, sizeof(site->directory));
	snprintf(site->library, sizeof(site->library), "%s/lib.so", site->directory);
	snprintf(site->debug, sizeof(site->debug), "%s/lib.debug", site->directory);
	loaded_fixture_run(objcopy, strip);
	loaded_fixture_run(objcopy, keep);
	assert_int_equal(chmod(site->library, 0755), 0);
	site->hidden = loaded_fixture_vaddr(inline_path, "inline_fixture_hidden_mark");
	site->server = -1;
	site->options = options;
	site->options.debug_directory = site->directory;
}

static void remove_site(const struct site *site)
{
	if (site->server >= 0)
		close(site->server);
	unsetenv("DEBUGINFOD_URLS");
	unsetenv("DEBUGINFOD_CACHE_PATH");
	loaded_fixture_remove(site->directory);
}

/* The library, as processes of that user map it. */
static void add_library(struct symbolizer *symbolizer, const struct site *site, uint32_t module_id,
			uid_t owner)
{
	struct symbolizer_module module = {
		.module_id = module_id, .owner = owner, .path = site->library};
	struct elf_file *file = loaded_fixture_open(site->library);

	module.build_id_size = elf_file_build_id(file, module.build_id, sizeof(module.build_id));
	elf_file_close(file);
	assert_int_equal(symbolizer_add_module(symbolizer, &module), 0);
}

/* The connection of the next fetch, which has sent its request. */
static int accept_fetch(const struct site *site)
{
	struct pollfd ready = {.fd = site->server, .events = POLLIN};
	char text[4096] = "";
	size_t size = 0;

	assert_int_equal(poll(&ready, 1, WAIT_S * 1000), 1);
	int fd = accept4(site->server, NULL, NULL, SOCK_CLOEXEC);
	assert_true(fd >= 0);
	while (!strstr(text, "\r\n\r\n")) {
		ssize_t got = read(fd, text + size, sizeof(text) - 1 - size);

		assert_true(got > 0);
		size += (size_t)got;
	}
	return fd;
}

/* Closes the connection. */
static void answer_fetch(const struct site *site, int connection)
{
	int file = open(site->debug, O_RDONLY | O_CLOEXEC);
	struct stat status;

	assert_int_equal(fstat(file, &status), 0);
	dprintf(connection, "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: %lld\r\n\r\n",
		(long long)status.st_size);
	for (off_t at = 0; at < status.st_size;)
		assert_true(sendfile(connection, file, &at, (size_t)status.st_size) > 0);
	close(file);
	close(connection);
}

/* The file of the one becomes slow before its fetch begins; then the other's worker has the turn. */
static void users_fetch_debug_files_at_once(void **state)
{
	struct symbolizer *symbolizer;
	struct site site;

	(void)state;
	make_site(&site);
	start_server(&site);
	assert_int_equal(symbolizer_start(&site.options, &symbolizer), 0);
	add_library(symbolizer, &site, 1, SLOW_USER);
	add_library(symbolizer, &site, 2, SLOW_USER - 1);
	assert_int_equal(symbolizer_request(symbolizer, 1, 1, site.hidden), 0);
	wait_until_entered();
	expect_root_is_served(symbolizer, 9);
	sem_post(&go);
	int first = accept_fetch(&site);

	assert_int_equal(symbolizer_request(symbolizer, 2, 2, site.hidden), 0);
	answer_fetch(&site, accept_fetch(&site));
	struct symbolizer_result result = next_result(symbolizer);
	assert_int_equal(result.frame_id, 2);
	assert_string_equal(result.name, "hidden");

	answer_fetch(&site, first);
	result = next_result(symbolizer);
	assert_int_equal(result.frame_id, 1);
	assert_string_equal(result.name, "hidden");
	symbolizer_stop(symbolizer, WAIT_S * 1000);
	remove_site(&site);
}

/* As many users as there are workers, and more, have slow files. */
static void root_does_not_wait_for_the_files_of_many_users(void **state)
{
	enum { USERS = 40 };
	struct symbolizer *symbolizer;
	bool seen[USERS] = {false};
	struct site site;

	(void)state;
	make_site(&site);
	assert_int_equal(symbolizer_start(&site.options, &symbolizer), 0);
	for (uint32_t i = 0; i < USERS; i++) {
		add_library(symbolizer, &site, i, SLOW_USER + i);
		assert_int_equal(symbolizer_request(symbolizer, i, i, 0), 0);
	}
	for (uint32_t i = 0; i < SYMBOL_QUEUE_SERVED_MAX - 1; i++)
		wait_until_entered();
	for (uint32_t id = 100; id < 110; id++)
		expect_root_is_served(symbolizer, id);

	for (uint32_t i = 0; i < USERS; i++)
		sem_post(&go);
	for (uint32_t i = 0; i < USERS; i++) {
		uint32_t id = next_result(symbolizer).frame_id;

		assert_in_range(id, 0, USERS - 1);
		assert_false(seen[id]);
		seen[id] = true;
	}
	symbolizer_stop(symbolizer, WAIT_S * 1000);
	remove_site(&site);
}

/* ---- tasks -------------------------------------------------------------------------------------- */

static atomic_uint nr_run;

static void run_slowly(struct agent_task *task, bool wanted)
{
	(void)task;
	if (wanted)
		be_slow();
	nr_run += wanted;
}

/* One task of a user runs at a time. Names of others, and tasks of others, do not wait for it. */
static void tasks_hold_up_nobody_else(void **state)
{
	struct agent_task tasks[3] = {{run_slowly}, {run_slowly}, {run_slowly}};
	struct symbolizer *symbolizer;

	(void)state;
	assert_int_equal(symbolizer_start(&options, &symbolizer), 0);
	assert_int_equal(symbolizer_give(symbolizer, SLOW_USER, &tasks[0]), 0);
	assert_int_equal(symbolizer_give(symbolizer, SLOW_USER, &tasks[1]), 0);
	wait_until_entered();
	expect_root_is_served(symbolizer, 9);
	assert_int_equal(symbolizer_give(symbolizer, SLOW_USER + 1, &tasks[2]), 0);
	wait_until_entered();
	assert_int_equal(sem_trywait(&entered), -1);
	expect_root_is_served(symbolizer, 10);
	assert_int_equal(nr_run, 0);
	for (int i = 0; i < 3; i++)
		sem_post(&go);
	wait_until_entered(); /* the second one of the first user */
	symbolizer_stop(symbolizer, WAIT_S * 1000);
	assert_int_equal(nr_run, 3);
}

/* ---- generated files ---------------------------------------------------------------------------- */

struct kernel_lines *__wrap_generated_file_read(const struct generated_file_place *place);

static atomic_bool is_served;

/* Never sleeps. */
struct kernel_lines *__wrap_generated_file_read(const struct generated_file_place *place)
{
	(void)place;
	while (!is_served)
		;
	return NULL;
}

static void root_does_not_wait_for_a_file_that_keeps_a_thread_busy(void **state)
{
	const struct symbolizer_module module = {
		.module_id = 1, .kind = SYMBOLIZER_GENERATED, .owner = SLOW_USER, .path = "/file"};
	struct symbolizer *symbolizer;

	(void)state;
	assert_int_equal(symbolizer_start(&options, &symbolizer), 0);
	assert_int_equal(symbolizer_add_module(symbolizer, &module), 0);
	assert_int_equal(symbolizer_request(symbolizer, 1, 1, 1), 0);
	expect_root_is_served(symbolizer, 9);
	is_served = true;
	assert_int_equal(next_result(symbolizer).frame_id, 1);
	symbolizer_stop(symbolizer, WAIT_S * 1000);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(a_perf_map_is_read_once_for_all_requests_that_wait, set_up),
		cmocka_unit_test_setup(users_fetch_debug_files_at_once, set_up),
		cmocka_unit_test_setup(root_does_not_wait_for_the_files_of_many_users, set_up),
		cmocka_unit_test_setup(tasks_hold_up_nobody_else, set_up),
		cmocka_unit_test_setup(root_does_not_wait_for_a_file_that_keeps_a_thread_busy,
				       set_up),
	};

	if (argc != 3)
		return 2;
	inline_path = argv[1];
	objcopy = argv[2];
	return cmocka_run_group_tests(tests, NULL, NULL);
}
