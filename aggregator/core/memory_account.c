#include "memory_account.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/hash_index.h"
#include "proto/memory_kind.h"
#include "proto/record.h"

#define SUMS_MAX (RECORD_DEVICES_MAX * MEMORY_SPACES)

/* Lists of rows: those that changed since the peak of their sums, and those to be saved. Row ids are index + 1; 0: the
 * end. */
struct row_links {
	uint32_t next_moved, next_changed;
	bool moved, changed;
};

struct sums_links {
	uint32_t moved; /* rows that changed since the peak */
	bool changed;
};

struct memory_account {
	struct memory_account_options options;
	struct memory_slots slots;
	struct memory_sums *sums; /* SUMS_MAX of them; NULL: no event came yet */
	struct sums_links *sums_links;
	uint32_t nr_sums;
	struct memory_row *rows;
	struct row_links *row_links; /* of rows */
	uint32_t nr_rows, room_rows;
	struct hash_index index; /* row ids */
	uint32_t changed;        /* rows to be saved */
	uint64_t newest_ns;      /* time of the newest added event */
	uint64_t taken_ns;       /* time of the newest event that was taken */
};

struct memory_account *memory_account_create(const struct memory_account_options *options)
{
	struct memory_account *account = calloc(1, sizeof(*account));

	if (!account)
		return NULL;
	if (options)
		account->options = *options;
	if (!account->options.live_max)
		account->options.live_max = MEMORY_ACCOUNT_LIVE_MAX;
	if (!account->options.waiting_max)
		account->options.waiting_max = MEMORY_ACCOUNT_WAITING_MAX;
	if (!account->options.window_ns)
		account->options.window_ns = MEMORY_ACCOUNT_WINDOW_NS;
	account->slots.track_changes = account->options.track_changes;
	return account;
}

void memory_account_destroy(struct memory_account *account)
{
	if (!account)
		return;
	memory_slots_fini(&account->slots);
	hash_index_fini(&account->index);
	free(account->sums);
	free(account->sums_links);
	free(account->rows);
	free(account->row_links);
	free(account);
}

/* Allocated late, because most processes' memory is never recorded. */
static int reserve_sums(struct memory_account *account)
{
	if (!account->sums)
		account->sums = calloc(SUMS_MAX, sizeof(*account->sums));
	if (!account->sums_links)
		account->sums_links = calloc(SUMS_MAX, sizeof(*account->sums_links));
	return account->sums && account->sums_links ? 0 : -ENOMEM;
}

/* ---- sums and rows */

static uint64_t plus(uint64_t sum, uint64_t more)
{
	return more < MEMORY_ACCOUNT_STUCK - sum ? sum + more : MEMORY_ACCOUNT_STUCK;
}

/* A sum that is stuck has lost its true value, so it stays. */
static uint64_t minus(uint64_t sum, uint64_t less)
{
	if (sum == MEMORY_ACCOUNT_STUCK)
		return sum;
	return less < sum ? sum - less : 0;
}

/* The host's memory belongs to no device, in any context. */
static uint32_t device_of(uint32_t device_id, uint32_t kind)
{
	if (memory_kind_space(kind) == MEMORY_SPACE_HOST)
		return 0;
	return device_id < RECORD_DEVICES_MAX ? device_id : RECORD_DEVICES_MAX - 1;
}

/* There is room for all possible devices and spaces. */
static uint32_t find_sums(struct memory_account *account, uint32_t device_id, uint32_t kind)
{
	uint32_t device = device_of(device_id, kind), space = memory_kind_space(kind), i;

	for (i = 0; i < account->nr_sums; i++)
		if (account->sums[i].device_id == device && account->sums[i].space == space)
			return i;
	account->sums[account->nr_sums++] =
		(struct memory_sums){.device_id = device, .space = space};
	return i;
}

static struct memory_sums *change_sums(struct memory_account *account,
				       const struct memory_event *event)
{
	uint32_t i = find_sums(account, event->device_id, event->kind);

	account->sums_links[i].changed = true;
	return &account->sums[i];
}

static bool row_equals(const void *context, uint32_t id, const void *key)
{
	const struct memory_account *account = context;

	return memcmp(&account->rows[id - 1].key, key, sizeof(struct memory_row_key)) == 0;
}

static int reserve_row(struct memory_account *account)
{
	const uint32_t need = account->nr_rows + 1;
	uint32_t room_links = account->room_rows;
	int error =
		array_reserve(&account->row_links, &room_links, need, sizeof(*account->row_links));

	return error ? error
		     : array_reserve(&account->rows, &account->room_rows, need,
				     sizeof(*account->rows));
}

