#include "unwind_table.h"

#include <errno.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <time.h>

#include "eh_frame.h"
#include "loaded_object.h"
#include "segment_map.h"
#include "table_arena.h"
#include "unwind_pack.h"
#include "unwind_row.h"
#include "unwind_rows.h"

#include "proto/launch_path.h"
#include "proto/sparse_memory.h"

#define HDR_ROW_SIZE      8u        /* of .eh_frame_hdr, for each function */
#define BUSY_NS           50000000u /* where all are to be built: for what others still build */
#define FUNCTION_NS       1500u     /* to build its rows, with room: 1,100 were measured */
#define READ_FAILURES_MAX 3u

/* The rows of one segment of one file, for all places where it is loaded. A table does not change once it is published
 * in a slot. */
struct table {
	/* Two segments with these values are the same. */
	uint64_t identity, size, hdr_offset, hdr_size;

	struct unwind_pack pack;
	bool shared; /* the pack lies in the arena */
	int error;   /* why there are no rows */
};

struct slot {
	struct unwind_module module;
	_Atomic(const struct table *) table; /* NULL: not built */
	atomic_bool wanted;
	/* the loader knew it when it was added, so it will know when it is gone */
	_Atomic bool verifiable;
	_Atomic uint64_t stops;
	_Atomic uint64_t eh_frame_hdr; /* the module's, for any thread */
	uint32_t read_failures;
	uint32_t round; /* the round in which it was tried */
	bool entered;
	bool busy; /* another process builds its table */
};

struct unwind_tables {
	uint64_t bytes_max, bytes, made_bytes, build_ns;
	_Atomic(void (*)(void)) wake;
	bool (*goes_on)(void);
	atomic_bool woken; /* since the last build */
	/* the epoch in which a walk last met a file that is not in the map, plus 1 */
	atomic_uint missed_epoch;
	uint32_t nr_slots, nr_tables;
	uint32_t round; /* of builds */
	struct table_arena arena;
	struct segment_map map;
	struct slot slots[UNWIND_MODULES_MAX];
	struct table tables[UNWIND_MODULES_MAX];
};

_Static_assert(UNWIND_MODULES_MAX <= SEGMENT_MAP_MAX, "every slot can be entered");

struct unwind_tables *unwind_tables_create(uint64_t bytes_max)
{
	struct unwind_tables *tables = sparse_memory_map(sizeof(*tables), PROT_READ | PROT_WRITE);

	if (!tables)
		return NULL;
	tables->bytes_max = bytes_max;
	loaded_object_init();
	return tables;
}

void unwind_tables_destroy(struct unwind_tables *tables)
{
	if (!tables)
		return;
	for (uint32_t i = 0; i < tables->nr_tables; i++)
		if (!tables->tables[i].shared)
			unwind_pack_fini(&tables->tables[i].pack);
	table_arena_unmap(&tables->arena);
	munmap(tables, sizeof(*tables));
}

int unwind_tables_share(struct unwind_tables *tables, int fd)
{
	return table_arena_map(fd, &tables->arena);
}

void unwind_tables_on_want(struct unwind_tables *tables, void (*wake)(void))
{
	atomic_store_explicit(&tables->wake, wake, memory_order_release);
}

void unwind_tables_ask(struct unwind_tables *tables, bool (*goes_on)(void))
{
	tables->goes_on = goes_on;
}

/* ---- segments come and go */

static bool is_loaded(const struct unwind_module *module)
{
	struct loaded_object object;

	return loaded_object_at(module->start, &object) &&
	       object.eh_frame_hdr == module->eh_frame_hdr;
}

static bool same_module(const struct unwind_module *a, const struct unwind_module *b)
{
	return a->start == b->start && a->end == b->end && a->identity == b->identity &&
	       a->eh_frame_hdr == b->eh_frame_hdr && a->eh_frame_hdr_size == b->eh_frame_hdr_size;
}

static const struct table *find_table(const struct unwind_tables *tables,
				      const struct unwind_module *module)
{
	for (uint32_t i = 0; i < tables->nr_tables; i++) {
		const struct table *table = &tables->tables[i];

		if (table->identity == module->identity &&
		    table->size == module->end - module->start &&
		    table->hdr_offset == module->eh_frame_hdr - module->start &&
		    table->hdr_size == module->eh_frame_hdr_size)
			return table;
	}
	return NULL;
}

/* Takes a slot: one that held the same segment before, or a fresh one, or any free one. */
static struct slot *take_slot(struct unwind_tables *tables, const struct unwind_module *module)
{
	struct slot *vacant = NULL;

