/* Finds the limits on memory that this process is under. It reads files, and never calls malloc(). */
#ifndef MEMORY_LIMITS_H
#define MEMORY_LIMITS_H

#include <stdint.h>

#define MEMORY_LIMIT_NONE UINT64_MAX

struct memory_limits { /* bytes, or MEMORY_LIMIT_NONE */
	/* the lowest limit of the process's cgroup and of the cgroups above it, as far as they are visible */
	uint64_t cgroup;
	uint64_t machine;            /* the machine's memory */
	uint64_t address_space;      /* RLIMIT_AS */
	uint64_t address_space_used; /* size of all mappings so far; 0: not known */
	uint64_t file;               /* RLIMIT_FSIZE */
	uint64_t thread_stack; /* of a new thread: RLIMIT_STACK, or 8 MiB where that is no limit */
	/* processes of the job on this node, according to its launcher; 1: the launcher does not say */
	uint32_t ranks;
	uint64_t data; /* RLIMIT_DATA */
};

/* Reads all limits. root is ""; for tests it is a folder that holds a proc/self and the mount points of an invented
 * machine. A limit that cannot be read counts as no limit. Keeps errno. */
void memory_limits_read(const char *root, struct memory_limits *limits);

#endif
