/* What PyTorch's profiler does with CUPTI, in a library that imports it: subscribes once, before its first session, and
 * gives up GPU records for the life of the process if that fails; asks with the subscription for contexts alone; takes
 * the records by the activity API, and none at all if by the end of a session all of its buffers have come by
 * themselves. Single-threaded but for CUPTI's callbacks. */
#ifndef KINETO_SESSION_H
#define KINETO_SESSION_H

struct kineto_session_results { /* CUptiResult each */
	int subscribe, created, destroyed, runtime_domain, resource_domain, unsubscribe, finalize;
	unsigned int nr_created; /* contexts that it was told of */
	unsigned long long recorded;
};

/* Functions of this table are what kineto_session_table() returns. */
struct kineto_session {
	void (*begin)(void);
	void (*end)(void);
	/* Gives the subscription back, and ends CUPTI. */
	void (*tear_down)(void);
	struct kineto_session_results results;
};

typedef struct kineto_session *kineto_session_table_fn(void);

struct kineto_session *kineto_session_table(void);

#endif