static struct memory_row_key key_of(const struct memory_event *event)
{
	struct memory_row_key key;

	memset(&key, 0, sizeof(key));
	key.device_id = device_of(event->device_id, event->kind);
	key.stack_id = event->stack_id;
	key.tid = event->tid;
	key.kind = event->kind;
	key.matched = event->matched;
	return key;
}

/* Returns the id of the key's row, which is made if it is new; 0: out of memory. */
static uint32_t get_row(struct memory_account *account, const struct memory_row_key *key)
{
	uint32_t hash = hash_index_hash(key, sizeof(*key));
	uint32_t id = hash_index_find(&account->index, hash, row_equals, account, key);

	if (id)
		return id;
	id = account->nr_rows + 1;
	if (reserve_row(account) || hash_index_insert(&account->index, hash, id))
		return 0;
	account->rows[account->nr_rows] = (struct memory_row){.key = *key};
	account->row_links[account->nr_rows++] = (struct row_links){0};
	return id;
}

static void mark_changed(struct memory_account *account, uint32_t id)
{
	struct row_links *links = &account->row_links[id - 1];

	if (links->changed || !account->options.track_changes)
		return;
	links->changed = true;
	links->next_changed = account->changed;
	account->changed = id;
}

static void mark_moved(struct memory_account *account, struct sums_links *sums, uint32_t id)
{
	struct row_links *links = &account->row_links[id - 1];

	if (links->moved)
		return;
	links->moved = true;
	links->next_moved = sums->moved;
	sums->moved = id;
}

/* Makes the present the peak: the rows that changed take their values over. */
static void take_peak(struct memory_account *account, uint32_t sums, uint64_t time_ns)
{
	uint32_t id = account->sums_links[sums].moved;

	account->sums[sums].peak_bytes = account->sums[sums].live_bytes;
	account->sums[sums].peak_ns = time_ns;
	account->sums_links[sums].moved = 0;
	while (id) {
		struct memory_row *row = &account->rows[id - 1];
		struct row_links *links = &account->row_links[id - 1];

		row->peak_count = row->live_count;
		row->peak_bytes = row->live_bytes;
		links->moved = false;
		mark_changed(account, id);
		id = links->next_moved;
	}
}

/* The event begins or ends an allocation. */
static int move_row(struct memory_account *account, const struct memory_event *event, bool begins)
{
	const struct memory_row_key key = key_of(event);
	uint32_t sums_index = find_sums(account, event->device_id, event->kind);
	struct memory_sums *sums = &account->sums[sums_index];
	uint32_t id = get_row(account, &key);

	if (!id)
		return -ENOMEM;
	struct memory_row *row = &account->rows[id - 1];
	account->sums_links[sums_index].changed = true;
	mark_changed(account, id);
	mark_moved(account, &account->sums_links[sums_index], id);
	if (begins) {
		row->live_count = plus(row->live_count, 1);
		row->live_bytes = plus(row->live_bytes, event->bytes);
		sums->live_count = plus(sums->live_count, 1);
		sums->live_bytes = plus(sums->live_bytes, event->bytes);
	} else {
		row->live_count = minus(row->live_count, 1);
		row->live_bytes = minus(row->live_bytes, event->bytes);
		sums->live_count = minus(sums->live_count, 1);
		sums->live_bytes = minus(sums->live_bytes, event->bytes);
	}
	if (sums->live_bytes > sums->peak_bytes)
		take_peak(account, sums_index, event->time_ns);
	return 0;
}

/* ---- the earliest waiting event */

static void note_time(struct memory_account *account, struct memory_sums *sums, uint64_t time_ns)
{
	if (time_ns < account->taken_ns)
		sums->late++;
	else
		account->taken_ns = time_ns;
	if (sums->first_ns == 0 || time_ns < sums->first_ns)
		sums->first_ns = time_ns;
	if (time_ns > sums->last_ns)
		sums->last_ns = time_ns;
}

static int end_live(struct memory_account *account, uint32_t id)
{
	const struct memory_event event = memory_slots_get(&account->slots, id)->event;
	int error = memory_slots_end(&account->slots, id);

	return error ? error : move_row(account, &event, false);
}

static bool is_duplicate(const struct memory_event *event, const struct memory_event *live)
{
	return event->time_ns == live->time_ns && event->correlation_id == live->correlation_id;
}

