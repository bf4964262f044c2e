#include "straggler_work.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "straggler_question.h"
#include "straggler_timed.h"

#include "aggregator/profile/catalog.h"
#include "aggregator/profile/collective_folds.h"
#include "aggregator/profile/nccl_kernel.h"
#include "aggregator/profile/roster.h"
#include "aggregator/store/database.h"
#include "aggregator/store/store_schema.h"
#include "base/array.h"
#include "base/hash_index.h"
#include "report/model/report_paths.h"
#include "report/model/report_samples.h"
#include "report/names/gpu_wait.h"
#include "report/profile/profile.h"
#include "report/profile/profile_kept.h"
#include "report/profile/straggler_rank.h"

#define NOBODY    UINT32_MAX
#define KEPT_MIN  4.0 /* collectives: fewer ones of a run that is kept in part are chance */
#define FUTEX     "[Off-CPU]futex"
#define RUN_QUEUE "[Off-CPU]" HOST_SAMPLE_RUN_QUEUE
#define PREEMPTED "[Off-CPU]" HOST_SAMPLE_PREEMPTED

struct leaf {
	uint32_t node, name;
};

/* A party's amount at a leaf. */
struct row {
	uint32_t leaf, party, sort;
	double ns, count;
};

enum times {
	TIMES_RUN,     /* the whole run: there are no windows */
	TIMES_WINDOWS, /* the question's windows */
	TIMES_NONE,    /* too little of the windows is kept */
};

struct straggler_work {
	const struct profile *profile;
	const struct straggler_question *question;
	struct report_names *names;
	struct report_paths *paths; /* NULL once all nodes are known */
	struct report_node *nodes;
	uint32_t nr_nodes;
	struct leaf *leaves;
	uint32_t nr_leaves, room_leaves;
	struct row *rows;
	uint32_t nr_rows, room_rows;
	struct hash_index leaf_index, row_index;
	uint32_t *party_of; /* by process; NOBODY */
	uint64_t *threads;  /* process << 32 | tid, sorted: threads that collectives wait for */
	uint32_t nr_threads;
	uint8_t *gpu_waits; /* by node: enum gpu_wait */
	uint32_t room_gpu_waits;
	uint32_t planes;
	enum times host, gpu; /* the times of these that are compared */
};

/* Whether a node lies in a wait for the GPU. */
enum gpu_wait { GPU_WAIT_OPEN = 0, GPU_WAIT_NO, GPU_WAIT_YES };

/* ---- processes, parties and threads */

static int find_parties(struct straggler_work *work)
{
	const struct roster *roster = work->profile->collection->roster;
	uint32_t nr_processes = roster_size(roster).processes;

	work->party_of = malloc((nr_processes + 1ul) * sizeof(*work->party_of));
	if (!work->party_of)
		return -ENOMEM;
	memset(work->party_of, 0xff, (nr_processes + 1ul) * sizeof(*work->party_of));
	for (uint32_t i = 0; i < work->question->nr_parties; i++) {
		uint32_t of = work->question->parties[i].process;
		const struct roster_process *party = roster_process(roster, of);

		for (uint32_t id = 1; id <= nr_processes; id++) {
			const struct roster_process *process = roster_process(roster, id);

			if (id == of || straggler_rank_same(party, process))
				work->party_of[id] = i;
		}
	}
	return 0;
}