	for (uint32_t i = 0; i < tables->nr_slots; i++) {
		struct slot *slot = &tables->slots[i];

		if (slot->entered)
			continue;
		if (same_module(&slot->module, module))
			return slot;
		vacant = slot;
	}
	if (tables->nr_slots < UNWIND_MODULES_MAX)
		return &tables->slots[tables->nr_slots++];
	if (vacant)
		atomic_store_explicit(&vacant->stops, 0, memory_order_relaxed);
	return vacant;
}

static void remove_segment(struct unwind_tables *tables, uint32_t i)
{
	tables->slots[tables->map.segments[i].slot].entered = false;
	segment_map_remove(&tables->map, i);
}

int unwind_tables_add(struct unwind_tables *tables, const struct unwind_module *module)
{
	struct segment segment = {module->start, module->end, 0};
	uint32_t i = segment_map_first_above(&tables->map, module->start);

	if (module->end <= module->start)
		return -EINVAL;
	if (i < tables->map.nr &&
	    same_module(&tables->slots[tables->map.segments[i].slot].module, module))
		return 0;
	while (i < tables->map.nr && tables->map.segments[i].start < module->end)
		remove_segment(tables, i);

	struct slot *slot = take_slot(tables, module);
	if (slot) {
		slot->module = *module;
		slot->read_failures = 0;
		slot->busy = false;
		slot->entered = true;
		atomic_store_explicit(&slot->eh_frame_hdr, module->eh_frame_hdr,
				      memory_order_relaxed);
		atomic_store_explicit(&slot->wanted, false, memory_order_relaxed);
		atomic_store_explicit(&slot->verifiable, is_loaded(module), memory_order_relaxed);
		atomic_store_explicit(&slot->table, find_table(tables, module),
				      memory_order_release);
		segment.slot = (uint32_t)(slot - tables->slots);
		segment_map_insert(&tables->map, &segment); /* as many as there are slots fit */
	}
	segment_map_publish(&tables->map);
	return slot ? 0 : -ENOSPC;
}

void unwind_tables_retire(struct unwind_tables *tables, uint64_t start)
{
	uint32_t i = segment_map_first_above(&tables->map, start);

	if (i == tables->map.nr || tables->map.segments[i].start != start)
		return;
	remove_segment(tables, i);
	segment_map_publish(&tables->map);
}

/* ---- building */

#if defined(__x86_64__)

static uint64_t cpu_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* Compiles and packs the file's rows. Returns 0 or an error of eh_frame_compile() or unwind_pack_make(). */
static int compile(const struct unwind_tables *tables, const struct unwind_module *module,
		   struct unwind_pack *pack)
{
	/* Shared tables may have taken more than there was. */
	uint64_t left = tables->bytes < tables->bytes_max ? tables->bytes_max - tables->bytes : 0;
	struct unwind_rows rows;
	int error;

	if (!module->eh_frame_hdr)
		return -ENOENT;
	unwind_rows_init(&rows, left);
	error = eh_frame_compile(&module->image, module->eh_frame_hdr, module->eh_frame_hdr_size,
				 module->start, module->end, &rows);
	if (error == 0)
		error = unwind_pack_make(&rows, module->tag, pack);
	if (unwind_pack_memory(pack) > left) {
		unwind_pack_fini(pack);
		error = -ENOSPC;
	}
	unwind_rows_fini(&rows);
	return error;
}

/* Returns whether the table is to be kept. It is not if the file went away while it was read. */
static bool make(struct unwind_tables *tables, struct slot *slot, struct table *table,
		 const struct table_arena_claim *claim)
{
	bool verifiable = atomic_load_explicit(&slot->verifiable, memory_order_relaxed);
	struct unwind_pack shared;

	table->error = compile(tables, &slot->module, &table->pack);
	if ((verifiable && !is_loaded(&slot->module)) ||
	    (table->error == -EFAULT && ++slot->read_failures < READ_FAILURES_MAX)) {
		unwind_pack_fini(&table->pack);
		table_arena_give_up(claim);
		return false;
	}
	if (table->error)
		table_arena_give_up(claim);
	else if (claim->entry && table_arena_enter(&tables->arena, claim, slot->module.tag,
						   &table->pack, &shared)) {
		unwind_pack_fini(&table->pack);
		table->pack = shared;
		table->shared = true;
	}
	return true;
}

/* Takes the table from the arena, or makes it. Returns whether there is one now. While another process makes it there
 * is none, unless the table is wanted at once. */
