#include "agent_session.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "catalog.h"
#include "roster.h"

#include "base/array.h"

struct agent_session *agent_session_create(const uint8_t epoch[WIRE_EPOCH_SIZE], uint32_t id)
{
	struct agent_session *session = calloc(1, sizeof(*session));

	if (session) {
		memcpy(session->epoch, epoch, WIRE_EPOCH_SIZE);
		session->id = id;
		session->writer = ROSTER_WRITER;
		session->changed = true;
	}
	return session;
}

void agent_session_destroy(struct agent_session *session)
{
	if (!session)
		return;
	for (int kind = 0; kind < SESSION_ID_KINDS; kind++)
		free(session->ids[kind].ids);
	text_shares_fini(&session->texts);
	free(session->ledger);
	free(session);
}

void agent_session_saved(struct agent_session *session)
{
	session->durable_seq = session->received_seq;
	session->changed = session->ledger_changed = false;
	for (int kind = 0; kind < SESSION_ID_KINDS; kind++)
		session->ids[kind].saved = session->ids[kind].count;
}

int agent_session_add_id(struct agent_session *session, enum session_id_kind kind, uint32_t id)
{
	struct session_ids *ids = &session->ids[kind];

	return array_append(&ids->ids, &ids->count, &id, sizeof(id));
}

int agent_session_hello(struct agent_session *session, struct catalog *catalog,
			struct roster *roster, const struct message_hello *hello)
{
	struct roster_host host;
	int error = catalog_add_string(catalog, hello->boot_id.data, hello->boot_id.size,
				       &host.boot_id);

	if (!error)
		error = catalog_add_string(catalog, hello->node.data, hello->node.size, &host.node);
	if (!error)
		error = catalog_add_string(catalog, hello->software.data, hello->software.size,
					   &session->software);
	if (!error)
		error = roster_add_host(roster, &host, &session->host);
	session->changed = true;
	return error;
}

static bool is_text(const struct catalog *catalog, uint32_t id, const struct message_text *text)
{
	return id && catalog_find_string(catalog, text->data, text->size) == id;
}

bool agent_session_supersede(struct agent_session *session, const struct catalog *catalog,
			     const struct roster *roster, const struct message_hello *hello)
{
	const struct roster_host *host = session->host ? roster_host(roster, session->host) : NULL;

	if (session->ended || session->superseded)
		return session->superseded;
	if (!host || !is_text(catalog, host->boot_id, &hello->boot_id) ||
	    !is_text(catalog, host->node, &hello->node))
		return false;
	session->superseded = session->changed = true;
	return true;
}

int agent_session_check_base(const struct agent_session *session, enum session_id_kind kind,
			     uint32_t base, uint32_t count, const char **reason)
{
	if (count == 0)
		return 0;
	if (base != session->ids[kind].count + 1) {
		*reason = "ids do not follow those defined before";
		return REFUSE_UNDEFINED;
	}
	if (count > WIRE_ID_MAX - session->ids[kind].count) {
		*reason = "too many ids";
		return REFUSE_LIMIT;
	}
	return 0;
}
