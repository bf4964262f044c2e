#include "session_modules.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "catalog.h"
#include "collection.h"

/* Returns the depth of a node of this message or of the catalog. The parents of nodes up to `index` are valid. */
static uint32_t depth_of(const struct agent_session *session, const struct catalog *catalog,
			 const struct message_stacks *stacks, const uint16_t *depths, uint32_t node)
{
	if (node == 0)
		return 0;
	if (node >= stacks->node_base)
		return depths[node - stacks->node_base];
	return catalog_node(catalog, agent_session_translate(session, SESSION_NODES, node))->depth;
}

static int check_nodes(const struct agent_session *session, const struct catalog *catalog,
		       const struct message_stacks *stacks, const char **reason)
{
	uint32_t nr_frames = session->ids[SESSION_FRAMES].count + stacks->nr_frames;
	uint16_t *depths = calloc(stacks->nr_nodes ? stacks->nr_nodes : 1, sizeof(*depths));
	int error = depths ? 0 : -ENOMEM;

	for (uint32_t i = 0; i < stacks->nr_nodes && !error; i++) {
		const struct message_node *node = &stacks->nodes[i];

		if (node->parent >= stacks->node_base + i || node->frame == 0 ||
		    node->frame > nr_frames) {
			*reason = "a stack node names what is not defined";
			error = REFUSE_UNDEFINED;
			break;
		}
		uint32_t depth = depth_of(session, catalog, stacks, depths, node->parent) + 1;
		if (depth > WIRE_STACK_DEPTH_MAX) {
			*reason = "a stack is too deep";
			error = REFUSE_MALFORMED;
		}
		depths[i] = (uint16_t)depth;
	}
	free(depths);
	return error;
}

static int check_bases(const struct agent_session *session, const struct message_stacks *stacks,
		       const char **reason)
{
	int error = agent_session_check_base(session, SESSION_MODULES, stacks->module_base,
					     stacks->nr_modules, reason);

	if (!error)
		error = agent_session_check_base(session, SESSION_CODES, stacks->code_base,
						 stacks->nr_codes, reason);
	if (!error)
		error = agent_session_check_base(session, SESSION_FRAMES, stacks->frame_base,
						 stacks->nr_frames, reason);
	if (!error)
		error = agent_session_check_base(session, SESSION_NODES, stacks->node_base,
						 stacks->nr_nodes, reason);
	return error;
}

static int check_stacks(const struct agent_session *session, const struct catalog *catalog,
			const struct message_stacks *stacks, const char **reason)
{
	uint32_t nr_modules = session->ids[SESSION_MODULES].count + stacks->nr_modules;
	uint32_t nr_codes = session->ids[SESSION_CODES].count + stacks->nr_codes;
	uint32_t nr_frames = session->ids[SESSION_FRAMES].count + stacks->nr_frames;
	int error = check_bases(session, stacks, reason);

	if (error)
		return error;
	*reason = "a module, code, frame or symbol names what is not defined";
	for (uint32_t i = 0; i < stacks->nr_modules; i++)
		if (!agent_session_defined(session, SESSION_STRINGS, stacks->modules[i].path) ||
		    stacks->modules[i].build_id_size > WIRE_BUILD_ID_MAX)
			return REFUSE_UNDEFINED;
	for (uint32_t i = 0; i < stacks->nr_codes; i++)
		if (!agent_session_defined(session, SESSION_STRINGS, stacks->codes[i].file) ||
		    !agent_session_defined(session, SESSION_STRINGS, stacks->codes[i].name) ||
		    stacks->codes[i].name == 0)
			return REFUSE_UNDEFINED;
	for (uint32_t i = 0; i < stacks->nr_frames; i++)
		if (stacks->frames[i].module > nr_modules || stacks->frames[i].code > nr_codes)
			return REFUSE_UNDEFINED;
	for (uint32_t i = 0; i < stacks->nr_symbols; i++)
		if (stacks->symbols[i].frame == 0 || stacks->symbols[i].frame > nr_frames ||
		    !agent_session_defined(session, SESSION_STRINGS, stacks->symbols[i].name))
			return REFUSE_UNDEFINED;
	return check_nodes(session, catalog, stacks, reason);
}

static int apply_modules(struct agent_session *session, struct catalog *catalog,
			 const struct message_stacks *stacks)
{
	int error = 0;

	for (uint32_t i = 0; i < stacks->nr_modules && !error; i++) {
		const struct message_module *from = &stacks->modules[i];
		struct catalog_module module = {
			.path = agent_session_translate(session, SESSION_STRINGS, from->path),
			.flags = from->flags,
			.owner = from->owner,
			.build_id_size = from->build_id_size,
		};
		uint32_t id;

		memcpy(module.build_id, from->build_id, from->build_id_size);
		error = catalog_add_module(catalog, &module, &id);
		if (!error)
			error = agent_session_add_id(session, SESSION_MODULES, id);
	}
	return error;
}

static int apply_codes(struct agent_session *session, struct catalog *catalog,
		       const struct message_stacks *stacks)
{
	int error = 0;

	for (uint32_t i = 0; i < stacks->nr_codes && !error; i++) {
		struct catalog_code code = {
			.file = agent_session_translate(session, SESSION_STRINGS,
							stacks->codes[i].file),
			.name = agent_session_translate(session, SESSION_STRINGS,
							stacks->codes[i].name),
		};
		uint32_t id;

		error = catalog_add_code(catalog, code, &id);
		if (!error)
			error = agent_session_add_id(session, SESSION_CODES, id);
	}
	return error;
}

static int apply_frames(struct agent_session *session, struct catalog *catalog,
			const struct message_stacks *stacks)
{
	int error = 0;

	for (uint32_t i = 0; i < stacks->nr_frames && !error; i++) {
		const struct message_frame *frame = &stacks->frames[i];
		uint32_t module = agent_session_translate(session, SESSION_MODULES, frame->module);
		uint32_t code = agent_session_translate(session, SESSION_CODES, frame->code), id;

		error = code ? catalog_add_code_frame(catalog, code, frame->offset, &id)
			     : catalog_add_frame(catalog, module, frame->offset, session->id, &id);
		if (!error)
			error = agent_session_add_id(session, SESSION_FRAMES, id);
	}
	return error;
}

int session_stacks_apply(struct agent_session *session, struct collection *collection,
			 const struct message *any, const char **reason)
{
	const struct message_stacks *stacks = &any->stacks;
	struct catalog *catalog = collection->catalog;
	uint32_t id;
	int error = check_stacks(session, catalog, stacks, reason);

	if (!error)
		error = apply_modules(session, catalog, stacks);
	if (!error)
		error = apply_codes(session, catalog, stacks);
	if (!error)
		error = apply_frames(session, catalog, stacks);
	for (uint32_t i = 0; i < stacks->nr_nodes && !error; i++) {
		const struct message_node *node = &stacks->nodes[i];

		error = catalog_add_node(
			catalog, agent_session_translate(session, SESSION_NODES, node->parent),
			agent_session_translate(session, SESSION_FRAMES, node->frame), &id);
		if (!error)
			error = agent_session_add_id(session, SESSION_NODES, id);
	}
	for (uint32_t i = 0; i < stacks->nr_symbols && !error; i++) {
		const struct message_symbol *symbol = &stacks->symbols[i];

		error = catalog_name_frame(
			catalog, agent_session_translate(session, SESSION_FRAMES, symbol->frame),
			agent_session_translate(session, SESSION_STRINGS, symbol->name));
	}
	return error;
}