static int compare_threads(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

static int add_thread(struct straggler_work *work, uint32_t process, uint32_t tid)
{
	uint64_t thread = (uint64_t)process << 32 | tid;

	if (!tid || (work->nr_threads && work->threads[work->nr_threads - 1] == thread))
		return 0;
	return array_append(&work->threads, &work->nr_threads, &thread, sizeof(thread));
}

static int add_thread_of(void *context, const struct fold_row *row)
{
	return row->key.kind <= RECORD_GPU_GRAPH
		       ? add_thread(context, row->key.process_id, row->key.tid)
		       : 0;
}

static int find_threads(struct straggler_work *work, const struct collective_folds *folds)
{
	uint32_t count = 0;
	int error = 0;

	for (uint32_t i = 0; i < folds->nr_sums && !error; i++)
		error = add_thread(work, folds->sums[i].key.process, folds->sums[i].key.tid);
	if (!error)
		error = profile_each_total(work->profile, add_thread_of, work);
	if (error)
		return error;
	if (work->nr_threads)
		qsort(work->threads, work->nr_threads, sizeof(*work->threads), compare_threads);
	for (uint32_t i = 0; i < work->nr_threads; i++)
		if (count == 0 || work->threads[count - 1] != work->threads[i])
			work->threads[count++] = work->threads[i];
	work->nr_threads = count;
	return 0;
}

static bool is_waited_for(const struct straggler_work *work, uint32_t process, uint32_t tid)
{
	uint64_t thread = (uint64_t)process << 32 | tid;

	return work->nr_threads &&
	       bsearch(&thread, work->threads, work->nr_threads, sizeof(thread), compare_threads);
}

/* ---- leaves and rows */

static bool leaf_equals(const void *context, uint32_t id, const void *key)
{
	const struct straggler_work *work = context;

	return memcmp(&work->leaves[id - 1], key, sizeof(struct leaf)) == 0;
}

static bool row_equals(const void *context, uint32_t id, const void *key)
{
	const struct straggler_work *work = context;

	return memcmp(&work->rows[id - 1], key, offsetof(struct row, ns)) == 0;
}

static int get_leaf(struct straggler_work *work, const struct leaf *leaf, uint32_t *id)
{
	uint32_t hash = hash_index_hash(leaf, sizeof(*leaf));

	*id = hash_index_find(&work->leaf_index, hash, leaf_equals, work, leaf);
	if (*id)
		return 0;
	if (array_reserve(&work->leaves, &work->room_leaves, work->nr_leaves + 1,
			  sizeof(*work->leaves)))
		return -ENOMEM;
	if (hash_index_insert(&work->leaf_index, hash, work->nr_leaves + 1))
		return -ENOMEM;
	work->leaves[work->nr_leaves++] = *leaf;
	*id = work->nr_leaves;
	return 0;
}

static int add_amount(struct straggler_work *work, const struct row *amount)
{
	struct row key;

	memset(&key, 0, sizeof(key));
	key.leaf = amount->leaf;
	key.party = amount->party;
	key.sort = amount->sort;
	uint32_t hash = hash_index_hash(&key, offsetof(struct row, ns));
	uint32_t id = hash_index_find(&work->row_index, hash, row_equals, work, &key);
	if (!id) {
		if (array_reserve(&work->rows, &work->room_rows, work->nr_rows + 1,
				  sizeof(*work->rows)))
			return -ENOMEM;
		id = work->nr_rows + 1;
		if (hash_index_insert(&work->row_index, hash, id))
			return -ENOMEM;
		work->rows[work->nr_rows++] = key;
	}
	work->rows[id - 1].ns += amount->ns;
	work->rows[id - 1].count += amount->count;
	return 0;
}

/* Finds whether a node or one above it is a call that waits for the GPU. */
static int find_gpu_wait(struct straggler_work *work, uint32_t node, bool *is_wait)
{
	uint32_t above = node;

	if (array_reserve_zeroed(&work->gpu_waits, &work->room_gpu_waits, node + 1ul,
				 sizeof(*work->gpu_waits)))
		return -ENOMEM;
	while (work->gpu_waits[above] == GPU_WAIT_OPEN && above &&
	       !gpu_wait_is(
		       report_names_get(work->names, report_paths_node(work->paths, above)->name)))
		above = report_paths_node(work->paths, above)->parent;
	*is_wait = work->gpu_waits[above] == GPU_WAIT_OPEN ? above != 0
							   : work->gpu_waits[above] == GPU_WAIT_YES;
	for (; node != above; node = report_paths_node(work->paths, node)->parent)
		work->gpu_waits[node] = *is_wait ? GPU_WAIT_YES : GPU_WAIT_NO;
	work->gpu_waits[above] = *is_wait ? GPU_WAIT_YES : GPU_WAIT_NO;
	return 0;
}

/* *sort is STRAGGLER_SORTS for a wait for the GPU. */
static int find_sort(struct straggler_work *work, enum report_plane plane, const struct leaf *leaf,
		     uint32_t *sort)
{
	const char *name = report_names_get(work->names, leaf->name);
	bool is_wait;
	int error = 0;

	if (plane == REPORT_PLANE_GPU || plane == REPORT_PLANE_IDLE) {
		*sort = plane == REPORT_PLANE_GPU ? STRAGGLER_GPU_WORK : STRAGGLER_IDLE;
	} else if (plane == REPORT_PLANE_OFF_CPU &&
		   (!strcmp(name, RUN_QUEUE) || !strcmp(name, PREEMPTED))) {
		*sort = STRAGGLER_RUN_QUEUE;
	} else {
		error = find_gpu_wait(work, leaf->node, &is_wait);
		*sort = !error && is_wait           ? STRAGGLER_SORTS
			: plane == REPORT_PLANE_CPU ? STRAGGLER_CPU
			: !strcmp(name, FUTEX)      ? STRAGGLER_THREAD_WAITS
						    : STRAGGLER_WAITS;
	}
	return error;
}

/* key->kind: enum report_kind. */
static int add(struct straggler_work *work, const struct fold_key *key, double ns, double count)
{
	const struct catalog_size size = catalog_size(work->profile->collection->catalog);
	enum report_plane plane = report_plane_of(key->kind);
	struct row row = {.party = work->party_of[key->process_id], .ns = ns, .count = count};
	struct leaf leaf;

	memset(&leaf, 0, sizeof(leaf));
	if (key->stack_id > size.nodes || key->capture_stack_id > size.nodes ||
	    key->name_id > size.strings)
		return -EPROTO;
	int error = report_paths_find(work->paths, key, &leaf.node);
	if (!error)
		error = report_names_leaf(work->names, key, REPORT_GPU_ANY, &leaf.name);
	if (!error)
		error = find_sort(work, plane, &leaf, &row.sort);
	if (row.party == 0)
		work->planes |= 1u << plane;
	if (error || row.sort == STRAGGLER_SORTS)
		return error;
	error = get_leaf(work, &leaf, &row.leaf);
	return error ? error : add_amount(work, &row);
}

static bool is_somebodys(const struct straggler_work *work, uint32_t process)
{
	return process && process <= roster_size(work->profile->collection->roster).processes &&
	       work->party_of[process] != NOBODY;
}

/* NCCL's kernels are the late work itself and no cause. */
static int take_gpu_work(void *context, const struct fold_row *row)
{
	struct straggler_work *work = context;
	const struct fold_key *key = &row->key;
	uint32_t size;

	if (key->kind > RECORD_GPU_GRAPH || !is_somebodys(work, key->process_id))
		return 0;
	const char *name = catalog_string(work->profile->collection->catalog, key->name_id, &size);
	if (key->kind == RECORD_GPU_KERNEL && nccl_kernel_is(name, size))
		return 0;
	return add(work, key, (double)row->ns, (double)row->count);
}

static int take_host(void *context, const struct fold_row *row)
{
	struct straggler_work *work = context;
	bool is_idle = row->key.kind == REPORT_KIND_IDLE;

	if (!is_somebodys(work, row->key.process_id))
		return 0;
	if (!is_idle && (row->key.kind == REPORT_KIND_CALL ||
			 !is_waited_for(work, row->key.process_id, row->key.tid)))
		return 0;
	return add(work, &row->key, (double)row->ns, (double)row->count);
}

static int note_plane(void *context, const struct fold_row *row)
{
	struct straggler_work *work = context;

	if (is_somebodys(work, row->key.process_id) && work->party_of[row->key.process_id] == 0)
		work->planes |= 1u << report_plane_of(row->key.kind);
	return 0;
}

/* ---- windows */

/* GPU work, samples or idle time. */
static int take_timed(void *context, const struct fold_row *row)
{
	return row->key.kind <= RECORD_GPU_GRAPH ? take_gpu_work(context, row)
						 : take_host(context, row);
}

/* Lowers *times to what a party's windows allow. */
static void limit_times(const struct straggler_window_list *list, enum times *times)
{
	if (*times == TIMES_RUN || (!list->count && !list->is_cut))
		*times = TIMES_RUN;
	else if (list->is_cut && list->collectives < KEPT_MIN)
		*times = TIMES_NONE;
}

/* Finds the times in which the sorts of work are compared. */
static int find_times(struct straggler_work *work, struct database *database)
{
	const struct straggler_question *question = work->question;
	bool any;
	int error = profile_kept_has_gpu(database, &any);

	work->host = question->extent != STRAGGLER_RUN ? TIMES_WINDOWS : TIMES_RUN;
	work->gpu = any ? work->host : TIMES_RUN;
	for (uint32_t i = 0; i < question->nr_parties; i++) {
		limit_times(&question->parties[i].windows.host, &work->host);
		limit_times(&question->parties[i].windows.idle, &work->host);
		limit_times(&question->parties[i].windows.gpu, &work->gpu);
	}
	return error;
}

/* Gives what some processes of a party have in its windows. */
static int add_processes(struct straggler_work *work, struct database *database, uint32_t party,
			 int (*each)(const struct straggler_timed *timed, uint32_t process))
{
	const struct straggler_timed timed = {
		.profile = work->profile,
		.database = database,
		.windows = &work->question->parties[party].windows,
		.take = take_timed,
		.context = work,
	};
	uint32_t nr_processes = roster_size(work->profile->collection->roster).processes;
	int error = 0;

	for (uint32_t id = 1; id <= nr_processes && !error; id++)
		if (work->party_of[id] == party)
			error = each(&timed, id);
	return error;
}

static int add_timed(struct straggler_work *work, struct database *database)
{
	int error = 0;

	for (uint32_t i = 0; i < work->question->nr_parties && !error; i++) {
		if (work->gpu == TIMES_WINDOWS)
			error = add_processes(work, database, i, straggler_timed_gpu);
		if (work->host == TIMES_WINDOWS && !error)
			error = add_processes(work, database, i, straggler_timed_host);
	}
	return error;
}

/* ---- the whole */

static int collect(struct straggler_work *work, struct database *database,
		   const struct collective_folds *folds)
{
	int error = find_times(work, database);

	if (!error)
		error = find_parties(work);
	if (!error)
		error = find_threads(work, folds);
	if (!error)
		error = profile_each_total(
			work->profile, work->gpu == TIMES_RUN ? take_gpu_work : note_plane, work);
	if (!error)
		error = report_samples_each(work->profile,
					    work->host == TIMES_RUN ? take_host : note_plane, work);
	if (!error)
		error = add_timed(work, database);
	if (!error)
		work->nodes = report_paths_take(work->paths, &work->nr_nodes);
	return error;
}

static int collect_from(struct straggler_work *work, const char *store_path,
			const struct collective_folds *folds)
{
	struct database *database;
	int error = database_open(store_path, true, &database, NULL);

	if (error)
		return error;
	error = store_schema_show(database);
	if (!error)
		error = collect(work, database, folds);
	database_close(database);
	return error;
}

int straggler_work_create(const struct profile *profile, const char *store_path,
			  const struct collective_folds *folds,
			  const struct straggler_question *question, struct straggler_work **result)
{
	struct straggler_work *work = *result = calloc(1, sizeof(*work));
	int error = -ENOMEM;

	if (!work)
		return -ENOMEM;
	work->profile = profile;
	work->question = question;
	work->names = report_names_create(profile, DEMANGLE_SIMPLE, REPORT_LINES_OFF);
	if (work->names)
		work->paths = report_paths_create(profile->collection->catalog, work->names,
						  &(struct report_paths_view){0});
	if (work->paths)
		error = collect_from(work, store_path, folds);
	report_paths_destroy(work->paths);
	work->paths = NULL;
	if (error) {
		straggler_work_destroy(work);
		*result = NULL;
	}
	return error;
}

void straggler_work_destroy(struct straggler_work *work)
{
	if (!work)
		return;
	report_names_destroy(work->names);
	hash_index_fini(&work->leaf_index);
	hash_index_fini(&work->row_index);
	free(work->nodes);
	free(work->leaves);
	free(work->rows);
	free(work->party_of);
	free(work->threads);
	free(work->gpu_waits);
	free(work);
}

uint32_t straggler_work_nodes(const struct straggler_work *work)
{
	return work->nr_nodes + work->nr_leaves;
}

uint32_t straggler_work_parent(const struct straggler_work *work, uint32_t node)
{
	return node < work->nr_nodes ? work->nodes[node].parent
				     : work->leaves[node - work->nr_nodes].node;
}

const char *straggler_work_name(const struct straggler_work *work, uint32_t node)
{
	return report_names_get(work->names, node < work->nr_nodes
						     ? work->nodes[node].name
						     : work->leaves[node - work->nr_nodes].name);
}

bool straggler_work_is_leaf(const struct straggler_work *work, uint32_t node)
{
	return node >= work->nr_nodes;
}

enum report_plane straggler_work_plane(enum straggler_sort sort)
{
	switch (sort) {
	case STRAGGLER_GPU_WORK:
		return REPORT_PLANE_GPU;
	case STRAGGLER_CPU:
		return REPORT_PLANE_CPU;
	case STRAGGLER_IDLE:
		return REPORT_PLANE_IDLE;
	default:
		return REPORT_PLANE_OFF_CPU;
	}
}

bool straggler_work_in_windows(const struct straggler_work *work, enum straggler_sort sort)
{
	return (sort == STRAGGLER_GPU_WORK ? work->gpu : work->host) == TIMES_WINDOWS;
}

bool straggler_work_is_kept(const struct straggler_work *work, enum straggler_sort sort)
{
	return (sort == STRAGGLER_GPU_WORK ? work->gpu : work->host) != TIMES_NONE;
}

uint32_t straggler_work_planes(const struct straggler_work *work)
{
	return work->planes;
}

struct straggler_amount *straggler_work_sum(const struct straggler_work *work,
					    enum straggler_sort sort)
{
	const uint32_t width = work->question->nr_parties;
	uint32_t count = straggler_work_nodes(work);
	struct straggler_amount *amounts = calloc((size_t)count * width, sizeof(*amounts));

	if (!amounts)
		return NULL;
	for (uint32_t i = 0; i < work->nr_rows; i++) {
		const struct row *row = &work->rows[i];
		struct straggler_amount *amount =
			&amounts[(size_t)(work->nr_nodes + row->leaf - 1) * width + row->party];

		if (row->sort != (uint32_t)sort)
			continue;
		amount->ns += row->ns;
		amount->count += row->count;
	}
	for (uint32_t node = count; node-- > 1;) {
		const struct straggler_amount *from = &amounts[(size_t)node * width];
		struct straggler_amount *to =
			&amounts[(size_t)straggler_work_parent(work, node) * width];

		for (uint32_t i = 0; i < width; i++) {
			to[i].ns += from[i].ns;
			to[i].count += from[i].count;
		}
	}
	return amounts;
}
