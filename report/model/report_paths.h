/* The tree of named frames that a report shows, with the path of each row of totals from the outside in:
 *	launch stack;leaf
 *	launch stack;[captured at];capture stack;leaf
 *	launch stack;[GPU0_Kernel]name;lines of the kernel;[stall]leaf
 * The second form is that of a graph's node whose capture is known. Both stacks are cut (cuda_name_cut.h).
 * A stack of a backward pass is shown as backward_path.h says. Work that no call caused stands under a frame that says
 * so: [unified memory], [CUPTI]. Part of report_build; used by one thread. */
#ifndef REPORT_PATHS_H
#define REPORT_PATHS_H

#include <stdint.h>

#include "report_names.h"
#include "report_tree.h"

#include "aggregator/core/fold_table.h"
#include "aggregator/profile/catalog.h"
#include "report/frames/backward_path.h"
#include "report/frames/frame_class.h"
#include "report/stalls/stall_agreement.h"
#include "report/stalls/stall_split.h"

/* The host of an idle GPU: there is no sample of it; the thread was in no sample, and in no recorded wait; the gaps are
 * too short for samples. */
#define REPORT_PATHS_NO_SAMPLE  "[unknown]"
#define REPORT_PATHS_NOT_ON_CPU "[not on a CPU]"
#define REPORT_PATHS_SHORT_GAPS "[gaps below 10 us]"

struct report_paths;

/* What readers see of stacks; zeroed: everything, and backward work under its forward lines. */
struct report_paths_view {
	enum report_backward backward;
	enum report_frames frames;
	const char *
		frameworks; /* further ones, as of frame_class_framework(); borrowed; may be NULL */
};

/* Makes a tree with a root. catalog and names are borrowed until destroy. NULL: out of memory. report_paths_destroy()
 * accepts NULL. */
struct report_paths *report_paths_create(const struct catalog *catalog, struct report_names *names,
					 const struct report_paths_view *view);
void report_paths_destroy(struct report_paths *paths);

/* Finds *node, the innermost node of the row's path without the leaf itself; it is [unknown stack] if no launch is
 * known. key->kind is an enum report_kind. For idle time copy_kind is an enum idle_cause. Its path ends with the host's
 * activity, "[CPU]", or is only "[unknown]" or "[gaps below 10 us]". The key's stacks must be in the catalog. 0;
 * -EPROTO: a stack is deeper than the wire allows; -ENOMEM. On error *node must not be used. */
int report_paths_find(struct report_paths *paths, const struct fold_key *key, uint32_t *node);

/* Finds *within, a frame with this text under a node. 0 or -ENOMEM. */
int report_paths_mark(struct report_paths *paths, uint32_t node, const char *text,
		      uint32_t *within);

/* Finds *node, the innermost node of a part of a kernel's time without the leaf itself. The kernel is a frame under its
 * launch, and within it are the frames of the sample's place. Where names have no lines, an offset is no frame. gpu: as
 * for report_names_leaf(). The part's stacks must be in the catalog. 0; -EPROTO: a stack is deeper than the wire
 * allows; -ENOMEM. */
int report_paths_stall(struct report_paths *paths, const struct stall_part *part, int32_t gpu,
		       uint32_t *node);

/* Compares both ways of sampling (stall_agreement_make()), with texts' indexes as the names of rows. *agreement is the
 * caller's: free(). */
int report_paths_agreement(struct report_paths *paths, const struct profile *profile,
			   struct stall_agreement **agreement);

/* Returns, for each of the first nr_names texts of report_names, the name of the framework whose frames alone have it,
 * or 0. The caller owns it: free(). NULL: out of memory. */
uint32_t *report_paths_frameworks(const struct report_paths *paths, uint32_t nr_names);

/* Returns a node that was found. Borrowed until the next call. */
const struct report_node *report_paths_node(const struct report_paths *paths, uint32_t node);

/* Returns all nodes made so far, which the caller owns: free(). No node can be found afterwards. */
struct report_node *report_paths_take(struct report_paths *paths, uint32_t *nr_nodes);

#endif
