#include "catalog.h"

#include <assert.h>
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "text_pool.h"

#include "base/array.h"
#include "base/hash_index.h"

struct catalog {
	struct text_pool *strings;
	struct catalog_module *modules;
	struct catalog_code *codes;
	struct catalog_frame *frames;
	struct catalog_node *nodes;
	struct hash_index module_index, code_index, frame_index, node_index;
	struct catalog_size size, room, saved;
	uint32_t *renamed;
	uint32_t nr_renamed;
};

struct catalog *catalog_create(void)
{
	struct catalog *catalog = calloc(1, sizeof(*catalog));
	if (!catalog)
		return NULL;
	catalog->strings = text_pool_create();
	if (!catalog->strings) {
		free(catalog);
		return NULL;
	}
	return catalog;
}

void catalog_destroy(struct catalog *catalog)
{
	if (!catalog)
		return;
	text_pool_destroy(catalog->strings);
	hash_index_fini(&catalog->module_index);
	hash_index_fini(&catalog->code_index);
	hash_index_fini(&catalog->frame_index);
	hash_index_fini(&catalog->node_index);
	free(catalog->modules);
	free(catalog->codes);
	free(catalog->frames);
	free(catalog->nodes);
	free(catalog->renamed);
	free(catalog);
}

int catalog_add_string(struct catalog *catalog, const char *data, uint32_t size, uint32_t *id)
{
	int error = text_pool_intern(catalog->strings, data, size, id);

	catalog->size.strings = text_pool_count(catalog->strings);
	return error;
}

uint32_t catalog_find_string(const struct catalog *catalog, const char *data, uint32_t size)
{
	return text_pool_find(catalog->strings, data, size);
}

static bool module_equals(const void *context, uint32_t id, const void *key)
{
	const struct catalog *catalog = context;
	const struct catalog_module *module = &catalog->modules[id - 1], *wanted = key;

	if (module->owner != wanted->owner || module->build_id_size != wanted->build_id_size)
		return false;
	if (module->build_id_size == 0)
		return module->path == wanted->path;
	return memcmp(module->build_id, wanted->build_id, module->build_id_size) == 0;
}

int catalog_add_module(struct catalog *catalog, const struct catalog_module *module, uint32_t *id)
{
	assert(module->path <= catalog->size.strings);
	assert(module->build_id_size <= WIRE_BUILD_ID_MAX);
	uint32_t hash = module->build_id_size
				? hash_index_hash(module->build_id, module->build_id_size)
				: hash_index_hash(&module->path, sizeof(module->path));

	*id = hash_index_find(&catalog->module_index, hash, module_equals, catalog, module);
	if (*id)
		return 0;
	if (array_reserve(&catalog->modules, &catalog->room.modules, catalog->size.modules + 1,
			  sizeof(*catalog->modules)) ||
	    hash_index_insert(&catalog->module_index, hash, catalog->size.modules + 1))
		return -ENOMEM;
	catalog->modules[catalog->size.modules++] = *module;
	*id = catalog->size.modules;
	return 0;
}

static bool code_equals(const void *context, uint32_t id, const void *key)
{
	const struct catalog *catalog = context;

	return memcmp(&catalog->codes[id - 1], key, sizeof(struct catalog_code)) == 0;
}

int catalog_add_code(struct catalog *catalog, struct catalog_code code, uint32_t *id)
{
	uint32_t hash = hash_index_hash(&code, sizeof(code));

	assert(code.file <= catalog->size.strings);
	assert(code.name > 0 && code.name <= catalog->size.strings);
	*id = hash_index_find(&catalog->code_index, hash, code_equals, catalog, &code);
	if (*id)
		return 0;
	if (array_reserve(&catalog->codes, &catalog->room.codes, catalog->size.codes + 1,
			  sizeof(*catalog->codes)) ||
	    hash_index_insert(&catalog->code_index, hash, catalog->size.codes + 1))
		return -ENOMEM;
	catalog->codes[catalog->size.codes++] = code;
	*id = catalog->size.codes;
	return 0;
}

static bool frame_equals(const void *context, uint32_t id, const void *key)
{
	const struct catalog *catalog = context;
	const struct catalog_frame *frame = &catalog->frames[id - 1], *wanted = key;

	return memcmp(frame, wanted, offsetof(struct catalog_frame, name)) == 0;
}

