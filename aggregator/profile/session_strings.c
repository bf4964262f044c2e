#include "session_modules.h"

#include "catalog.h"
#include "collection.h"

static const struct message_text left_out = {SESSION_STRINGS_LEFT_OUT,
					     sizeof(SESSION_STRINGS_LEFT_OUT) - 1};

static int add_text(struct agent_session *session, struct catalog *catalog,
		    const struct message_text *text, uint32_t owner)
{
	uint32_t id = catalog_find_string(catalog, text->data, text->size);
	bool has_room = true;
	int error = 0;

	if (!id)
		error = text_shares_take(&session->texts, owner, text->size, &has_room);
	if (!has_room)
		text = &left_out;
	if (!id && !error)
		error = catalog_add_string(catalog, text->data, text->size, &id);
	return error ? error : agent_session_add_id(session, SESSION_STRINGS, id);
}

int session_strings_apply(struct agent_session *session, struct collection *collection,
			  const struct message *any, const char **reason)
{
	const struct message_strings *strings = &any->strings;
	int error = agent_session_check_base(session, SESSION_STRINGS, strings->base,
					     strings->count, reason);

	for (uint32_t i = 0; i < strings->count && !error; i++)
		error = add_text(session, collection->catalog, &strings->strings[i],
				 strings->owners ? strings->owners[i] : 0);
	return error;
}

uint32_t session_strings_left_out(const struct catalog *catalog)
{
	return catalog_find_string(catalog, left_out.data, left_out.size);
}
