#include "export_rows.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "export_places.h"

#include "base/error_text.h"
#include "base/memory_text.h"
#include "report/model/kind_name.h"
#include "report/model/report_dimension.h"
#include "report/model/report_plane.h"
#include "report/model/report_split.h"
#include "report/writers/json_text.h"

/* Host and rank stay where there are too many leaves; streams, threads and contexts are in no row. */
const struct report_options export_rows_options = {
	.planes = REPORT_PLANES_ALL,
	.leaves_most = REPORT_LEAVES_MOST,
	.leaves_kept = 1u << REPORT_BY_HOST | 1u << REPORT_BY_GPU | 1u << REPORT_BY_RANK |
		       1u << REPORT_BY_JOB,
};

/* The reason of an incomplete profile: fixed, unlike its verdict, so that it is one sum. */
#define INCOMPLETE "the profile is incomplete: an unknown amount is missing"

struct filling {
	struct export_journal *journal;
	const struct report_tree *tree;
	struct export_places *places;
	uint64_t *hashes;                /* of nodes; 0: the root */
	const struct report_leaf *place; /* whose label is the next one */
	int64_t place_id;
	int64_t work_id;
	char **error;
};

/* ---- stacks */

/* Spreads every bit of a word over all bits (the finalizer of MurmurHash3). */
static uint64_t spread(uint64_t word)
{
	word ^= word >> 33;
	word *= 0xff51afd7ed558ccdull;
	word ^= word >> 33;
	word *= 0xc4ceb9fe1a85ec53ull;
	return word ^ word >> 33;
}

/* FNV-1a. The result is stored, so it must be the same for ever. */
static uint64_t hash_text(const char *text)
{
	uint64_t hash = 0xcbf29ce484222325ull;

	for (; *text; text++)
		hash = (hash ^ (unsigned char)*text) * 0x100000001b3ull;
	return spread(hash);
}

/* Names a stack by its frames, not by its ids, so that it has one name in all profiles. */
static uint64_t *hash_stacks(const struct report_tree *tree)
{
	uint64_t *hashes = calloc(tree->nr_nodes + 1ul, sizeof(*hashes));

	for (uint32_t i = 1; hashes && i < tree->nr_nodes; i++) {
		const struct report_node *node = &tree->nodes[i];
		uint64_t hash = spread(hashes[node->parent] * 0x9e3779b97f4a7c15ull +
				       hash_text(tree->strings[node->name]));

		hashes[i] = hash ? hash : 1;
	}
	return hashes;
}

/* ---- labels */

static bool same_place(const struct report_leaf *a, const struct report_leaf *b)
{
	return a && a->job == b->job && a->host == b->host && a->rank == b->rank &&
	       a->gpu == b->gpu;
}

static int label_place(struct filling *filling, const struct report_leaf *leaf)
{
	size_t size;

	if (same_place(filling->place, leaf))
		return 0;
	const char *text = export_places_text(filling->places, leaf, &size);
	filling->place = leaf;
	return text ? export_journal_label(filling->journal, text, size, &filling->place_id,
					   filling->error)
		    : -ENOMEM;
}

/* "gemm" of "[GPU0_Kernel]gemm"; "" of a leaf that is a kind alone. */
static const char *work_name(const char *leaf)
{
	const char *end = *leaf == '[' ? strchr(leaf, ']') : NULL;

	return end ? end + 1 : leaf;
}

static const char *kind_of(const struct report_tree *tree, const struct report_leaf *leaf)
{
	const char *frame = tree->strings[tree->nodes[leaf->node].name];

	return leaf->kind == REPORT_KIND_KERNEL && strncmp(frame, REPORT_SPLIT_WAITS_FOR,
							   strlen(REPORT_SPLIT_WAITS_FOR)) == 0
		       ? "nccl_wait"
		       : kind_name_column(leaf->kind);
}