static int take_alloc(struct memory_account *account)
{
	struct memory_slots *slots = &account->slots;
	uint32_t first = memory_slots_first(slots);
	const struct memory_event event = memory_slots_get(slots, first)->event;
	struct memory_sums *sums = change_sums(account, &event);
	uint32_t old = memory_slots_find(slots, event.address);

	note_time(account, sums, event.time_ns);
	if (old && is_duplicate(&event, &memory_slots_get(slots, old)->event)) {
		sums->duplicates++;
		return memory_slots_drop_first(slots);
	}
	sums->allocs = plus(sums->allocs, 1);
	sums->alloc_bytes = plus(sums->alloc_bytes, event.bytes);
	if (event.address == 0 || (!old && slots->nr_live >= account->options.live_max)) {
		sums->untracked++;
		return memory_slots_drop_first(slots);
	}
	if (old) {
		change_sums(account, &memory_slots_get(slots, old)->event)->replaced++;
		int error = end_live(account, old);
		if (error)
			return error;
		memory_slots_get(slots, first)->owed = 1;
	}
	int error = memory_slots_revive_first(slots);
	return error ? error : move_row(account, &event, true);
}

/* Takes the free of an allocation that lived at the address before. */
static int take_owed(struct memory_account *account, uint32_t live)
{
	struct memory_slot *slot = memory_slots_get(&account->slots, live);
	struct memory_sums *sums = change_sums(account, &slot->event);

	slot->owed = 0;
	if (sums->replaced)
		sums->replaced--;
	int error = memory_slots_touch(&account->slots, live);
	return error ? error : memory_slots_drop_first(&account->slots);
}

static bool is_owed(const struct memory_event *event, const struct memory_event *live)
{
	return event->time_ns < live->time_ns ||
	       event->time_ns - live->time_ns <= MEMORY_ACCOUNT_OWED_NS;
}

static int take_free(struct memory_account *account)
{
	struct memory_slots *slots = &account->slots;
	const struct memory_event event = memory_slots_get(slots, memory_slots_first(slots))->event;
	uint32_t live = event.address ? memory_slots_find(slots, event.address) : 0;
	const struct memory_slot *slot = live ? memory_slots_get(slots, live) : NULL;
	const struct memory_event *of = slot ? &slot->event : &event;
	struct memory_sums *sums = change_sums(account, of);

	note_time(account, sums, event.time_ns);
	sums->frees = plus(sums->frees, 1);
	sums->free_bytes = plus(sums->free_bytes, of->bytes);
	if (slot && slot->owed && is_owed(&event, of))
		return take_owed(account, live);
	int error = memory_slots_drop_first(slots);
	if (!slot || event.time_ns < of->time_ns) {
		sums->unknown_frees++;
		sums->unknown_bytes = plus(sums->unknown_bytes, event.bytes);
		return error;
	}
	return error ? error : end_live(account, live);
}

static int take_first(struct memory_account *account)
{
	const struct memory_slot *first =
		memory_slots_get(&account->slots, memory_slots_first(&account->slots));

	return first->event.is_free ? take_free(account) : take_alloc(account);
}

static bool is_due(const struct memory_account *account)
{
	const struct memory_slots *slots = &account->slots;

	if (slots->nr_waiting > account->options.waiting_max)
		return true;
	uint32_t first = memory_slots_first(slots);
	if (!first)
		return false;
	uint64_t time_ns = memory_slots_get(slots, first)->event.time_ns;
	return account->newest_ns - time_ns > account->options.window_ns ||
	       time_ns < account->taken_ns;
}

int memory_account_add(struct memory_account *account, const struct memory_event *event)
{
	struct memory_event bounded = *event;
	int error;

	if (bounded.kind >= MEMORY_KINDS)
		bounded.kind = MEMORY_KIND_UNKNOWN;
	error = reserve_sums(account);
	if (!error)
		error = memory_slots_add(&account->slots, &bounded);
	if (event->time_ns > account->newest_ns)
		account->newest_ns = event->time_ns;
	while (!error && is_due(account))
		error = take_first(account);
	return error;
}

int memory_account_finish(struct memory_account *account)
{
	int error = 0;

	while (!error && memory_slots_first(&account->slots))
		error = take_first(account);
	if (!error)
		memory_slots_clear(&account->slots);
	return error;
}

const struct memory_sums *memory_account_sums(const struct memory_account *account, uint32_t *count)
{
	*count = account->nr_sums;
	return account->sums;
}

const struct memory_row *memory_account_rows(const struct memory_account *account, uint32_t *count)
{
	*count = account->nr_rows;
	return account->rows;
}

uint32_t memory_account_waiting(const struct memory_account *account)
{
	return account->slots.nr_waiting;
}

