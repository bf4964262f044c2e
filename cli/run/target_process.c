#include "target_process.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "node-agent/files/proc_file.h"

#define STATUS_MAX      (64u << 10)
#define ENVIRONMENT_MAX (4u << 20)
#define MAPS_MAX        (64u << 20)
#define GUEST_NAME      "/libflamegrid_inject.so"

/* Reads a number from a line of /proc/PID/status: the last one, or Uid's second. */
static bool read_number(const char *status, const char *key, int index, long *number)
{
	const char *line = strstr(status, key);
	bool found = false;

	if (!line)
		return false;
	line += strlen(key);
	for (int i = 0; index < 0 || i <= index; i++) {
		char *end;
		long value = strtol(line, &end, 10);

		if (end == line || memchr(line, '\n', (size_t)(end - line)))
			break;
		*number = value;
		found = true;
		line = end;
	}
	return found;
}

static unsigned long long read_namespace(pid_t pid)
{
	char path[64], text[64];
	unsigned long long inode = 0;

	snprintf(path, sizeof(path), "/proc/%d/ns/pid", (int)pid);
	ssize_t size = readlink(path, text, sizeof(text) - 1);
	text[size > 0 ? size : 0] = '\0';
	return sscanf(text, "pid:[%llu]", &inode) == 1 ? inode : 0;
}

static bool maps_guest(pid_t pid)
{
	char *maps;
	size_t size;
	bool found;

	if (proc_file_read(pid, "maps", MAPS_MAX, &maps, &size) < 0)
		return false;
	found = strstr(maps, GUEST_NAME) != NULL;
	free(maps);
	return found;
}

int target_process_init(struct target_process *target, pid_t pid)
{
	char *status;
	size_t size;
	long number;
	int result = proc_file_read(pid, "status", STATUS_MAX, &status, &size);

	*target = (struct target_process){.pid = pid, .own_pid = pid};
	if (result < 0)
		return -ESRCH;
	if (read_number(status, "\nNSpid:", -1, &number))
		target->own_pid = (pid_t)number;
	if (read_number(status, "\nUid:", 1, &number))
		target->uid = (uid_t)number;
	free(status);
	target->pid_namespace = read_namespace(pid);
	target->start_ticks = proc_file_start_ticks(pid);
	result = proc_file_read(pid, "environ", ENVIRONMENT_MAX, &target->environment,
				&target->environment_size);
	if (result < 0)
		return result == -ENOENT || result == -ESRCH ? -ESRCH : -EACCES;
	target->has_guest = maps_guest(pid);
	target->command = proc_file_command(pid, NULL);
	return 0;
}

const char *target_process_error(int error)
{
	if (error != -EACCES)
		return strerror(-error);
	return "its environment may not be read: it is another user's, or protected (root needs "
	       "CAP_SYS_PTRACE for it)";
}

void target_process_fini(struct target_process *target)
{
	free(target->environment);
	free(target->command);
	*target = (struct target_process){0};
}

const char *target_process_variable(const struct target_process *target, const char *name)
{
	size_t name_size = strlen(name);

	for (const char *at = target->environment;
	     at < target->environment + target->environment_size; at += strlen(at) + 1)
		if (strncmp(at, name, name_size) == 0 && at[name_size] == '=')
			return at[name_size + 1] ? at + name_size + 1 : NULL;
	return NULL;
}