static int add_frame(struct catalog *catalog, const struct catalog_frame *frame, uint32_t *id)
{
	uint32_t hash = hash_index_hash(frame, offsetof(struct catalog_frame, name));

	*id = hash_index_find(&catalog->frame_index, hash, frame_equals, catalog, frame);
	if (*id)
		return 0;
	if (array_reserve(&catalog->frames, &catalog->room.frames, catalog->size.frames + 1,
			  sizeof(*catalog->frames)) ||
	    hash_index_insert(&catalog->frame_index, hash, catalog->size.frames + 1))
		return -ENOMEM;
	catalog->frames[catalog->size.frames++] = *frame;
	*id = catalog->size.frames;
	return 0;
}

int catalog_add_frame(struct catalog *catalog, uint32_t module, uint64_t offset, uint32_t scope,
		      uint32_t *id)
{
	struct catalog_frame frame = {.offset = offset,
				      .module = module,
				      .scope = module ? 0 : scope,
				      .name = CATALOG_NAME_UNKNOWN};

	assert(module <= catalog->size.modules);
	return add_frame(catalog, &frame, id);
}

int catalog_add_code_frame(struct catalog *catalog, uint32_t code, uint64_t line, uint32_t *id)
{
	struct catalog_frame frame = {.offset = line, .code = code, .name = CATALOG_NAME_UNKNOWN};

	assert(code > 0 && code <= catalog->size.codes);
	return add_frame(catalog, &frame, id);
}

static bool node_equals(const void *context, uint32_t id, const void *key)
{
	const struct catalog *catalog = context;
	const struct catalog_node *node = &catalog->nodes[id - 1], *wanted = key;

	return node->parent == wanted->parent && node->frame == wanted->frame;
}

int catalog_add_node(struct catalog *catalog, uint32_t parent, uint32_t frame, uint32_t *id)
{
	struct catalog_node node = {.parent = parent, .frame = frame};
	uint32_t hash = hash_index_hash(&node, offsetof(struct catalog_node, depth));

	assert(parent <= catalog->size.nodes && frame > 0 && frame <= catalog->size.frames);
	node.depth = parent ? catalog->nodes[parent - 1].depth + 1 : 1;
	*id = hash_index_find(&catalog->node_index, hash, node_equals, catalog, &node);
	if (*id)
		return 0;
	if (array_reserve(&catalog->nodes, &catalog->room.nodes, catalog->size.nodes + 1,
			  sizeof(*catalog->nodes)) ||
	    hash_index_insert(&catalog->node_index, hash, catalog->size.nodes + 1))
		return -ENOMEM;
	catalog->nodes[catalog->size.nodes++] = node;
	*id = catalog->size.nodes;
	return 0;
}

int catalog_name_frame(struct catalog *catalog, uint32_t frame, uint32_t name)
{
	assert(frame > 0 && frame <= catalog->size.frames);
	assert(name <= catalog->size.strings || name == CATALOG_NAME_UNKNOWN);
	uint32_t *current = &catalog->frames[frame - 1].name;

	if (*current == name || (name == 0 && *current != CATALOG_NAME_UNKNOWN))
		return 0;
	if (frame <= catalog->saved.frames) {
		if (array_append(&catalog->renamed, &catalog->nr_renamed, &frame, sizeof(frame)))
			return -ENOMEM;
	}
	*current = name;
	return 0;
}

const char *catalog_string(const struct catalog *catalog, uint32_t id, uint32_t *size)
{
	return text_pool_get(catalog->strings, id, size);
}

const struct catalog_module *catalog_module(const struct catalog *catalog, uint32_t id)
{
	static const struct catalog_module none;

	return id > 0 && id <= catalog->size.modules ? &catalog->modules[id - 1] : &none;
}

const struct catalog_code *catalog_code(const struct catalog *catalog, uint32_t id)
{
	static const struct catalog_code none;

	return id > 0 && id <= catalog->size.codes ? &catalog->codes[id - 1] : &none;
}

const struct catalog_frame *catalog_frame(const struct catalog *catalog, uint32_t id)
{
	static const struct catalog_frame none;

	return id > 0 && id <= catalog->size.frames ? &catalog->frames[id - 1] : &none;
}

const struct catalog_node *catalog_node(const struct catalog *catalog, uint32_t id)
{
	static const struct catalog_node none;

	return id > 0 && id <= catalog->size.nodes ? &catalog->nodes[id - 1] : &none;
}

struct catalog_size catalog_size(const struct catalog *catalog)
{
	return catalog->size;
}

const struct catalog_size *catalog_saved_size(const struct catalog *catalog)
{
	return &catalog->saved;
}

const uint32_t *catalog_renamed(const struct catalog *catalog, uint32_t *count)
{
	*count = catalog->nr_renamed;
	return catalog->renamed;
}

void catalog_saved(struct catalog *catalog)
{
	catalog->saved = catalog->size;
	catalog->nr_renamed = 0;
}
