/* Seeded orders of processes that look for their step's directory. Some are killed on the way, and another process
 * removes leftovers meanwhile. Each stops before each call that others could notice, and the test chooses the next. */
#include <dirent.h>
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "cli/job/leftovers.h"
#include "cli/job/step_dir.h"

#define MAKERS_MAX 3
#define ACTORS_MAX (MAKERS_MAX + 1) /* and one that removes leftovers */
#define SCHEDULES  200
#define STOPS_MAX  10000

enum word { STOPPED = 's', BLOCKED = 'b', DONE = 'd', GONE = 0 };

struct result {
	int error;
	char path[STEP_DIR_MAX];
};

struct actor {
	pid_t pid;
	int fd;
	enum word last;
};

static const struct job_step step = {.key = "4711.0", .rank = 0, .world_size = 2};
static char folder[64];
static struct result *results; /* shared with the actors, one each */
static int schedules = SCHEDULES;

/* ---- in an actor */

static int gate = -1;        /* -1: not in an actor, or it runs freely */
static const DIR *looked_at; /* the folder, not the real /tmp behind it */
static uint32_t names;

static void stop(enum word word)
{
	const char byte = (char)word;
	char token;

	if (gate >= 0 && (write(gate, &byte, 1) != 1 || read(gate, &token, 1) != 1))
		_exit(1);
}

int __real_mkdir(const char *path, mode_t mode);
int __wrap_mkdir(const char *path, mode_t mode);
int __wrap_mkdir(const char *path, mode_t mode)
{
	stop(STOPPED);
	return __real_mkdir(path, mode);
}

/* The test must know who waits. */
int __real_flock(int fd, int operation);
int __wrap_flock(int fd, int operation);
int __wrap_flock(int fd, int operation)
{
	if (gate < 0)
		return __real_flock(fd, operation);
	stop(STOPPED);
	while (__real_flock(fd, operation | LOCK_NB) < 0) {
		if (errno != EWOULDBLOCK || (operation & LOCK_NB))
			return -1;
		stop(BLOCKED);
	}
	return 0;
}

DIR *__real_opendir(const char *path);
DIR *__wrap_opendir(const char *path);
DIR *__wrap_opendir(const char *path)
{
	if (strcmp(path, folder) != 0)
		return __real_opendir(path);
	stop(STOPPED);
	DIR *directory = __real_opendir(path);
	looked_at = directory;
	return directory;
}

struct dirent *__real_readdir(DIR *directory);
struct dirent *__wrap_readdir(DIR *directory);
struct dirent *__wrap_readdir(DIR *directory)
{
	if (directory == looked_at)
		stop(STOPPED);
	return __real_readdir(directory);
}

int __real_closedir(DIR *directory);
int __wrap_closedir(DIR *directory);
int __wrap_closedir(DIR *directory)
{
	if (directory == looked_at)
		stop(STOPPED);
	looked_at = NULL;
	return __real_closedir(directory);
}

int __real_unlink(const char *path);
int __wrap_unlink(const char *path);
int __wrap_unlink(const char *path)
{
	stop(STOPPED);
	return __real_unlink(path);
}

int __real_rmdir(const char *path);
int __wrap_rmdir(const char *path);
int __wrap_rmdir(const char *path)
{
	stop(STOPPED);
	return __real_rmdir(path);
}

int __real_unlinkat(int directory, const char *path, int flags);
int __wrap_unlinkat(int directory, const char *path, int flags);
int __wrap_unlinkat(int directory, const char *path, int flags)
{
	stop(STOPPED);
	return __real_unlinkat(directory, path, flags);
}

/* Few names, so that some are equal. */
ssize_t __wrap_getrandom(void *bytes, size_t size, unsigned int flags);
ssize_t __wrap_getrandom(void *bytes, size_t size, unsigned int flags)
{
	(void)flags;
	names = names * 1664525u + 1013904223u;
	const uint32_t number = names >> 28;

	memset(bytes, 0, size);
	memcpy(bytes, &number, sizeof(number) < size ? sizeof(number) : size);
	return (ssize_t)size;
}

/* As node_member.c: the first one serves there, for its life. */
static void join(struct result *result)
{
	struct step_dir dir;

	result->error = step_dir_lock(&dir, &step, NULL);
	if (result->error)
		return;
	step_dir_live(&dir); /* another may serve already */
	strcpy(result->path, dir.path);
	step_dir_unlock(&dir);
}

static void act(int number, int nr_makers, int fd)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	gate = fd;
	stop(STOPPED);
	if (number < nr_makers)
		join(&results[number]);
	else
		leftovers_remove_sockets();
	stop(DONE); /* what it serves stays until the test ends it */
	_exit(0);
}

/* ---- the test */

static uint32_t choices;

static uint32_t choose(uint32_t nr)
{
	choices ^= choices << 13;
	choices ^= choices >> 17;
	choices ^= choices << 5;
	return choices % nr;
}

