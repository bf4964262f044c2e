/* The process that exports an aggregator's profiles: `flamegrid export --follow`. It outlives the aggregator by one
 * last export. Nothing in it delays the aggregator. Any thread. */
#ifndef EXPORTER_H
#define EXPORTER_H

struct exporter_options {
	const char *program;    /* path of `flamegrid` */
	const char *target;     /* path of its file (export_target.h) */
	const char *store_path; /* of the aggregator's own profile */
	const char *jobs_path;  /* NULL: none */
};

/* Starts the process. It knows the end of this one by a pipe, whose descriptor stays open as long as this process
 * runs. 0 or -errno. */
int exporter_start(const struct exporter_options *options);

#endif
