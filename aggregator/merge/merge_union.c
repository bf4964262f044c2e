#include "merge_union.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "merge_content.h"

#include "aggregator/profile/catalog.h"
#include "aggregator/profile/roster.h"
#include "aggregator/profile/text_pool.h"
#include "aggregator/store/store_schema.h"
#include "base/array.h"

/* What several profiles may say differently of one thing, so that it is no part of its content. */
struct module_words {
	uint32_t path, flags;
};

struct merge_union {
	struct text_pool *pools[MERGE_KINDS]; /* the contents; ids in them are the pools' */
	struct module_words *modules;         /* [the pool's id - 1] */
	uint32_t *names;                      /* of frames; CATALOG_NAME_UNKNOWN: not looked up */
	uint32_t nr_modules, room_modules, nr_names, room_names;
	struct merge_map order;                  /* the pools' ids, and the ordered ones */
	uint32_t *sorted[MERGE_KINDS];           /* the pools' ids in their order */
	struct merge_content *kinds[MERGE_KINDS]; /* by the pools' ids, with ordered ids in them */
};

struct merge_union *merge_union_create(void)
{
	struct merge_union *whole = calloc(1, sizeof(*whole));

	for (int kind = 0; kind < MERGE_KINDS && whole; kind++) {
		whole->pools[kind] = text_pool_create();
		if (!whole->pools[kind]) {
			merge_union_destroy(whole);
			whole = NULL;
		}
	}
	return whole;
}

void merge_union_destroy(struct merge_union *whole)
{
	if (!whole)
		return;
	for (int kind = 0; kind < MERGE_KINDS; kind++) {
		text_pool_destroy(whole->pools[kind]);
		free(whole->sorted[kind]);
		free(whole->kinds[kind]);
	}
	merge_map_fini(&whole->order);
	free(whole->modules);
	free(whole->names);
	free(whole);
}

/* ---- adding */

struct adding {
	struct merge_union *whole;
	const struct collection *collection;
	struct merge_map *map; /* to the pools' ids */
};

static int append(struct merge_ids *ids, uint32_t id)
{
	if (array_reserve(&ids->ids, &ids->room, ids->count + 1ull, sizeof(*ids->ids)))
		return -ENOMEM;
	ids->ids[ids->count++] = id;
	return 0;
}

/* Of the next thing of its kind in the profile. */
static int add_bytes(struct adding *adding, enum merge_kind kind, const void *bytes, uint32_t size,
		     uint32_t *id)
{
	int error = text_pool_intern(adding->whole->pools[kind], bytes, size, id);

	return error ? error : append(&adding->map->kinds[kind], *id);
}

static int add(struct adding *adding, enum merge_kind kind, struct merge_content content,
	       uint32_t *id)
{
	uint32_t ignored;

	merge_content_translate(&content, kind, adding->map);
	return add_bytes(adding, kind, content.words,
			 merge_content_kinds[kind].nr_words * (uint32_t)sizeof(*content.words),
			 id ? id : &ignored);
}

static int add_strings(struct adding *adding)
{
	const struct catalog *catalog = adding->collection->catalog;
	int error = 0;

	for (uint32_t id = 1; id <= catalog_size(catalog).strings && !error; id++) {
		uint32_t size, added;
		const char *data = catalog_string(catalog, id, &size);

		error = add_bytes(adding, MERGE_KIND_STRING, data, size, &added);
	}
	return error;
}

/* Whether the bytes of string a are before those of b; no string is behind all. */
static bool is_before(const struct merge_union *whole, uint32_t a, uint32_t b)
{
	uint32_t size_a, size_b;
	const char *text_a = text_pool_get(whole->pools[MERGE_KIND_STRING], a, &size_a);
	const char *text_b = text_pool_get(whole->pools[MERGE_KIND_STRING], b, &size_b);
	int order = memcmp(text_a, text_b, size_a < size_b ? size_a : size_b);

	if (!a || !b)
		return a;
	return order ? order < 0 : size_a < size_b;
}

