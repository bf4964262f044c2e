/* The rows that several tables share. */
#ifndef SHARED_ROWS_H
#define SHARED_ROWS_H

#include "options/option_table.h"

/* clang-format off */
#define ROW_STACKS {"stacks", 0, "MODE[,NATIVE[,PYTHON]]", 0, \
	"Choose a launch's stack: leaf (default), full, native, python or none, and its depths."}
#define ROW_GRAPHS {"graphs", 0, "nodes|launch", 0, \
	"Record CUDA graphs as the nodes that run (default), or as one record a launch: cheaper."}
#define ROW_RECORD {"record", 0, "LIST", OPTION_DAILY, \
	"Record sync,overhead,um,modules,memory,nvtx, all, or stalls."}
#define ROW_API {"api", 0, "LIST", 0, \
	"Count and time calls of CUDA's API: names with * for any text, or runtime, driver, all."}
#define ROW_LINES(usual) {"lines", 0, "on|off", 0, \
	"Put source lines into the names of frames (default: " usual ")."}
#define ROW_INLINES {"inlines", 0, NULL, 0, \
	"Look for source lines and inlined functions of native code: slower."}
#define ROW_SYMBOL_CACHE {"symbol-cache", 0, "DIR|off", 0, \
	"Keep symbol and unwind tables in DIR for the next time."}
#define ROW_NODE_NAME {"node-name", 0, "NAME", 0, \
	"Name this host so in reports (default: Slurm's name, else the host's)."}
#define ROW_DEVICES {"devices", 0, "FILE", 0, \
	"Take the GPUs of this host from FILE, in place of those that hwloc sees."}
#define ROW_STACK_SOURCE {"stack-source", 0, "guest|uprobe|auto", OPTION_EXPERIMENTAL, \
	"Let the processes walk launch stacks (default, and auto), or the kernel."}
#define ROW_SAMPLE_COUNTERS {"sample-counters", 0, "RATE/s", 0, \
	"Sample counters of the GPUs' use so often, by CUPTI in a process of its own: 1000/s."}
#define ROW_RAW_SAMPLES {"raw-samples", 0, "on|off", 0, \
	"Keep each host sample by itself, too (default: off)."}
#define ROW_MAX_SIZE {"max-size", 0, "MIB", 0, \
	"Write at most so much of a profile to the disk."}
#define ROW_INSECURE {"insecure", 0, NULL, 0, \
	"Allow endpoints without keys that other machines can reach, unprotected."}
#define ROW_METRICS {"metrics", 0, "ADDRESS:PORT", 0, \
	"Serve metrics for Prometheus there; a port alone is one of 127.0.0.1."}
#define ROW_UNIT {"unit", 'u', "ns|us", 0, "Choose the unit of folded stacks (default: ns)."}
#define ROW_OUTPUT_FILE {"output", 'o', "FILE", OPTION_DAILY, \
	"Write to FILE, not to standard output (-)."}
#define ROW_PID {"pid", 'p', "PID", OPTION_DAILY, "Take this process."}
#define ROWS_MESSAGES \
	{"quiet", 'q', NULL, OPTION_DAILY, "Print warnings and errors alone."}, \
	{"verbose", 'v', NULL, 0, "Also print messages that help to find a fault."}, \
	{"log-level", 0, "error|warning|notice|info|debug", 0, "Print messages from this level on."}
#define ROWS_HOST_THREADS \
	{"cpu-hz", 0, "N", OPTION_DAILY, \
		"Sample the job's threads on the CPUs N times a second."}, \
	{"off-cpu", 0, "TIME", OPTION_DAILY, \
		"Record waits of the job's threads of at least TIME."}, \
	{"host-calls", 0, "on|off|auto", OPTION_EXPERIMENTAL, "Time calls of CUDA and NCCL from " \
		"the kernel's side, without a guest; auto: where no guest can capture."}, \
	{"stack-copy", 0, "KIB", OPTION_EXPERIMENTAL, "Copy so much of a stack with each " \
		"sample: a multiple of 4, at most 32 (default)."}, \
	{"bpf-buffer", 0, "KIB", OPTION_EXPERIMENTAL, \
		"Set the room for samples between two reads (default: half a second of them)."}
/* clang-format on */

#endif