/* Closes the text, and finds its id in the journal. */
static int take_label(struct filling *filling, struct memory_text *memory, int64_t *id)
{
	char *text;
	size_t size;
	int status = memory_text_take(memory, &text, &size);

	if (!status)
		status = export_journal_label(filling->journal, text, size, id, filling->error);
	free(text);
	return status;
}

static int label_work(struct filling *filling, const struct report_leaf *leaf)
{
	const struct report_tree *tree = filling->tree;
	struct memory_text memory;
	int status = memory_text_open(&memory);

	if (status)
		return status;
	FILE *out = memory.out;
	json_text_member(out, "plane", report_plane_name(report_plane_of(leaf->kind)));
	json_text_member(out, "kind", kind_of(tree, leaf));
	fputs("\"name\":", out);
	json_text_write(out, work_name(tree->strings[leaf->name]));
	return take_label(filling, &memory, &filling->work_id);
}

/* ---- rows */

static int add_leaf(struct filling *filling, uint32_t index)
{
	const struct report_leaf *leaf = &filling->tree->leaves[index];
	int status = label_place(filling, leaf);

	if (!status)
		status = label_work(filling, leaf);
	if (status)
		return status;
	const struct export_row row = {.kind = EXPORT_WORK,
				       .place = filling->place_id,
				       .work = filling->work_id,
				       .stack = filling->hashes[leaf->node],
				       .count = leaf->count,
				       .ns = leaf->ns,
				       .bytes = leaf->bytes};
	return export_journal_add(filling->journal, &row, index, filling->error);
}

static int add_loss(struct filling *filling, const char *reason, bool lost, uint64_t count,
		    uint64_t ns)
{
	struct export_row row = {
		.kind = EXPORT_LOSSES, .place = filling->place_id, .count = count, .ns = ns};
	struct memory_text memory;
	int status = memory_text_open(&memory);

	if (status)
		return status;
	FILE *out = memory.out;
	json_text_member(out, "reason", reason);
	fprintf(out, "\"lost\":%d", lost);
	status = take_label(filling, &memory, &row.work);
	return status ? status : export_journal_add(filling->journal, &row, 0, filling->error);
}

static int add_losses(struct filling *filling)
{
	const struct report_tree *tree = filling->tree;
	size_t size;
	const char *text = export_places_text(filling->places, NULL, &size);
	int status = text ? export_journal_label(filling->journal, text, size, &filling->place_id,
						 filling->error)
			  : -ENOMEM;

	for (uint32_t i = 0; i < tree->nr_losses && !status; i++) {
		const struct report_loss *loss = &tree->losses[i];

		status = add_loss(filling, tree->strings[loss->reason], loss->lost != 0,
				  loss->count, loss->ns);
	}
	if (!status && tree->state == REPORT_INCOMPLETE)
		status = add_loss(filling, INCOMPLETE, true, 1, 0);
	return status;
}

int export_rows_fill(struct export_journal *journal, const struct report_view *view,
		     const char *user, enum export_kind kind, uint64_t *rows, bool *fell,
		     char **error)
{
	const bool only_grows = kind == EXPORT_PYROSCOPE;
	const struct report_tree *tree = view->tree;
	struct filling filling = {.journal = journal,
				  .tree = tree,
				  .places = export_places_create(view->profile, tree, user, kind),
				  .hashes = hash_stacks(tree),
				  .error = error};
	int status = filling.places && filling.hashes ? 0 : -ENOMEM;

	*rows = 0;
	*fell = false;
	if (!status)
		status = export_journal_begin(journal, error);
	for (uint32_t i = 0; i < tree->nr_leaves && !status; i++)
		status = add_leaf(&filling, i);
	/* Pyroscope has no place for them. */
	if (!status && kind == EXPORT_CLICKHOUSE)
		status = add_losses(&filling);
	if (!status)
		status = export_journal_end(journal,
					    profile_has_note(view->profile, STORE_NOTE_DAMAGED),
					    only_grows, rows, fell, error);
	export_places_destroy(filling.places);
	free(filling.hashes);
	return status;
}
