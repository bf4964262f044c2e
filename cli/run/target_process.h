/* Reads from /proc about a running process that the user names by its pid. */
#ifndef TARGET_PROCESS_H
#define TARGET_PROCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct target_process {
	pid_t pid;
	pid_t own_pid;                    /* its pid in its own pid namespace */
	unsigned long long pid_namespace; /* the namespace's inode; 0: not known */
	unsigned long long start_ticks;   /* its start; 0: not known */
	uid_t uid;                        /* effective */
	bool has_guest;                   /* our injection library is mapped */
	char *environment; /* owns: its environment at its start, with a NUL behind each variable */
	size_t environment_size;
	char *command; /* owns; NULL: not known */
};

/* Reads the process. 0; -ESRCH: no such process; -EACCES: it is another user's, or protected. No fini is needed after
 * an error. */
int target_process_init(struct target_process *target, pid_t pid);

void target_process_fini(struct target_process *target);

/* Returns a phrase about an error of target_process_init(). Borrowed until the next call. */
const char *target_process_error(int error);

/* Returns the value of a variable at the process's start, borrowed; NULL: not set, or empty. */
const char *target_process_variable(const struct target_process *target, const char *name);

#endif