static int join_module(struct merge_union *whole, uint32_t id, struct module_words words)
{
	if (array_reserve(&whole->modules, &whole->room_modules, id, sizeof(*whole->modules)))
		return -ENOMEM;
	if (id > whole->nr_modules) {
		whole->nr_modules = id;
		whole->modules[id - 1] = words;
	}
	struct module_words *joined = &whole->modules[id - 1];
	joined->flags |= words.flags;
	if (is_before(whole, words.path, joined->path))
		joined->path = words.path;
	return 0;
}

static int add_modules(struct adding *adding)
{
	const struct catalog *catalog = adding->collection->catalog;
	int error = 0;

	for (uint32_t id = 1; id <= catalog_size(catalog).modules && !error; id++) {
		const struct catalog_module *module = catalog_module(catalog, id);
		uint32_t size = module->build_id_size, added;
		struct merge_content content = {{module->owner, size}};

		for (uint32_t i = 0; i < WIRE_BUILD_ID_MAX / 8; i++)
			content.words[2 + i] = merge_content_word(module->build_id, size, i);
		content.words[6] = size ? 0 : module->path;
		error = add(adding, MERGE_KIND_MODULE, content, &added);
		if (!error)
			error = join_module(adding->whole, added,
					    (struct module_words){
						    merge_map_id(adding->map, MERGE_KIND_STRING,
								 module->path),
						    module->flags});
	}
	return error;
}

static uint32_t count_bytes(const char *text, uint32_t size, char byte)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < size; i++)
		count += text[i] == byte;
	return count;
}

/* Whether a name says more than another one. One that was looked up and not found says more than none; a text says more
 * than both. Of two texts the one with more source lines (behind tabs) does, then the one with more functions. */
static bool says_more(const struct merge_union *whole, uint32_t name, uint32_t other)
{
	if (name == CATALOG_NAME_UNKNOWN || other == CATALOG_NAME_UNKNOWN)
		return name != CATALOG_NAME_UNKNOWN;
	if (!name || !other)
		return name;
	uint32_t size_a, size_b;
	const char *a = text_pool_get(whole->pools[MERGE_KIND_STRING], name, &size_a);
	const char *b = text_pool_get(whole->pools[MERGE_KIND_STRING], other, &size_b);
	uint32_t lines_a = count_bytes(a, size_a, '\t'), lines_b = count_bytes(b, size_b, '\t');
	uint32_t functions_a = count_bytes(a, size_a, '\n'),
		 functions_b = count_bytes(b, size_b, '\n');

	if (lines_a != lines_b)
		return lines_a > lines_b;
	return functions_a != functions_b ? functions_a > functions_b
					  : is_before(whole, name, other);
}

static int join_name(struct merge_union *whole, uint32_t id, uint32_t name)
{
	if (array_reserve(&whole->names, &whole->room_names, id, sizeof(*whole->names)))
		return -ENOMEM;
	if (id > whole->nr_names) {
		whole->nr_names = id;
		whole->names[id - 1] = name;
	}
	if (says_more(whole, name, whole->names[id - 1]))
		whole->names[id - 1] = name;
	return 0;
}

static int add_frames(struct adding *adding)
{
	const struct catalog *catalog = adding->collection->catalog;
	int error = 0;

	for (uint32_t id = 1; id <= catalog_size(catalog).frames && !error; id++) {
		const struct catalog_frame *frame = catalog_frame(catalog, id);
		uint32_t added, name = frame->name;

		error = add(adding, MERGE_KIND_FRAME,
			    (struct merge_content){
				    {frame->module, frame->code, frame->offset, frame->scope}},
			    &added);
		if (name != CATALOG_NAME_UNKNOWN)
			name = merge_map_id(adding->map, MERGE_KIND_STRING, name);
		if (!error)
			error = join_name(adding->whole, added, name);
	}
	return error;
}