static bool build(struct unwind_tables *tables, struct slot *slot, bool at_once)
{
	const struct unwind_module *module = &slot->module;
	const struct table *same = find_table(tables, module);
	struct table *table = &tables->tables[tables->nr_tables];
	struct table_arena_claim claim;
	enum table_arena_answer answer;

	if (same) {
		atomic_store_explicit(&slot->table, same, memory_order_release);
		return false;
	}
	if (tables->nr_tables == UNWIND_MODULES_MAX)
		return false;
	*table = (struct table){
		.identity = module->identity,
		.size = module->end - module->start,
		.hdr_offset = module->eh_frame_hdr - module->start,
		.hdr_size = module->eh_frame_hdr_size,
	};
	answer = table_arena_find(&tables->arena, module->tag, &table->pack, &claim);
	const bool found = answer == TABLE_ARENA_HAS;
	table->shared = found;
	slot->busy = answer == TABLE_ARENA_BUSY && !at_once;
	if (slot->busy || (!found && !make(tables, slot, table, &claim)))
		return false;
	tables->nr_tables++;
	tables->bytes += unwind_pack_memory(&table->pack);
	tables->made_bytes += found ? 0 : unwind_pack_memory(&table->pack);
	atomic_store_explicit(&slot->table, table, memory_order_release);
	return table->error == 0;
}

static bool is_to_be_built(const struct slot *slot)
{
	return slot->entered && !atomic_load_explicit(&slot->table, memory_order_relaxed);
}

static uint32_t build_wanted(struct unwind_tables *tables)
{
	uint32_t nr = 0;

	/* This comes first, so that a table that is wanted from here on wakes the helper again. */
	atomic_store_explicit(&tables->woken, false, memory_order_seq_cst);
	for (uint32_t i = 0; i < tables->nr_slots; i++) {
		struct slot *slot = &tables->slots[i];

		bool wanted = atomic_exchange_explicit(&slot->wanted, false, memory_order_seq_cst);

		if ((wanted || slot->busy) && is_to_be_built(slot))
			nr += build(tables, slot, wanted);
	}
	return nr;
}

/* Returns the smallest file, or the largest, that was not tried in this round. A file's search table tells how many
 * functions it has. NULL: none is left. */
static struct slot *next_to_build(struct unwind_tables *tables, bool largest)
{
	struct slot *found = NULL;

	for (uint32_t i = 0; i < tables->nr_slots; i++) {
		struct slot *slot = &tables->slots[i];
		uint64_t size = slot->module.eh_frame_hdr_size;

		if (is_to_be_built(slot) && slot->round != tables->round &&
		    (!found || (largest ? size > found->module.eh_frame_hdr_size
					: size < found->module.eh_frame_hdr_size)))
			found = slot;
	}
	if (found)
		found->round = tables->round;
	return found;
}

/* Takes what another process has built by now. What it still builds is built here, too, if that fits into until_ns of
 * the thread's CPU time, because the first launches may come at once. */
static uint32_t build_busy(struct unwind_tables *tables, uint64_t until_ns)
{
	uint32_t nr = 0;

	for (uint32_t i = 0; i < tables->nr_slots; i++) {
		struct slot *slot = &tables->slots[i];
		const uint64_t functions = slot->module.eh_frame_hdr_size / HDR_ROW_SIZE;

		if (slot->busy && is_to_be_built(slot))
			nr += build(tables, slot, cpu_ns() + functions * FUNCTION_NS < until_ns);
	}
	return nr;
}

static bool goes_on(const struct unwind_tables *tables)
{
	return !tables->goes_on || tables->goes_on();
}

uint32_t unwind_tables_build(struct unwind_tables *tables, uint64_t budget_ns)
{
	uint64_t begin_ns = cpu_ns();
	uint32_t nr = build_wanted(tables);
	bool largest = budget_ns == UNWIND_BUILD_ALL;
	struct slot *slot;

	tables->round++;
	while (cpu_ns() - begin_ns < budget_ns && goes_on(tables) &&
	       (slot = next_to_build(tables, largest))) {
		nr += build(tables, slot, false);
		/* Building may take long, so tables that are wanted in the meantime go before the rest. */
		if (atomic_load_explicit(&tables->woken, memory_order_relaxed))
			nr += build_wanted(tables);
	}
	if (budget_ns != UNWIND_BUILD_WANTED)
		nr += build_busy(tables, largest ? cpu_ns() + BUSY_NS : begin_ns + budget_ns);
	tables->build_ns += cpu_ns() - begin_ns;
	return nr;
}

#else

uint32_t unwind_tables_build(struct unwind_tables *tables, uint64_t budget_ns)
{
	(void)tables;
	(void)budget_ns;
	return 0;
}