/* ---- on disk */

int memory_account_save(const struct memory_account *account,
			const struct memory_account_sink *sink)
{
	int error = 0;

	for (uint32_t i = 0; i < account->nr_sums && !error; i++)
		if (account->sums_links[i].changed)
			error = sink->sums(sink->context, &account->sums[i]);
	for (uint32_t id = account->changed; id && !error;
	     id = account->row_links[id - 1].next_changed)
		error = sink->row(sink->context, &account->rows[id - 1]);
	return error ? error : memory_slots_save(&account->slots, sink->slots, sink->context);
}

void memory_account_saved(struct memory_account *account)
{
	uint32_t next;

	for (uint32_t i = 0; i < account->nr_sums; i++)
		account->sums_links[i].changed = false;
	for (uint32_t id = account->changed; id; id = next) {
		next = account->row_links[id - 1].next_changed;
		account->row_links[id - 1].changed = false;
	}
	account->changed = 0;
	memory_slots_saved(&account->slots);
}

int memory_account_load_sums(struct memory_account *account, const struct memory_sums *sums)
{
	uint32_t i;

	if (sums->device_id >= RECORD_DEVICES_MAX || sums->space >= MEMORY_SPACES ||
	    sums->live_bytes > sums->peak_bytes)
		return -EINVAL;
	if (reserve_sums(account))
		return -ENOMEM;
	for (i = 0; i < account->nr_sums; i++)
		if (account->sums[i].device_id == sums->device_id &&
		    account->sums[i].space == sums->space)
			return -EINVAL;
	account->sums[account->nr_sums++] = *sums;
	if (sums->last_ns > account->taken_ns)
		account->taken_ns = sums->last_ns;
	return 0;
}

int memory_account_load_row(struct memory_account *account, const struct memory_row *row)
{
	uint32_t nr_rows = account->nr_rows;

	if (row->key.device_id >= RECORD_DEVICES_MAX || row->key.kind >= MEMORY_KINDS)
		return -EINVAL;
	uint32_t id = get_row(account, &row->key);
	if (!id)
		return -ENOMEM;
	if (id <= nr_rows)
		return -EINVAL;
	account->rows[id - 1] = *row;
	return 0;
}

int memory_account_load_slot(struct memory_account *account, const struct memory_slot *slot)
{
	uint32_t live_max = account->options.live_max, waiting_max = account->options.waiting_max;

	if (slot->event.kind >= MEMORY_KINDS)
		return -EINVAL;
	if (slot->event.time_ns > account->newest_ns)
		account->newest_ns = slot->event.time_ns;
	return memory_slots_load(&account->slots, slot, live_max + waiting_max + 2);
}

/* Returns whether rows add up to their sums, now and at the peak. */
static bool rows_agree(const struct memory_account *account, uint32_t sums)
{
	uint64_t live_count = 0, live_bytes = 0, peak_bytes = 0;

	for (uint32_t i = 0; i < account->nr_rows; i++) {
		const struct memory_row *row = &account->rows[i];

		if (row->key.device_id != account->sums[sums].device_id ||
		    memory_kind_space(row->key.kind) != account->sums[sums].space)
			continue;
		live_count = plus(live_count, row->live_count);
		live_bytes = plus(live_bytes, row->live_bytes);
		peak_bytes = plus(peak_bytes, row->peak_bytes);
	}
	if (account->sums[sums].peak_bytes == MEMORY_ACCOUNT_STUCK)
		return true;
	return live_count == account->sums[sums].live_count &&
	       live_bytes == account->sums[sums].live_bytes &&
	       peak_bytes == account->sums[sums].peak_bytes;
}

int memory_account_load_end(struct memory_account *account)
{
	uint32_t nr_sums = account->nr_sums;

	if (reserve_sums(account))
		return -ENOMEM;
	for (uint32_t id = 1; id <= account->nr_rows; id++) {
		const struct memory_row *row = &account->rows[id - 1];
		uint32_t sums = find_sums(account, row->key.device_id, row->key.kind);

		if (sums >= nr_sums)
			return -EINVAL;
		if (row->live_count != row->peak_count || row->live_bytes != row->peak_bytes)
			mark_moved(account, &account->sums_links[sums], id);
	}
	for (uint32_t i = 0; i < nr_sums; i++)
		if (!rows_agree(account, i))
			return -EINVAL;
	if (account->taken_ns > account->newest_ns)
		account->newest_ns = account->taken_ns;
	memory_slots_load_end(&account->slots);
	return 0;
}