static int add_stacks(struct adding *adding)
{
	const struct catalog *catalog = adding->collection->catalog;
	int error = add_modules(adding);

	for (uint32_t id = 1; id <= catalog_size(catalog).codes && !error; id++) {
		const struct catalog_code *code = catalog_code(catalog, id);

		error = add(adding, MERGE_KIND_CODE,
			    (struct merge_content){{code->file, code->name}}, NULL);
	}
	if (!error)
		error = add_frames(adding);
	for (uint32_t id = 1; id <= catalog_size(catalog).nodes && !error; id++) {
		const struct catalog_node *node = catalog_node(catalog, id);

		error = add(adding, MERGE_KIND_NODE,
			    (struct merge_content){{node->depth, node->parent, node->frame}}, NULL);
	}
	return error;
}

static struct merge_content content_of_device(const struct roster_device *device)
{
	static const uint8_t unknown[WIRE_UUID_SIZE];
	bool has_uuid = memcmp(device->uuid, unknown, sizeof(unknown)) != 0;

	return (struct merge_content){{device->host,
				       merge_content_word(device->uuid, WIRE_UUID_SIZE, 0),
				       merge_content_word(device->uuid, WIRE_UUID_SIZE, 1),
				       has_uuid ? 0 : (uint32_t)device->index,
				       has_uuid ? 0 : device->pci}};
}

static struct merge_content content_of_process(const struct roster_identity *identity)
{
	const uint32_t size = sizeof(identity->instance);

	return (struct merge_content){{identity->host, identity->start_ticks, identity->pid,
				       identity->pid_namespace,
				       merge_content_word(identity->instance, size, 0),
				       merge_content_word(identity->instance, size, 1),
				       identity->writer}};
}

static int add_roster(struct adding *adding)
{
	const struct roster *roster = adding->collection->roster;
	struct roster_size size = roster_size(roster);
	int error = 0;

	for (uint32_t id = 1; id <= size.hosts && !error; id++) {
		const struct roster_host *host = roster_host(roster, id);

		error = add(adding, MERGE_KIND_HOST,
			    (struct merge_content){{host->node, host->boot_id}}, NULL);
	}
	for (uint32_t id = 1; id <= size.devices && !error; id++)
		error = add(adding, MERGE_KIND_DEVICE, content_of_device(roster_device(roster, id)),
			    NULL);
	for (uint32_t id = 1; id <= size.processes && !error; id++)
		error = add(adding, MERGE_KIND_PROCESS,
			    content_of_process(&roster_process(roster, id)->identity), NULL);
	return error;
}

/* A row's second column are the bytes. */
static int add_named(struct adding *adding, enum merge_kind kind, struct statement *row)
{
	uint32_t size;
	const uint8_t *bytes = statement_bytes(row, 1, &size);

	return add(adding, kind,
		   (struct merge_content){{merge_content_word(bytes, size, 0),
					   merge_content_word(bytes, size, 1)}},
		   NULL);
}

static int take_writer(struct statement *row, void *adding)
{
	return add_named(adding, MERGE_KIND_WRITER, row);
}

static int take_epoch(struct statement *row, void *adding)
{
	return add_named(adding, MERGE_KIND_EPOCH, row);
}

void merge_union_order_map(const struct merge_union *whole, struct merge_map *map)
{
	for (int kind = 0; kind < MERGE_KINDS; kind++)
		for (uint32_t i = 0; i < map->kinds[kind].count; i++)
			map->kinds[kind].ids[i] = merge_map_id(
				&whole->order, (enum merge_kind)kind, map->kinds[kind].ids[i]);
}

int merge_union_add(struct merge_union *whole, const struct collection *collection,
		    struct database *database, struct merge_map *map)
{
	struct adding adding = {whole, collection, map};
	int error;

	*map = (struct merge_map){0};
	error = add_strings(&adding);
	if (!error)
		error = database_rows(database, "SELECT id, writer FROM writers ORDER BY id",
				      take_writer, &adding);
	if (!error)
		error = database_rows(database, "SELECT id, epoch FROM epochs ORDER BY id",
				      take_epoch, &adding);
	if (!error)
		error = add_stacks(&adding);
	return error ? error : add_roster(&adding);
}

