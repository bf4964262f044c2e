#include "proc_file.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "foreign_file.h"

#include "base/array.h"
#include "base/clock.h"
#include "node-agent/base/fair_shares.h"
#include "node-agent/base/trusted_user.h"

#define COMMAND_MAX      4096u
#define STAT_START_FIELD 22
#define STAT_FIRST_FIELD 3 /* the field behind the command */
#define STAT_MAX         4096u
#define STATUS_MAX       16384u
#define READ_AT_ONCE     65536u
#define LOOKS_MAX        (PROC_FILE_WAIT_MS / FOREIGN_CALL_LOOK_MS)

static int read_all(int fd, size_t max, char **data, size_t *size)
{
	uint32_t room = 0;

	for (;;) {
		if (array_reserve(data, &room, *size + READ_AT_ONCE + 1, 1))
			return -ENOMEM;
		size_t left = room - 1 - *size; /* behind the NUL */
		size_t wanted = max - *size < left ? max - *size : left;
		ssize_t got = wanted ? read(fd, *data + *size, wanted) : 0;

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return -errno;
		if (got == 0)
			break;
		*size += (size_t)got;
	}
	(*data)[*size] = '\0';
	return 0;
}

static int read_now(pid_t pid, const char *name, size_t max, char **data, size_t *size)
{
	char path[64];

	*data = NULL;
	*size = 0;
	snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, name);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	int r = read_all(fd, max, data, size);
	close(fd);
	if (r) {
		free(*data);
		*data = NULL;
		*size = 0;
	}
	return r;
}

struct reading {
	struct foreign_call call; /* first */
	pid_t pid;
	char name[16], path[32];
	size_t max;
	char *data; /* owns */
	size_t size;
	int result;
};

static void run_reading(struct foreign_call *call)
{
	struct reading *reading = (struct reading *)call;

	reading->result =
		read_now(reading->pid, reading->name, reading->max, &reading->data, &reading->size);
}

static void destroy_reading(struct foreign_call *call)
{
	free(((struct reading *)call)->data);
	free(call);
}

/* ---- waiting for the memory of other users' processes ------------------------------------------- */

/* Counts looks at hands that slept, for each user in this period. All agents of one process share the counts. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct fair_shares looks;
static uint64_t period_end_ns;

static bool may_wait(uid_t user, uint64_t now_ns)
{
	pthread_mutex_lock(&lock);
	if (now_ns >= period_end_ns) {
		fair_shares_forget(&looks);
		period_end_ns = now_ns + PROC_FILE_PERIOD_NS;
	}
	bool may = looks.total < LOOKS_MAX &&
		   fair_shares_may_take(&looks, user, LOOKS_MAX - looks.total);
	pthread_mutex_unlock(&lock);
	return may;
}

static bool take_look(void *context, bool asleep)
{
	const uid_t *user = context;

	pthread_mutex_lock(&lock);
	if (asleep)
		fair_shares_take(&looks, *user);
	pthread_mutex_unlock(&lock);
	return true;
}

/* Processes of any user make the loop read their command lines. Only watched processes make it read mappings. */
static int make_call(struct foreign_call *call, const char *name)
{
	uid_t user = call->user;
	const struct foreign_patience patience = {FOREIGN_FILE_WAIT_MS, take_look, &user,
						  FOREIGN_FILE_WAIT_MS};

	if (strcmp(name, "maps") == 0)
		return foreign_file_call(call);
	return may_wait(user, clock_now_ns()) ? foreign_call_make(call, &patience) : -EAGAIN;
}

/* Each process counts as a device of its own. */
static int read_patiently(pid_t pid, uid_t user, const char *name, size_t max, char **data,
			  size_t *size)
{
	struct reading *reading = calloc(1, sizeof(*reading));

	*data = NULL;
	*size = 0;
	if (!reading)
		return -ENOMEM;
	reading->call = (struct foreign_call){.run = run_reading,
					      .returned = destroy_reading,
					      .user = user,
					      .device = 1ull << 62 | (uint32_t)pid,
					      .path = reading->path};
	reading->pid = pid;
	reading->max = max;
	snprintf(reading->name, sizeof(reading->name), "%s", name);
	snprintf(reading->path, sizeof(reading->path), "memory of process %d", (int)pid);
	int r = make_call(&reading->call, name);
	if (r == -ETIMEDOUT)
		return r;
	if (r == 0) {
		r = reading->result;
		*data = reading->data;
		*size = reading->size;
	}
	free(reading);
	return r;
}

/* The kernel takes the lock of the process's mappings for these files. A process can keep that lock as long as it
 * likes: one thread holds it while it waits for a file system, and another thread waits to change mappings. */
