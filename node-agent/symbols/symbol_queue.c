#include "symbol_queue.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "symbolizer_module.h"

#include "base/array.h"
#include "node-agent/base/agent_task.h"
#include "node-agent/base/fair_shares.h"

struct waiting {
	void *items; /* owns; items before index at are done */
	uint32_t at, count, max;
};

struct symbol_line {
	struct symbol_line *next;
	uint32_t user; /* fair_shares_owner() */
	bool is_served, had_task;
	struct waiting places;   /* struct symbolizer_module; each owns its path */
	struct waiting requests; /* struct symbol_request */
	struct waiting tasks;    /* struct agent_task * */
};

static int push(struct waiting *waiting, const void *item, size_t size)
{
	char *items = waiting->items;

	if (waiting->count == waiting->max && waiting->at < waiting->max / 2 + 1) {
		if (array_reserve(&waiting->items, &waiting->max, waiting->count + 1, size))
			return -ENOMEM;
		items = waiting->items;
	} else if (waiting->count == waiting->max) {
		waiting->count -= waiting->at;
		memmove(items, items + waiting->at * size, waiting->count * size);
		waiting->at = 0;
	}
	memcpy(items + waiting->count++ * size, item, size);
	return 0;
}

static bool pop(struct waiting *waiting, void *item, size_t size)
{
	if (waiting->at == waiting->count)
		return false;
	memcpy(item, (const char *)waiting->items + waiting->at++ * size, size);
	return true;
}

static bool has_work(const struct symbol_line *line)
{
	return line->places.at < line->places.count || line->requests.at < line->requests.count ||
	       line->tasks.at < line->tasks.count;
}

static void destroy(struct symbol_line *line)
{
	struct symbolizer_module place;
	struct agent_task *task;

	while (symbol_line_place(line, &place))
		free((char *)place.path);
	while (pop(&line->tasks, &task, sizeof(task)))
		task->run(task, false);
	free(line->places.items);
	free(line->requests.items);
	free(line->tasks.items);
	free(line);
}

void symbol_queue_fini(struct symbol_queue *queue)
{
	while (queue->first) {
		struct symbol_line *line = queue->first;

		queue->first = line->next;
		destroy(line);
	}
	free(queue->owners);
}

static void append(struct symbol_queue *queue, struct symbol_line *line)
{
	struct symbol_line **end = &queue->first;

	while (*end)
		end = &(*end)->next;
	*end = line;
	line->next = NULL;
}

static struct symbol_line *line_of(struct symbol_queue *queue, uid_t user)
{
	struct symbol_line *line = queue->first;

	while (line && line->user != fair_shares_owner(user))
		line = line->next;
	if (line)
		return line;
	line = calloc(1, sizeof(*line));
	if (line) {
		line->user = fair_shares_owner(user);
		append(queue, line);
	}
	return line;
}

static int set_owner(struct symbol_queue *queue, uint32_t module_id, uid_t owner)
{
	if (array_reserve_zeroed(&queue->owners, &queue->nr_owners, module_id + 1ul,
				 sizeof(*queue->owners)))
		return -ENOMEM;
	queue->owners[module_id] = owner;
	return 0;
}

int symbol_queue_add_place(struct symbol_queue *queue, const struct symbolizer_module *place)
{
	struct symbolizer_module copy = *place;
	struct symbol_line *line = line_of(queue, place->owner);
	char *path = line ? strndup(place->path, PATH_MAX - 1) : NULL;

	copy.path = path;
	if (!path || set_owner(queue, place->module_id, place->owner) ||
	    push(&line->places, &copy, sizeof(copy))) {
		free(path);
		return -ENOMEM;
	}
	return 0;
}

int symbol_queue_add_request(struct symbol_queue *queue, const struct symbol_request *request)
{
	uint32_t id = request->module_id;
	struct symbol_line *line = line_of(queue, id < queue->nr_owners ? queue->owners[id] : 0);

	return line ? push(&line->requests, request, sizeof(*request)) : -ENOMEM;
}

int symbol_queue_add_task(struct symbol_queue *queue, uid_t user, struct agent_task *task)
{
	struct symbol_line *line = line_of(queue, user);

	return line ? push(&line->tasks, &task, sizeof(task)) : -ENOMEM;
}

static struct symbol_line *find_waiting(const struct symbol_queue *queue)
{
	const bool is_full = queue->nr_served == SYMBOL_QUEUE_SERVED_MAX - 1;
	struct symbol_line *line = queue->first;

	while (line && (line->is_served || !has_work(line) || (is_full && line->user != 0)))
		line = line->next;
	return line;
}

bool symbol_queue_waits(const struct symbol_queue *queue)
{
	return find_waiting(queue);
}

struct symbol_line *symbol_queue_take(struct symbol_queue *queue)
{
	struct symbol_line *line = find_waiting(queue);

	if (line) {
		line->is_served = true;
		queue->nr_served += line->user != 0;
	}
	return line;
}

void symbol_queue_give(struct symbol_queue *queue, struct symbol_line *line)
{
	struct symbol_line **link = &queue->first;

	while (*link != line)
		link = &(*link)->next;
	*link = line->next;
	line->is_served = false;
	queue->nr_served -= line->user != 0;
	if (has_work(line))
		append(queue, line);
	else
		destroy(line);
}

bool symbol_line_place(struct symbol_line *line, struct symbolizer_module *place)
{
	return pop(&line->places, place, sizeof(*place));
}

bool symbol_line_request(struct symbol_line *line, struct symbol_request *request)
{
	return pop(&line->requests, request, sizeof(*request));
}

struct agent_task *symbol_line_task(struct symbol_line *line)
{
	struct agent_task *task;
	bool is_turn = !line->had_task || line->requests.at == line->requests.count;

	line->had_task = is_turn && pop(&line->tasks, &task, sizeof(task));
	return line->had_task ? task : NULL;
}
