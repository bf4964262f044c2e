/* The parts of the whole job's stacks, merged. Two strings are equal if their content is; modules if their owner and
 * build id are (or path, without a build id); codes if file and name are. Two frames are equal if their module and
 * offset are, or code and line; stack nodes if parent and frame are. So ranks of one program share everything. All ids
 * count from 1 without gaps and are the store's. One catalog is used by one thread. */
#ifndef CATALOG_H
#define CATALOG_H

#include <stdint.h>

#include "proto/batch/message.h"

#define CATALOG_NAME_UNKNOWN UINT32_MAX /* the frame has not been looked up yet */

struct catalog;

struct catalog_module {
	uint32_t path;  /* string id, or 0 */
	uint32_t flags; /* enum definition_module_flags */
	uint32_t owner; /* the user whose processes map it */
	uint32_t build_id_size;
	uint8_t build_id[WIRE_BUILD_ID_MAX]; /* zeros after build_id_size */
};

struct catalog_code {
	uint32_t file; /* string id; 0: a mark, whose name is shown as it is */
	uint32_t name; /* string id */
};

struct catalog_frame {
	uint64_t offset; /* with a code: the line, 0: none */
	uint32_t module; /* 0: offset is a plain address, valid only within its scope; or a line */
	uint32_t scope;  /* epoch id if module and code are 0, else 0 */
	uint32_t code;   /* 0: a native frame */
	uint32_t name;   /* of a native frame: string id; 0: no name; CATALOG_NAME_UNKNOWN */
};

struct catalog_node {
	uint32_t parent; /* 0: a root */
	uint32_t frame;
	uint32_t depth; /* 1: a root */
};

/* NULL: out of memory. catalog_destroy() accepts NULL. */
struct catalog *catalog_create(void);
void catalog_destroy(struct catalog *catalog);

/* Each function returns 0, and *id is the old or new id; -ENOMEM: unchanged. Ids in the arguments must exist
 * (asserted). A known module keeps its path and flags. */
int catalog_add_string(struct catalog *catalog, const char *data, uint32_t size, uint32_t *id);
uint32_t catalog_find_string(const struct catalog *catalog, const char *data,
			     uint32_t size); /* 0: the catalog lacks it */
int catalog_add_module(struct catalog *catalog, const struct catalog_module *module, uint32_t *id);
int catalog_add_code(struct catalog *catalog, struct catalog_code code, uint32_t *id);
int catalog_add_frame(struct catalog *catalog, uint32_t module, uint64_t offset, uint32_t scope,
		      uint32_t *id);
int catalog_add_code_frame(struct catalog *catalog, uint32_t code, uint64_t line, uint32_t *id);
int catalog_add_node(struct catalog *catalog, uint32_t parent, uint32_t frame, uint32_t *id);

/* Names a frame. name 0 ("no name") does not replace a name, because another node may have had no debug information. 0
 * or -ENOMEM. */
int catalog_name_frame(struct catalog *catalog, uint32_t frame, uint32_t name);

/* Borrowed until the next add. id 0 or unknown: "" or a zeroed struct. */
const char *catalog_string(const struct catalog *catalog, uint32_t id, uint32_t *size);
const struct catalog_module *catalog_module(const struct catalog *catalog, uint32_t id);
const struct catalog_code *catalog_code(const struct catalog *catalog, uint32_t id);
const struct catalog_frame *catalog_frame(const struct catalog *catalog, uint32_t id);
const struct catalog_node *catalog_node(const struct catalog *catalog, uint32_t id);

struct catalog_size {
	uint32_t strings, modules, codes, frames, nodes;
};
struct catalog_size catalog_size(const struct catalog *catalog);

/* Returns the size of the part that the store has. Frames in catalog_renamed() are within it, but were named since. */
const struct catalog_size *catalog_saved_size(const struct catalog *catalog);
const uint32_t *catalog_renamed(const struct catalog *catalog, uint32_t *count);
void catalog_saved(struct catalog *catalog);

#endif