static bool needs_memory(const char *name)
{
	return strcmp(name, "cmdline") == 0 || strcmp(name, "environ") == 0 ||
	       strcmp(name, "maps") == 0;
}

int proc_file_read(pid_t pid, const char *name, size_t max, char **data, size_t *size)
{
	uid_t user, effective;

	if (!needs_memory(name) ||
	    (proc_file_users(pid, &user, &effective) == 0 && trusted_user(user)))
		return read_now(pid, name, max, data, size);
	return read_patiently(pid, user, name, max, data, size);
}

/* Returns the text of /proc/PID/stat from field 3 on, or NULL if no process has this pid. The command before it may
 * hold spaces and brackets. Sets *text, to be freed. */
static const char *read_stat(pid_t pid, char **text)
{
	size_t size;

	if (pid <= 0 || proc_file_read(pid, "stat", STAT_MAX, text, &size))
		*text = NULL;
	const char *bracket = *text ? strrchr(*text, ')') : NULL;
	return bracket && bracket[1] == ' ' ? bracket + 2 : NULL;
}

static uint64_t start_ticks_in(const char *stat)
{
	for (int field = STAT_FIRST_FIELD; stat && field < STAT_START_FIELD; field++) {
		stat = strchr(stat, ' ');
		if (stat)
			stat++;
	}
	return stat ? strtoull(stat, NULL, 10) : 0;
}

uint64_t proc_file_start_ticks(pid_t pid)
{
	char *text;
	uint64_t ticks = start_ticks_in(read_stat(pid, &text));

	free(text);
	return ticks;
}

pid_t proc_file_parent(pid_t pid)
{
	char *text;
	const char *stat = read_stat(pid, &text);
	int parent = 0;

	if (stat && sscanf(stat, "%*c %d", &parent) != 1)
		parent = 0;
	free(text);
	return parent;
}

bool proc_file_is_alive(pid_t pid, uint64_t start_ticks)
{
	char *text;
	const char *stat = read_stat(pid, &text);
	bool alive;

	if (stat)
		alive = *stat != 'Z' && *stat != 'X' &&
			(start_ticks == 0 || start_ticks_in(stat) == start_ticks);
	else /* the process is gone, or /proc is closed to us */
		alive = kill(pid, 0) == 0 || errno == EPERM;
	free(text);
	return alive;
}

bool proc_file_is_late(int error)
{
	return error == -EAGAIN || error == -ETIMEDOUT || error == -EHOSTDOWN;
}

char *proc_file_command(pid_t pid, bool *is_late)
{
	char *text;
	size_t size;
	int r = pid > 0 ? proc_file_read(pid, "cmdline", COMMAND_MAX, &text, &size) : -ESRCH;

	if (is_late)
		*is_late = proc_file_is_late(r);
	if (pid <= 0)
		return NULL;
	if (r == 0) {
		while (size > 0 && text[size - 1] == '\0')
			size--;
		for (size_t i = 0; i < size; i++)
			if (text[i] == '\0')
				text[i] = ' ';
		if (size > 0)
			return text;
		free(text);
	}
	if (proc_file_read(pid, "comm", COMMAND_MAX, &text, &size))
		return NULL;
	if (size > 0 && text[size - 1] == '\n')
		text[size - 1] = '\0';
	return text;
}

int proc_file_users(pid_t pid, uid_t *real, uid_t *effective)
{
	char *text;
	size_t size;
	int r = pid > 0 ? proc_file_read(pid, "status", STATUS_MAX, &text, &size) : -ESRCH;

	*real = *effective = (uid_t)-1;
	if (r)
		return r;
	const char *users = strstr(text, "\nUid:");
	r = users && sscanf(users, "\nUid: %u %u", real, effective) == 2 ? 0 : -ESRCH;
	free(text);
	return r;
}

bool proc_file_is_ours(pid_t pid)
{
	char path[32];
	struct stat status;

	snprintf(path, sizeof(path), "/proc/%d", (int)pid);
	return stat(path, &status) == 0 && status.st_uid == geteuid();
}

static uint64_t namespace_of(pid_t pid, const char *kind)
{
	char path[40];
	struct stat status;

	snprintf(path, sizeof(path), "/proc/%d/ns/%s", (int)pid, kind);
	return stat(path, &status) == 0 ? status.st_ino : 0;
}

uint64_t proc_file_pid_namespace(pid_t pid)
{
	return namespace_of(pid, "pid");
}

uint64_t proc_file_time_namespace(pid_t pid)
{
	return namespace_of(pid, "time");
}
