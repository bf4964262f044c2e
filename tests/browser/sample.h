/* A profile that is put together by hand, for a page. One thread. A full table ends the program. */
#ifndef SAMPLE_H
#define SAMPLE_H

#include <stdint.h>

#include "report/writers/html/html_writer.h"

#define MAX_STRINGS 8192u
#define MAX_NODES   750000u /* with their leaves a million frames */
#define MAX_LEAVES  375000u
#define MAX_RANKS   512u
#define MAX_DEVICES 512u

struct sample {
	struct report_tree tree;
	struct html_options options;
	const char *strings[MAX_STRINGS];
	uint32_t frameworks[MAX_STRINGS];
	struct report_node nodes[MAX_NODES];
	struct report_leaf leaves[MAX_LEAVES];
	struct report_process processes[MAX_RANKS];
	struct report_loss losses[8];
	struct report_notice notices[2];
	struct report_memory_row memory[MAX_DEVICES];
};

/* Each returns the index of what it adds, or of an equal one that is there. */
uint32_t sample_add_string(struct sample *sample, const char *text);
uint32_t sample_add_node(struct sample *sample, uint32_t parent, const char *text);
/* The name of a leaf on a GPU, such as "[GPU0_Kernel]gemm"; gpu below 0: not known. kind: enum report_kind. */
uint32_t sample_leaf_name(struct sample *sample, int32_t gpu, uint32_t kind, const char *name);

uint32_t sample_append_node(struct sample *sample, uint32_t parent, uint32_t name);
void sample_add_leaf(struct sample *sample, struct report_leaf leaf); /* and its totals */

/* A kernel of GPU 0 on node01 that ran once, below main(). It is not added yet. */
struct report_leaf sample_kernel_leaf(struct sample *sample, const char *name, uint64_t ns);
void sample_add_process(struct sample *sample, const char *host, const char *command, uint32_t pid,
			int32_t rank, int unclean);
void sample_add_loss(struct sample *sample, const char *reason, uint64_t count, uint64_t ns);
void sample_add_notice(struct sample *sample, const char *text, uint32_t nr_processes);

#endif
