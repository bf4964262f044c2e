/* The processes that are members of a node keeper (node_keeper.h). Pure but for the first function. */
#ifndef NODE_MEMBERS_H
#define NODE_MEMBERS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum member_state {
	MEMBER_COMES,
	MEMBER_BRINGS_TASK,
	MEMBER_RUNS,
	MEMBER_WAITS_FOR_PASS,
	MEMBER_WAITS_FOR_ACK,
	MEMBER_ANSWERED
};

struct member {
	int fd;
	enum member_state state;
	bool leaves;
	pid_t pid;         /* 0: the process is in a pid namespace that we cannot see */
	uint64_t target;   /* the number of watches, then of passes, then of frames to wait for */
	uint64_t ended_ns; /* end of its processes, for which it waits since then */
};

/* The process at the other end of a socket; 0: it is in a pid namespace that we cannot see. */
pid_t node_members_pid(int fd);

/* Counts those that do not leave. */
int node_members_staying(const struct member *members, int nr_members);

/* Returns the end of the last rank, for which the others may still wait; now_ns: none has told its end. */
uint64_t node_members_waits_since_ns(const struct member *members, int nr_members, uint64_t now_ns);

/* Returns the end of the last rank; 0: a rank runs, none has come, or those that have were killed. */
uint64_t node_members_ended_ns(const struct member *members, int nr_members);

#endif
