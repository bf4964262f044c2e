/* A running process that somebody names by its pid: what /proc shows of it. */
#ifndef TARGET_PROCESS_H
#define TARGET_PROCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct target_process {
	pid_t pid;
	pid_t own_pid;                    /* as it sees itself, in its own pid namespace */
	unsigned long long pid_namespace; /* its inode; 0: not known */
	unsigned long long start_ticks;   /* when it started; 0: not known */
	uid_t uid;                        /* effective */
	bool has_guest;                   /* our injection library is mapped */
	char *environment; /* owns: that of its start, with a NUL behind each variable */
	size_t environment_size;
	char *command; /* owns; NULL: not known */
};

/* 0; -ESRCH: no such process; -EACCES: it is another user's. On error there is nothing to fini. */
int target_process_init(struct target_process *target, pid_t pid);
void target_process_fini(struct target_process *target);

/* The value of a variable at its start, borrowed; NULL: not set, or empty. */
const char *target_process_variable(const struct target_process *target, const char *name);

#endif