static void hear(struct actor *actor)
{
	char word;

	actor->last = read(actor->fd, &word, 1) == 1 ? (enum word)word : GONE;
}

static void start(struct actor *actor, int number, int nr_makers)
{
	int pair[2];

	results[number] = (struct result){.error = 1};
	names = choose(UINT32_MAX);
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair), 0);
	actor->pid = fork();
	assert_true(actor->pid >= 0);
	if (actor->pid == 0) {
		close(pair[0]);
		act(number, nr_makers, pair[1]);
	}
	close(pair[1]);
	actor->fd = pair[0];
	hear(actor);
}

static void end(struct actor *actor)
{
	if (actor->fd < 0)
		return;
	kill(actor->pid, SIGKILL);
	assert_int_equal(waitpid(actor->pid, NULL, 0), actor->pid);
	close(actor->fd);
	actor->fd = -1;
	actor->last = actor->last == DONE ? DONE : GONE;
}

static bool goes_on(const struct actor *actor)
{
	return actor->last == STOPPED || actor->last == BLOCKED;
}

static int count(const struct actor *actors, int nr, enum word word)
{
	int sum = 0;

	for (int i = 0; i < nr; i++)
		sum += actors[i].last == word;
	return sum;
}

/* Until all have ended. Returns false where nobody can go on. */
static bool play(struct actor *actors, int nr, int nr_makers, int kills)
{
	int blocked_in_turn = 0;

	for (int i = 0; i < STOPS_MAX; i++) {
		const int blocked = count(actors, nr, BLOCKED);

		if (count(actors, nr, STOPPED) + blocked == 0)
			return true;
		if (blocked_in_turn > 100 * nr && count(actors, nr, STOPPED) == 0)
			return false;
		struct actor *actor = &actors[choose((uint32_t)nr)];
		if (!goes_on(actor))
			continue;
		if (kills && actor < actors + nr_makers && choose(20) == 0) {
			end(actor);
			kills--;
			continue;
		}
		if (write(actor->fd, "g", 1) != 1)
			return false;
		hear(actor);
		blocked_in_turn = actor->last == BLOCKED ? blocked_in_turn + 1 : 0;
	}
	return false;
}

static unsigned int count_entries(void)
{
	DIR *directory = opendir(folder);
	unsigned int sum = 0;

	assert_non_null(directory);
	while (readdir(directory))
		sum++;
	closedir(directory);
	return sum - 2;
}

static void follow_schedule(uint32_t seed, unsigned int *killed)
{
	struct actor actors[ACTORS_MAX];
	const char *path = NULL;

	choices = seed * 2654435761u;
	choose(1);
	const int nr_makers = 2 + (int)choose(MAKERS_MAX - 1), nr = nr_makers + 1;
	const int kills = (int)choose((uint32_t)nr_makers);
	for (int i = 0; i < nr; i++)
		start(&actors[i], i, nr_makers);
	if (!play(actors, nr, nr_makers, kills))
		fail_msg("seed %u: nobody can go on", seed);
	for (int i = 0; i < nr_makers; i++) {
		if (actors[i].last == GONE) {
			(*killed)++;
			continue;
		}
		if (results[i].error)
			fail_msg("seed %u: process %d: %s", seed, i, strerror(-results[i].error));
		if (path && strcmp(path, results[i].path) != 0)
			fail_msg("seed %u: %s and %s", seed, path, results[i].path);
		path = results[i].path;
	}
	/* Only the directory of those that live stays; and none once they have ended. */
	leftovers_remove_sockets();
	assert_int_equal(count_entries(), path ? 1 : 0);
	assert_true(!path || access(path, F_OK) == 0);
	for (int i = 0; i < nr; i++)
		end(&actors[i]);
	leftovers_remove_sockets();
	assert_int_equal(count_entries(), 0);
}

static void all_of_a_step_end_in_one_directory_whoever_is_killed(void **state)
{
	unsigned int killed = 0;

	(void)state;
	for (int seed = 1; seed <= schedules; seed++)
		follow_schedule((uint32_t)seed, &killed);
	printf("%d schedules, %u killed\n", schedules, killed);
	assert_true(killed > 0);
}

static int set_up(void **state)
{
	(void)state;
	strcpy(folder, "/tmp/step_dir_schedule_test.XXXXXX");
	assert_non_null(mkdtemp(folder));
	setenv("XDG_RUNTIME_DIR", folder, 1);
	unsetenv("TMPDIR");
	unsetenv("SLURMD_NODENAME");
	results = mmap(NULL, ACTORS_MAX * sizeof(*results), PROT_READ | PROT_WRITE,
		       MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	return results == MAP_FAILED;
}

static int tear_down(void **state)
{
	(void)state;
	munmap(results, ACTORS_MAX * sizeof(*results));
	return rmdir(folder);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			all_of_a_step_end_in_one_directory_whoever_is_killed, set_up, tear_down),
	};

	if (argc > 1)
		schedules = atoi(argv[1]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