/* ---- ordering */

struct ordering {
	const struct merge_union *whole;
	enum merge_kind kind;
};

static int by_content(const void *a, const void *b, void *context)
{
	const struct ordering *ordering = context;
	const struct merge_content *contents = ordering->whole->kinds[ordering->kind];
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	if (ordering->kind != MERGE_KIND_STRING)
		return merge_content_compare(&contents[x - 1], &contents[y - 1], ordering->kind);
	return is_before(ordering->whole, x, y) ? -1 : is_before(ordering->whole, y, x);
}

/* Sorts some ids, which then count from first. */
static void order_run(struct merge_union *whole, enum merge_kind kind, uint32_t first,
		      uint32_t count)
{
	struct ordering ordering = {whole, kind};
	uint32_t *ids = whole->sorted[kind] + first;

	for (uint32_t i = 0; i < count && kind != MERGE_KIND_STRING; i++)
		merge_content_translate(&whole->kinds[kind][ids[i] - 1], kind, &whole->order);
	qsort_r(ids, count, sizeof(*ids), by_content, &ordering);
	for (uint32_t i = 0; i < count; i++)
		whole->order.kinds[kind].ids[ids[i] - 1] = first + i + 1;
}

/* A node's parent must be ordered before it: so level by level. The pool has parents before their children, but not all
 * of a level side by side. */
static void order_nodes(struct merge_union *whole, uint32_t count)
{
	struct ordering ordering = {whole, MERGE_KIND_NODE};
	uint32_t *ids = whole->sorted[MERGE_KIND_NODE];

	/* By depth first, because that is the first word. The others are not ordered ids yet. */
	qsort_r(ids, count, sizeof(*ids), by_content, &ordering);
	for (uint32_t first = 0, next; first < count; first = next) {
		const struct merge_content *contents = whole->kinds[MERGE_KIND_NODE];

		for (next = first; next < count && contents[ids[next] - 1].words[0] ==
							   contents[ids[first] - 1].words[0];)
			next++;
		order_run(whole, MERGE_KIND_NODE, first, next - first);
	}
}

static int order_kind(struct merge_union *whole, enum merge_kind kind)
{
	uint32_t count = text_pool_count(whole->pools[kind]), size;
	struct merge_ids *ids = &whole->order.kinds[kind];

	whole->sorted[kind] = calloc(count + 1ull, sizeof(*whole->sorted[kind]));
	whole->kinds[kind] = calloc(kind == MERGE_KIND_STRING ? 1 : count + 1ull,
				    sizeof(*whole->kinds[kind]));
	*ids = (struct merge_ids){calloc(count + 1ull, sizeof(*ids->ids)), count, count};
	if (!whole->sorted[kind] || !whole->kinds[kind] || !ids->ids)
		return -ENOMEM;
	for (uint32_t i = 0; i < count; i++) {
		const char *bytes = text_pool_get(whole->pools[kind], i + 1, &size);

		whole->sorted[kind][i] = i + 1;
		if (kind != MERGE_KIND_STRING)
			memcpy(whole->kinds[kind][i].words, bytes, size);
	}
	if (kind == MERGE_KIND_NODE)
		order_nodes(whole, count);
	else
		order_run(whole, kind, 0, count);
	return 0;
}

int merge_union_order(struct merge_union *whole)
{
	static const enum merge_kind kinds[] = {
		/* each after those that its content names */
		MERGE_KIND_STRING, MERGE_KIND_WRITER, MERGE_KIND_EPOCH, MERGE_KIND_MODULE,
		MERGE_KIND_CODE,   MERGE_KIND_FRAME,  MERGE_KIND_NODE,  MERGE_KIND_HOST,
		MERGE_KIND_DEVICE, MERGE_KIND_PROCESS,
	};
	int error = 0;

	_Static_assert(sizeof(kinds) / sizeof(kinds[0]) == MERGE_KINDS, "each kind once");
	for (size_t i = 0; i < MERGE_KINDS && !error; i++)
		error = order_kind(whole, kinds[i]);
	return error;
}

