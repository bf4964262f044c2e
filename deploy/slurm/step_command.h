/* Runs `flamegrid step` for the plugin, in srun and in slurmstepd's tasks. Single-threaded. */
#ifndef STEP_COMMAND_H
#define STEP_COMMAND_H

#include <stddef.h>

/* Runs argv[0], a path, with this environment, its descriptors those of this process that are kept over exec and
 * inherited (-1: none), and waits for its end, half a minute at most; writes what it prints to text, at most size bytes
 * with a NUL. Its exit status; -1: it was not started, printed more, took longer, or was killed. */
int step_command_run(char *const argv[], char *const environment[], int inherited, char *text,
		     size_t size);

#endif
