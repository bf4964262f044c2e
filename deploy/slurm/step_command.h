/* Runs `flamegrid step` for the plugin, in srun and in slurmstepd's tasks. Single-threaded. */
#ifndef STEP_COMMAND_H
#define STEP_COMMAND_H

#include <stddef.h>

/* Runs argv[0], a path, with this environment, and waits for its end, half a minute at most. It inherits the
 * descriptors that stay open over exec, and `inherited` (-1: none). Its output goes to text, at most size bytes with a
 * NUL. Returns its exit status; -1: it was not started, printed too much, took too long, or was killed. */
int step_command_run(char *const argv[], char *const environment[], int inherited, char *text,
		     size_t size);

#endif
