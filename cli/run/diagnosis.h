/* What stands in the way of profiling on this machine, for this user, in this environment: one finding a subject. Looks
 * only: loads no library, starts nothing. Single-threaded. */
#ifndef DIAGNOSIS_H
#define DIAGNOSIS_H

#include <stddef.h>

#define DIAGNOSIS_MAX      16u
#define DIAGNOSIS_TEXT_MAX 1200u

enum diagnosis_verdict {
	DIAGNOSIS_GOOD = 0,
	DIAGNOSIS_NOTE = 1,    /* something that is on request will be missing, or may surprise */
	DIAGNOSIS_PROBLEM = 2, /* a run would have no GPU work in it, or fail */
};

struct diagnosis_finding {
	const char *subject; /* static: a word or two */
	enum diagnosis_verdict verdict;
	char text[DIAGNOSIS_TEXT_MAX];   /* what was found */
	char remedy[DIAGNOSIS_TEXT_MAX]; /* what to do about it; "": nothing is to be done */
};

struct diagnosis {
	size_t count;
	struct diagnosis_finding findings[DIAGNOSIS_MAX];
};

/* Asks everything. program: argv[0], by which the installation is found. */
void diagnosis_make(struct diagnosis *diagnosis, const char *program);

/* The worst of all findings. */
enum diagnosis_verdict diagnosis_verdict(const struct diagnosis *diagnosis);

#endif
