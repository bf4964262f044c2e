/* Finds obstacles to profiling on this machine, for this user, in this environment: one finding for each subject. It
 * only looks: it starts no process, and loads no library but NVML, in a thread (nvml_answer.h). But
 * diagnosis_ask_counters() does start one. Single-threaded. */
#ifndef DIAGNOSIS_H
#define DIAGNOSIS_H

#include <stddef.h>

#define DIAGNOSIS_MAX      20u
#define DIAGNOSIS_TEXT_MAX 1200u

enum diagnosis_verdict {
	DIAGNOSIS_GOOD = 0,
	DIAGNOSIS_NOTE = 1,    /* an optional part will be missing, or may surprise the user */
	DIAGNOSIS_PROBLEM = 2, /* a run would have no GPU work in it, or would fail */
};

struct diagnosis_finding {
	const char *subject; /* static: a word or two */
	enum diagnosis_verdict verdict;
	char text[DIAGNOSIS_TEXT_MAX];   /* the finding */
	char remedy[DIAGNOSIS_TEXT_MAX]; /* the remedy; "": no action is needed */
};

struct diagnosis {
	size_t count;
	struct diagnosis_finding findings[DIAGNOSIS_MAX];
};

/* Makes all findings. program: argv[0], which leads to the installation. */
void diagnosis_make(struct diagnosis *diagnosis, const char *program);

/* Adds one that tells whether the counters of GPUs can be sampled here. It starts a process (counters_answer.h), and
 * takes seconds. Without GPUs it adds none. */
void diagnosis_ask_counters(struct diagnosis *diagnosis, const char *program);

/* Returns the worst verdict of all findings. */
enum diagnosis_verdict diagnosis_verdict(const struct diagnosis *diagnosis);

#endif
