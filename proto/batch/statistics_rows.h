/* The rows of STATISTICS messages (message.h): sums of one process so far, by key. Plain data. */
#ifndef STATISTICS_ROWS_H
#define STATISTICS_ROWS_H

#include <stdint.h>

#include "proto/kernel_config.h"

/* The calls of one function of CUDA's API. Its key: domain, cbid, error. */
struct message_api_call {
	uint32_t domain; /* enum statistics_domain */
	uint32_t cbid;   /* CUPTI's, of that domain */
	/* 0: the row is of all calls; else of the calls that returned this error, and only its count has a meaning */
	uint32_t error;
	uint32_t name; /* string id of the function */
	uint64_t count, total_ns, min_ns, max_ns;
	uint64_t errors;
};

/* The launches of one kernel with one configuration. Its key: config. */
struct message_kernel_config {
	struct kernel_config config; /* its name is a string id, 0: the name was lost */
	uint64_t count, total_ns, min_ns, max_ns;
};

/* One metric of the measured launches of a kernel from one stack. Its key: device_id, stack_id, name_id, metric. */
struct message_kernel_metric {
	uint32_t device_id; /* CUDA ordinal */
	uint32_t stack_id;  /* node id */
	uint32_t name_id;   /* string id of the kernel, 0: the name was lost */
	uint32_t metric;    /* string id */
	uint64_t nr_passes; /* launches that one measurement takes, above 0 */
	uint64_t count;     /* measurements; 0: none had a number, and the others are 0 */
	uint64_t total_ns;  /* of their launches */
	/* the bits of a double each (kernel_metric.h), over the measurements */
	uint64_t sum, min, max;
};

#endif