#endif

void unwind_tables_totals(const struct unwind_tables *tables, struct unwind_totals *totals)
{
	*totals = (struct unwind_totals){
		.modules = tables->map.nr,
		.bytes = tables->bytes,
		.made_bytes = tables->made_bytes,
		.build_ns = tables->build_ns,
	};
	for (uint32_t i = 0; i < tables->nr_tables; i++) {
		const struct table *table = &tables->tables[i];

		totals->rows += table->pack.nr_rows;
		totals->built += table->error == 0;
		totals->shared += table->shared;
		totals->over_budget += table->error == -ENOSPC;
		totals->failed += table->error != 0 && table->error != -ENOSPC;
	}
}

bool unwind_tables_stops(const struct unwind_tables *tables, uint32_t i, uint64_t *start,
			 uint64_t *stops)
{
	*start = *stops = 0;
	if (i >= tables->nr_slots)
		return false;
	*start = tables->slots[i].module.start;
	*stops = atomic_load_explicit(&tables->slots[i].stops, memory_order_relaxed);
	return true;
}

/* ---- the walk's questions */

LAUNCH_PATH uint32_t unwind_tables_epoch(const struct unwind_tables *tables)
{
	return segment_map_epoch(&tables->map);
}

bool unwind_tables_holds(const struct unwind_tables *tables, uint64_t address)
{
	struct segment segment;

	return segment_map_find(&tables->map, address, &segment);
}

void unwind_tables_count_stop(struct unwind_tables *tables, uint64_t address)
{
	struct segment segment;

	if (segment_map_find(&tables->map, address, &segment))
		atomic_fetch_add_explicit(&tables->slots[segment.slot].stops, 1,
					  memory_order_relaxed);
}

static void wake(struct unwind_tables *tables)
{
	void (*function)(void) = atomic_load_explicit(&tables->wake, memory_order_acquire);

	if (!atomic_exchange_explicit(&tables->woken, true, memory_order_seq_cst) && function)
		function();
}

/* Notes that the loader has a file that the map has not. If the helper finds nothing new, it is not woken for that file
 * again until the map changes. */
static enum unwind_found miss(struct unwind_tables *tables)
{
	uint32_t epoch = segment_map_epoch(&tables->map) + 1;

	if (atomic_exchange_explicit(&tables->missed_epoch, epoch, memory_order_relaxed) != epoch)
		wake(tables);
	return UNWIND_WANTED;
}

static enum unwind_found want(struct unwind_tables *tables, struct slot *slot)
{
	atomic_store_explicit(&slot->wanted, true, memory_order_seq_cst);
	wake(tables);
	return UNWIND_WANTED;
}

static bool was_replaced(const struct slot *slot, uint64_t address)
{
	struct loaded_object object;

	if (!atomic_load_explicit(&slot->verifiable, memory_order_relaxed))
		return false;
	return !loaded_object_at(address, &object) ||
	       object.eh_frame_hdr !=
		       atomic_load_explicit(&slot->eh_frame_hdr, memory_order_relaxed);
}

static bool is_known(const struct unwind_tables *tables, const struct loaded_object *object)
{
	struct segment segment;

	return segment_map_find_below(&tables->map, object->end - 1, &segment) &&
	       segment.end > object->start &&
	       atomic_load_explicit(&tables->slots[segment.slot].eh_frame_hdr,
				    memory_order_relaxed) == object->eh_frame_hdr;
}

enum unwind_found unwind_tables_find(struct unwind_tables *tables, uint64_t address, uint32_t *rule)
{
	struct loaded_object object;
	struct segment segment;

	*rule = 0;
	if (!segment_map_find(&tables->map, address, &segment)) {
		if (!loaded_object_at(address, &object))
			return UNWIND_NOT_LOADED;
		if (!is_known(tables, &object))
			return miss(tables);
		*rule = unwind_rule_special(UNWIND_UNSUPPORTED); /* a known file's data */
		return UNWIND_FOUND;
	}

	struct slot *slot = &tables->slots[segment.slot];
	if (was_replaced(slot, address))
		return miss(tables);

	const struct table *table = atomic_load_explicit(&slot->table, memory_order_acquire);
	if (!table)
		return want(tables, slot);
	/* A slot that is being given to another segment may show that segment's table. */
	if (address - segment.start > UINT32_MAX)
		*rule = unwind_rule_special(UNWIND_UNSUPPORTED);
	else
		*rule = unwind_pack_find(&table->pack, (uint32_t)(address - segment.start));
	return UNWIND_FOUND;
}