/* ---- writing */

static int write_string(const struct merge_union *whole, struct statement *statement, uint32_t id,
			uint32_t pooled)
{
	uint32_t size;
	const char *data = text_pool_get(whole->pools[MERGE_KIND_STRING], pooled, &size);
	const struct database_value values[] = {database_number(id), database_bytes(data, size)};

	return statement_run(statement, values, 2);
}

static int write_module(const struct merge_union *whole, struct statement *statement, uint32_t id,
			uint32_t pooled)
{
	const struct merge_content *content = &whole->kinds[MERGE_KIND_MODULE][pooled - 1];
	const struct module_words *words = &whole->modules[pooled - 1];
	uint8_t build_id[WIRE_BUILD_ID_MAX];

	for (uint32_t i = 0; i < sizeof(build_id); i++)
		build_id[i] = (uint8_t)(content->words[2 + i / 8] >> (56 - i % 8 * 8));
	const struct database_value values[] = {
		database_number(id),
		database_number(merge_map_id(&whole->order, MERGE_KIND_STRING, words->path)),
		database_number(words->flags),
		database_number(content->words[0]),
		database_bytes(build_id, content->words[1]),
	};
	return statement_run(statement, values, 5);
}

static int write_code(const struct merge_union *whole, struct statement *statement, uint32_t id,
		      uint32_t pooled)
{
	const struct merge_content *content = &whole->kinds[MERGE_KIND_CODE][pooled - 1];
	const struct database_value values[] = {database_number(id),
						database_number(content->words[0]),
						database_number(content->words[1])};

	return statement_run(statement, values, 3);
}

static int write_frame(const struct merge_union *whole, struct statement *statement, uint32_t id,
		       uint32_t pooled)
{
	const uint64_t *words = whole->kinds[MERGE_KIND_FRAME][pooled - 1].words;
	uint32_t name = whole->names[pooled - 1];
	const struct database_value values[] = {
		database_number(id),
		database_number(words[0]),
		database_number(words[2]),
		database_number(words[3]),
		database_number(words[1]),
		name == CATALOG_NAME_UNKNOWN
			? (struct database_value){.type = DATABASE_NULL}
			: database_number(merge_map_id(&whole->order, MERGE_KIND_STRING, name)),
	};

	return statement_run(statement, values, 6);
}

static int write_node(const struct merge_union *whole, struct statement *statement, uint32_t id,
		      uint32_t pooled)
{
	const struct merge_content *content = &whole->kinds[MERGE_KIND_NODE][pooled - 1];
	const struct database_value values[] = {database_number(id),
						database_number(content->words[1]),
						database_number(content->words[2])};

	return statement_run(statement, values, 3);
}

int merge_union_write(const struct merge_union *whole, struct database *database)
{
	static const struct {
		enum merge_kind kind;
		const char *sql;
		int (*write)(const struct merge_union *whole, struct statement *statement,
			     uint32_t id, uint32_t pooled);
	} kinds[] = {
		{MERGE_KIND_STRING, "INSERT INTO strings VALUES (?,?)", write_string},
		{MERGE_KIND_MODULE, "INSERT INTO modules VALUES (?,?,?,?,?)", write_module},
		{MERGE_KIND_CODE, "INSERT INTO codes VALUES (?,?,?)", write_code},
		{MERGE_KIND_FRAME, "INSERT INTO frames VALUES (?,?,?,?,?,?)", write_frame},
		{MERGE_KIND_NODE, "INSERT INTO nodes VALUES (?,?,?)", write_node},
	};
	int error = 0;

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]) && !error; i++) {
		uint32_t count = text_pool_count(whole->pools[kinds[i].kind]);
		struct statement *statement;

		error = statement_create(database, kinds[i].sql, &statement);
		for (uint32_t id = 1; id <= count && !error; id++)
			error = kinds[i].write(whole, statement, id,
					       whole->sorted[kinds[i].kind][id - 1]);
		statement_destroy(statement);
	}
	return error;
}
