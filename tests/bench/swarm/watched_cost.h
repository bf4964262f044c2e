/* What another process of this host has cost so far. Single-threaded. */
#ifndef WATCHED_COST_H
#define WATCHED_COST_H

#include <stdint.h>

struct watched_cost {
	uint64_t cpu_ns;        /* of all of its threads, also of those that have ended */
	uint64_t written_bytes; /* given to write() and its relatives, without sockets */
	uint64_t disk_bytes;    /* that it made the disk write; 0 on tmpfs */
	uint64_t rss_bytes, peak_rss_bytes;
};

/* 0 or -errno: the process is not there, or may not be looked at; *cost is then zero. */
int watched_cost_read(int pid, struct watched_cost *cost);

#endif
