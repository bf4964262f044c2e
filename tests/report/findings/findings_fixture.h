/* A run put together by hand, and what is found of it. Every call is asserted. */
#ifndef FINDINGS_FIXTURE_H
#define FINDINGS_FIXTURE_H

#include "report/findings/findings.h"

#define MS                  1000000ull
#define FINDINGS_NAMES_MAX  64u
#define FINDINGS_LEAVES_MAX 32u
#define FINDINGS_GPUS_MAX   16u

/* A tree that is put together leaf by leaf. */
struct plant {
	const char *strings[FINDINGS_NAMES_MAX];
	struct report_node nodes[FINDINGS_NAMES_MAX];
	struct report_leaf leaves[FINDINGS_LEAVES_MAX];
	struct report_memory_row memory;
	struct report_loss loss;
	struct report_tree tree;
};

/* A clean run of two GPUs, each busy for 950 of 1,000 ms. */
struct findings_run {
	struct plant work, hosts, allocs;
	struct report_busy_row busy[FINDINGS_GPUS_MAX];
	struct gpu_row rows[FINDINGS_GPUS_MAX];
	struct gpu_rows gpus;
	struct report_ranks_row rank_rows[FINDINGS_GPUS_MAX];
	struct report_ranks ranks;
	struct report_config configs[4];
	struct report_statistics statistics;
	struct findings_input input;
};

extern struct findings_run findings_run;

/* Empties a tree. */
void findings_plant_begin(struct plant *plant);

/* Returns the text's number; equal texts are one. */
uint32_t findings_plant_string(struct plant *plant, const char *text);

/* Returns the new node. */
uint32_t findings_plant_node(struct plant *plant, uint32_t parent, const char *name);

/* Adds a leaf under line;call, or under the line alone (call NULL). node: what calls the line. */
void findings_plant_below(struct plant *plant, uint32_t node, uint32_t kind, const char *line,
			  const char *call, const char *name, int32_t gpu, uint64_t count,
			  uint64_t ns);

void findings_plant_leaf(struct plant *plant, uint32_t kind, const char *line, const char *call,
			 const char *name, int32_t gpu, uint64_t count, uint64_t ns);

/* A GPU of node0, with a rank of its number. */
void findings_plant_gpu(uint32_t number, uint64_t busy_ns, uint64_t idle_ns);

/* A kernel's configuration, in place i. */
void findings_plant_config(uint32_t i, const char *name, uint64_t total_ns, uint32_t blocks,
			   uint32_t warps);

/* cmocka's set-up: the clean run. */
int findings_set_up(void **state);

/* Nothing is found. */
void findings_assert_none(void);

/* Just that is found. text, evidence NULL: any. */
void findings_assert_finding(const char *kind, const char *text, const char *evidence);

#endif
