#include "descendants.h"

#include <dirent.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "bpf_ring.h"

#include "bpf/sample_event.h"
#include "node-agent/files/proc_file.h"

/* Watches processes whose parent is watched. Returns whether it found a new one. */
static bool watch_children(struct bpf_ring *ring)
{
	DIR *processes = opendir("/proc");
	const struct dirent *entry;
	struct watched watched;
	bool found = false;

	while (processes && (entry = readdir(processes))) {
		pid_t pid = (pid_t)atoi(entry->d_name);

		if (pid > 0 && !bpf_ring_lookup(ring, pid, &watched) &&
		    bpf_ring_lookup(ring, proc_file_parent(pid), &watched) &&
		    !(watched.flags & WATCHED_CHILDREN_ONLY))
			found |= bpf_ring_watch(ring, pid, 0, 0) == 0;
	}
	if (processes)
		closedir(processes);
	return found;
}

/* Each process is watched before its children are looked for, so its later children are caught. Rounds end when a round
 * finds nothing new. */
int descendants_watch(struct bpf_ring *ring, pid_t pid)
{
	int r = bpf_ring_watch(ring, pid, 0, 0);

	while (r == 0 && watch_children(ring))
		continue;
	return r;
}
