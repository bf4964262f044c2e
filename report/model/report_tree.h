/* A profile for readers: frames have names, equal paths are merged, and there is one leaf for each (host, rank,
 * process, GPU, context, stream, thread, step kind, path, GPU activity). Every report writer reads only this tree, so
 * that all formats agree to the nanosecond. report_tree_build() (report_build.h) makes it. Single-threaded; immutable
 * afterwards. */
#ifndef REPORT_TREE_H
#define REPORT_TREE_H

#include <stdbool.h>
#include <stdint.h>

#include "report_kind.h"
#include "report_plane.h"

#include "aggregator/core/duration_bins.h"
#include "report/metrics/report_metrics.h"
#include "report/profile/profile_cost.h"
#include "report/resource/resource_confidence.h"
#include "report/resource/resource_usage.h"

#define REPORT_NODE_ROOT 0u /* nodes[0]: the empty path; its parent is itself, its name string 0 */
#define REPORT_DEPTH_MAX 20480u /* no path is deeper */
#define REPORT_RANK_NONE (-1)
#define REPORT_GPU_NONE  (-1)
#define REPORT_GPU_ANY   (-3) /* of names alone: whichever GPU it is */

/* One frame under its parent. Children follow their parents: nodes[i].parent < i for i > 0. */
struct report_node {
	uint32_t parent; /* index into nodes */
	uint32_t name;   /* index into strings */
};

/* Exact totals of one activity under one host path. Leaves of different planes must never be added. */
struct report_leaf {
	uint32_t node; /* index into nodes: the innermost host frame (REPORT_NODE_ROOT: none) */
	/* index into strings: the leaf frame, "[GPU0_Kernel]gemm", "[GPU1_Memcpy]HtoD", "[GPU0_Graph]" */
	uint32_t name;
	uint32_t job;        /* index into strings: "job 4711"; 0: none, or not known */
	uint32_t host;       /* index into strings: node name */
	uint32_t process;    /* index into processes */
	int32_t rank;        /* REPORT_RANK_NONE: not known */
	int32_t gpu;         /* physical index on its host; REPORT_GPU_NONE: device not known */
	uint32_t context_id; /* CUPTI's, unique within a process */
	uint32_t stream_id;  /* CUPTI's, unique within a context */
	uint32_t tid;        /* launching thread, 0: not known */
	/* index into strings: "stream13 \"prefetch\" (priority -1)"; 0: only the id is known */
	uint32_t stream;
	/* index into strings: "green context2 (16 SMs)"; 0: only the id is known */
	uint32_t context;
	uint32_t step; /* index into strings: "[step] prefill"; 0: other, or not wanted */
	uint32_t kind; /* enum report_kind */
	bool is_pause; /* of idle time: it is in a pause (idle_fold.h) */
	uint64_t count, ns, bytes;
	/* Of kinds of resources alone: what the work used of them (resource.h), those that are known, a set, and how
	 * sure each is: of several parts the least. */
	uint64_t amounts[RESOURCES];
	uint32_t resources;
	uint8_t confidence[RESOURCES]; /* enum resource_confidence */
	/* The histogram of its durations, of whole kernels also where the leaf is a part of them: then the first part
	 * has it, and the other ones have an empty one. Not known of all of it: false, and it is empty. */
	bool has_durations;
	struct duration_bins durations; /* the tree's */
};

/* Samples of a kernel without a record name no stream, and no context; nor do amounts that no work takes. */
static inline bool report_leaf_has_stream(const struct report_leaf *leaf)
{
	return report_kind_has_stream(leaf->kind) &&
	       ((leaf->kind != REPORT_KIND_STALL && !report_kind_is_resource(leaf->kind)) ||
		leaf->context_id);
}

struct report_process {
	uint32_t job;     /* as of a leaf */
	uint32_t host;    /* index into strings */
	uint32_t command; /* index into strings: command line */
	uint32_t pid;     /* as seen in the host's initial namespace, or by the agent */
	int32_t rank;
	int unclean; /* nonzero: ended without a goodbye; its last moments may be missing */
};

/* A line of the ledger: lost records and the reason, or another state that is worth a line. */
struct report_loss {
	uint32_t reason; /* index into strings, e.g. "ring_full", "invalid_time", "cupti_dropped" */
	uint32_t text;   /* index into strings: English text of the reason (ledger_reason_text()) */
	int lost;        /* nonzero: missing from the totals; else noted */
	uint64_t count;  /* records, or launches, as the reason's text says */
	uint64_t ns;     /* of GPU time where it is known, else 0 */
};

/* Exact sums of all records of a plane, shown or not. */
struct report_plane_total {
	uint64_t count, ns, bytes;
	uint64_t amounts[RESOURCES]; /* of the plane's resources, if its leaves are here */
};

/* A line that processes reported: a fault, or a fact worth knowing. */
struct report_notice {
	uint32_t text;         /* index into strings */
	uint32_t nr_processes; /* processes that reported it */
};

/* The memory of a process on one device, in one memory space. */
struct report_memory_row {
	uint32_t host;    /* index into strings */
	uint32_t process; /* index into processes */
	uint32_t pid;
	int32_t rank;   /* REPORT_RANK_NONE */
	int32_t gpu;    /* REPORT_GPU_NONE */
	uint32_t space; /* enum memory_space */
	int ended;      /* nonzero: the process has ended, so live memory was never freed */
	uint64_t allocs, alloc_bytes, frees, free_bytes;
	uint64_t live_count, live_bytes;
	uint64_t peak_bytes;
	uint64_t peak_after_ns; /* since the process's first record on a GPU */
	uint64_t unknown_frees; /* frees of memory whose allocation was not seen */
	uint64_t left_out;      /* events left out; nonzero: the figures are not exact */
};

