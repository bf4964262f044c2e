/* The process that exports an aggregator's profiles: `flamegrid export --follow`. It outlives the aggregator by one
 * last export. Nothing in it delays the aggregator. Used by one thread. */
#ifndef EXPORTER_H
#define EXPORTER_H

#include <stdint.h>
#include <sys/types.h>

#define EXPORTER_RESTART_S 60u /* from the end of the process to the next start */

struct exporter_options {
	const char *program;    /* path of `flamegrid` */
	const char *target;     /* path of its file (export_target.h) */
	const char *store_path; /* of the aggregator's own profile */
	const char *jobs_path;  /* NULL: none */
};

struct exporter {
	struct exporter_options options; /* its strings are borrowed for good */
	pid_t pid;                       /* 0: there is no process */
	int end_fd; /* of the pipe that tells the process of our end; while there is one */
	uint64_t start_at_ns; /* of the next process */
};

/* No process is started yet. */
void exporter_init(struct exporter *exporter, const struct exporter_options *options);

/* Starts the process if there is none and it is time, and looks whether it has ended. The end and a failed start are
 * logged. The process ignores SIGTERM. It knows the end of this one by a pipe, which stays open as long as this process
 * runs. Accepts NULL. */
void exporter_step(struct exporter *exporter, uint64_t now_ns);

#endif
