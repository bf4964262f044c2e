#include "run_windows.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "run_item.h"

#include "aggregator/profile/collection.h"
#include "aggregator/profile/kept_log.h"
#include "aggregator/profile/roster.h"
#include "aggregator/store/database.h"
#include "aggregator/store/store_kept.h"
#include "base/array.h"
#include "report/profile/profile.h"

/* A launch; those of equal item and stack should take equally long. */
struct piece {
	uint32_t item, stack_id;
	uint64_t window, hundredth, ns;
};

struct reader {
	struct run_work *work;
	run_windows_item *find_item;
	void *context;
	uint32_t room;
	struct run_window *fine; /* owns; hundredths of a process, without NCCL's */
	uint32_t nr_fine, room_fine;
};

static int by_stack(const void *a, const void *b)
{
	const struct piece *x = a, *y = b;

	if (x->item != y->item)
		return x->item < y->item ? -1 : 1;
	if (x->stack_id != y->stack_id)
		return x->stack_id < y->stack_id ? -1 : 1;
	return (x->window > y->window) - (x->window < y->window);
}

static int by_window(const void *a, const void *b)
{
	const struct run_window *x = a, *y = b;

	if (x->item != y->item)
		return x->item < y->item ? -1 : 1;
	return (x->number > y->number) - (x->number < y->number);
}

/* Sorts windows, and joins equal ones. Returns how many are left. */
static uint32_t merge(struct run_window *windows, uint32_t nr)
{
	uint32_t count = 0;

	if (nr)
		qsort(windows, nr, sizeof(*windows), by_window);
	for (uint32_t i = 0; i < nr; i++) {
		if (count && by_window(&windows[count - 1], &windows[i]) == 0) {
			windows[count - 1].ns += windows[i].ns;
			windows[count - 1].usual_ns += windows[i].usual_ns;
		} else {
			windows[count++] = windows[i];
		}
	}
	return count;
}

static int add_fine(struct reader *reader, const struct piece *launches, uint32_t count,
		    double usual_ns)
{
	if (array_reserve(&reader->fine, &reader->room_fine, reader->nr_fine + (uint64_t)count,
			  sizeof(*reader->fine)))
		return -ENOMEM;
	for (uint32_t i = 0; i < count; i++)
		reader->fine[reader->nr_fine++] = (struct run_window){
			RUN_WORK_ALL, launches[i].hundredth, (double)launches[i].ns, usual_ns};
	return 0;
}

/* Adds the launches of one item and stack. */
static int add_alike(struct reader *reader, const struct piece *launches, uint32_t count)
{
	struct run_work *work = reader->work;
	const struct run_item *item = &work->items[launches->item];
	const uint32_t from = work->nr_windows;
	double sum = 0;

	if (array_reserve(&work->windows, &reader->room, work->nr_windows + 2ull * count,
			  sizeof(*work->windows)))
		return -ENOMEM;
	for (uint32_t i = 0; i < count; i++)
		sum += (double)launches[i].ns;
	for (uint32_t i = 0; i < count; i++) {
		struct run_window window = {launches[i].item, launches[i].window,
					    (double)launches[i].ns, sum / count};
		struct run_window *last = i ? &work->windows[work->nr_windows - 1] : NULL;

		if (last && last->number == window.number) {
			last->ns += window.ns;
			last->usual_ns += window.usual_ns;
		} else {
			work->windows[work->nr_windows++] = window;
		}
	}
	if (item->kind != RUN_KIND_KERNEL || item->is_nccl)
		return 0;
	for (uint32_t i = from, end = work->nr_windows; i < end; i++) {
		struct run_window window = work->windows[i];

		window.item = RUN_WORK_ALL;
		work->windows[work->nr_windows++] = window;
	}
	return add_fine(reader, launches, count, sum / count);
}

/* The windows of RUN_WORK_ALL come first. */
static int add_pace(struct reader *reader, uint32_t first)
{
	struct run_work *work = reader->work;
	uint32_t nr = 0;

	while (first + nr < work->nr_windows && work->windows[first + nr].item == RUN_WORK_ALL)
		nr++;
	int error = run_pace_add(&work->pace, work->windows + first, nr, 1);
	if (!error)
		error = run_pace_add(&work->pace, reader->fine,
				     merge(reader->fine, reader->nr_fine), RUN_PACE_PARTS);
	reader->nr_fine = 0;
	return error;
}

static int take_pieces(struct reader *reader, const struct host_sample *pieces, uint32_t count,
		       struct piece *launches)
{
	int error = 0;

	for (uint32_t i = 0; i < count && !error; i++) {
		const struct host_sample *piece = &pieces[i];
		struct fold_key key;

		memset(&key, 0, sizeof(key));
		key.name_id = piece->name_id;
		key.kind = piece->kind % 16;
		key.copy_kind = piece->kind / 16;
		const uint64_t start_ns = piece->time_ns - piece->duration_ns;
		launches[i] =
			(struct piece){.stack_id = piece->stack_id,
				       .window = start_ns / KEPT_LOG_GPU_NS,
				       .hundredth = start_ns / (KEPT_LOG_GPU_NS / RUN_PACE_PARTS),
				       .ns = piece->duration_ns};
		error = key.kind > RECORD_GPU_GRAPH
				? -EPROTO
				: reader->find_item(reader->context, &key, &launches[i].item);
	}
	if (error || count == 0)
		return error;
	qsort(launches, count, sizeof(*launches), by_stack);
	const uint32_t first = reader->work->nr_windows;
	for (uint32_t i = 0, end; i < count && !error; i = end) {
		for (end = i + 1; end < count && launches[end].item == launches[i].item &&
				  launches[end].stack_id == launches[i].stack_id;
		     end++)
			;
		error = add_alike(reader, &launches[i], end - i);
	}
	if (error)
		return error;
	reader->work->nr_windows =
		first + merge(reader->work->windows + first, reader->work->nr_windows - first);
	return add_pace(reader, first);
}

static int read_process(struct reader *reader, struct database *database, uint32_t process)
{
	struct host_sample *pieces = NULL;
	uint32_t count = 0;
	int error = store_kept_read(database, KEPT_GPU, process, &pieces, &count);

	if (!error && count == 0) {
		free(pieces);
		error = store_kept_read(database, KEPT_LONE, process, &pieces, &count);
	}
	struct piece *launches = error ? NULL : malloc((count + 1ul) * sizeof(*launches));

	if (!error)
		error = launches ? take_pieces(reader, pieces, count, launches) : -ENOMEM;
	free(launches);
	free(pieces);
	return error;
}

int run_windows_read(const struct profile *profile, const char *store_path,
		     run_windows_item *find_item, void *context, struct run_work *work)
{
	const uint32_t nr = roster_size(profile->collection->roster).processes;
	struct reader reader = {.work = work, .find_item = find_item, .context = context};
	struct database *database;
	int error = database_open(store_path, true, &database, NULL);

	for (uint32_t id = 1; id <= nr && !error; id++)
		error = read_process(&reader, database, id);
	if (!error) {
		work->nr_windows = merge(work->windows, work->nr_windows);
		run_pace_finish(&work->pace);
	}
	database_close(database);
	free(reader.fine);
	return error;
}