/* A resource of a class of work (resource_usage.h). */
struct report_resource_value {
	uint64_t amount;
	uint64_t
		rate; /* what a second of it adds to what there is without work, as fitted; 0: not known */
	uint64_t error_rate; /* RESOURCE_RATE_UNKNOWN: not known */
	double apart;        /* how much of its time does not follow from other work's, 0 to 1 */
	enum resource_confidence confidence;
};

/* A kernel, a kind of copies, or all work that is none of these. */
struct report_resource_class {
	uint32_t name; /* index into strings; 0: all other work */
	uint64_t ns;
	struct report_resource_value values[RESOURCES];
};

/* A resource of a GPU (report/resource/resource_split.h). */
struct report_resource {
	uint64_t ns;     /* between readings; 0: the resource is not known */
	uint64_t amount; /* exact: the sum of the next three */
	uint64_t idle, work, rest;
	uint64_t lost_ns;   /* time in which the resource was not known, or began anew */
	uint32_t idle_kind; /* enum resource_idle */
	uint64_t idle_rate; /* 0: not known */
	enum resource_confidence idle_confidence, rest_confidence;
	uint32_t intervals; /* with work, by which rates were fitted; 0: they were not */
	enum resource_unfitted unfitted; /* why they were not */
	double residual; /* what the fit misses, as a share of these intervals' amount */
	uint64_t
		sample_ns; /* the length of these intervals, if they are samples; 0: they are rows of telemetry */
	double sample_mismatch; /* by how much samples and telemetry differ, as a share of the amount */
};

/* The resources of a GPU. */
struct report_gpu_usage {
	uint32_t host; /* index into strings */
	int32_t gpu;   /* REPORT_GPU_NONE */
	struct report_resource resources[RESOURCES];
	struct report_resource_class classes
		[RESOURCE_CLASSES]; /* by energy if that is wanted, else by time: most first */
	uint32_t nr_classes;
};

struct stall_agreement; /* report/stalls/stall_agreement.h */

/* The completeness of a profile (report_completeness.h). */
enum report_state {
	REPORT_COMPLETE = 0,
	REPORT_STOPPED = 1,
	REPORT_LIVE = 2,
	REPORT_EMPTY = 3,
	REPORT_INCOMPLETE = 4,
};

struct report_tree {
	const char *const *strings; /* UTF-8, NUL-terminated, no control characters */
	uint32_t nr_strings;
	/* for each string, the string of the framework whose frames alone have that name; 0: there is none; NULL: not
	 * known, or frameworks are folded already */
	const uint32_t *frameworks;
	const struct report_node *nodes;
	uint32_t nr_nodes;
	const struct report_leaf *leaves;
	uint32_t nr_leaves;
	/* dimensions in which a leaf may stand for several values, because there were too many leaves
	 * (report_options.leaves_most): a set, 1 << enum report_dimension */
	uint32_t leaves_given_up;
	bool steps; /* leaves have the kinds of their steps (report_options.steps) */
	const struct report_process *processes;
	uint32_t nr_processes;
	const struct report_loss *losses; /* only those with count > 0 */
	uint32_t nr_losses;
	struct profile_cost cost;            /* of profiling itself */
	const struct report_notice *notices; /* each text once; the most frequent first */
	uint32_t nr_notices;
	/* by host, GPU (none: last), process, space; empty: memory was not recorded */
	const struct report_memory_row *memory;
	uint32_t nr_memory;

	uint32_t planes; /* planes whose leaves are here: a set, 1 << enum report_plane */
	struct report_plane_total plane_totals[REPORT_PLANES];
	uint64_t pause_ns; /* of the idle time: in pauses */
	/* how far continuous and exact samples agree; a row's name is an index into strings; NULL: the plane of
	 * stalls is not here */
	const struct stall_agreement *agreement;

	/* Sums of GPU work, whether or not its leaves are here, and totals of the ledger, for the closing line of every
	 * report. */
	uint64_t kernels, kernel_ns; /* kernel records folded */
	uint64_t copies, copy_ns;    /* memcpy and memset records folded */
	uint64_t fills, memset_ns;   /* memset records among these */
	uint64_t graphs, graph_ns;   /* whole graphs folded */
	uint64_t matched;            /* records of these kinds that have a launch */
	uint64_t launches,
		launches_failed; /* seen on the host; failed: the API returned an error */
	uint64_t lost;           /* records known to be missing: the sum of losses */
	enum report_state state;
	const char *verdict; /* one line about the state; "": it adds nothing to the losses */
	const char *title;   /* job or command, for headings */
	/* by host and GPU; empty: the counter is not known, or the plane is not wanted */
	struct report_gpu_usage *usage; /* of the resources of planes that are here */
	uint32_t nr_usage;
	const struct report_metrics *metrics; /* NULL: nothing was measured */
	bool was_to_measure; /* the run had --metrics; not known of those of older agents */
	bool was_to_sample;  /* the run had --record stalls, or --sample-gpu; as before */
	bool is_part; /* of another profile, by time: it has GPU work and waits alone (profile_slice.h) */
	int simulated; /* nonzero: the GPUs were simulated, every output says so */
};

/* Fills chain with the nodes of a path, innermost first, and returns their number, at most REPORT_DEPTH_MAX. */
static inline uint32_t report_tree_path(const struct report_node *nodes, uint32_t node,
					uint32_t chain[static REPORT_DEPTH_MAX])
{
	uint32_t depth = 0;

	for (; node != REPORT_NODE_ROOT && depth < REPORT_DEPTH_MAX; node = nodes[node].parent)
		chain[depth++] = node;
	return depth;
}

#endif
