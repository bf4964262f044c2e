/* What a process writes into /proc about itself: its command's name (the first 15 bytes), and its command line (the
 * rest), which is this program's own memory. Nothing in them changes what the kernel says of the process. */
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "node-agent/files/proc_file.h"

#define COMMAND_NAME_SIZE 16u

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char *line; /* all arguments, which lie behind one another; libFuzzer has copies */
static size_t line_size;
static uint64_t start_ticks;

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	char *last = (*argv)[*argc - 1];

	line = (*argv)[0];
	line_size = (size_t)(last + strlen(last) + 1 - line);
	start_ticks = proc_file_start_ticks(getpid());
	if (!start_ticks)
		abort();
	return 0;
}

static void check_command(const char *name, size_t size)
{
	char *command = proc_file_command(getpid(), NULL);
	size_t end = size;

	if (!command)
		abort();
	while (end > 0 && line[end - 1] == '\0')
		end--;
	if (end == 0) {
		size_t name_size = strlen(name);

		/* The kernel puts the name as it is, and a line's end behind it. */
		if (strlen(command) != name_size || memcmp(command, name, name_size) != 0)
			abort();
	} else {
		if (strlen(command) != end)
			abort();
		for (size_t i = 0; i < end; i++)
			if (command[i] != (line[i] ? line[i] : ' '))
				abort();
	}
	free(command);
}

static void check_nobody(pid_t pid)
{
	uid_t real, effective;

	if (proc_file_start_ticks(pid) || proc_file_parent(pid) || proc_file_command(pid, NULL) ||
	    proc_file_users(pid, &real, &effective) == 0 || real != (uid_t)-1 ||
	    effective != (uid_t)-1 || (pid && proc_file_is_alive(pid, 0)))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char name[COMMAND_NAME_SIZE] = "";
	uid_t real, effective;
	size_t name_size = size < sizeof(name) - 1 ? size : sizeof(name) - 1;

	if (size)
		memcpy(name, data, name_size);
	prctl(PR_SET_NAME, name);
	/* The last byte stays a NUL: without one the kernel goes on with the environment. */
	memset(line, 0, line_size);
	if (size > name_size)
		memcpy(line, data + name_size,
		       size - name_size < line_size - 1 ? size - name_size : line_size - 1);
	if (proc_file_start_ticks(getpid()) != start_ticks ||
	    proc_file_parent(getpid()) != getppid() || !proc_file_is_alive(getpid(), start_ticks) ||
	    proc_file_is_alive(getpid(), start_ticks + 1))
		abort();
	if (proc_file_users(getpid(), &real, &effective) != 0 || real != getuid() ||
	    effective != geteuid())
		abort();
	check_command(name, line_size);
	check_nobody(0);
	check_nobody(INT32_MAX);
	return 0;
}
