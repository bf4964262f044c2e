#include "node_profiles.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "page_saver.h"

#include "aggregator/pages/page_set.h"
#include "aggregator/profile/agent_session.h"
#include "base/array.h"
#include "base/log.h"
#include "proto/batch/message_seq.h"

struct node_link {
	struct agent_session *session; /* owns; NULL: the link was an earlier aggregator's */
	uint8_t writer[WIRE_EPOCH_SIZE];
	bool has_writer;
	bool ended; /* it has said goodbye */
	/* The goodbye is acknowledged when a file has it: then the node removes its own. */
	bool bye_waits, bye_is_saved; /* is_saved: by the save that runs */
	uint64_t bye_ns;              /* time of the goodbye */
};

struct node_profiles {
	char *path, *wanted_path; /* owns; of the file, and of its PAGE_SET_WANTED */
	struct page_set *set;
	struct page_saver saver;
	struct node_link *links; /* owns; a session's id is its place from 1 */
	uint32_t nr_links, room_links;
	uint64_t first_ns;   /* time of the first page; 0: none has come */
	uint64_t save_ns;    /* time of the next save, once a page has come */
	uint64_t look_ns;    /* time of the next look for a reader's wish */
	uint64_t watched_ns; /* until then somebody watches */
	uint32_t round_ms;   /* of node_profiles_round_ms() */
	uint64_t end_ns;     /* time of the next look whether a save has ended */
	uint64_t new_ns;     /* time of the save that a new node is due; 0: none has come */
	uint64_t began_ns;   /* time when the newest save began */
	uint64_t rest_ns;    /* new nodes wait until then for a save */
	bool has_begun;      /* the first page has come, and no file tells readers so */
	bool has_failed;     /* to save, the last time */
	bool wish_is_saved;  /* by the save that runs */
};

static uint64_t later(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

/* ---- life */

static struct node_link *add_link(struct node_profiles *profiles)
{
	if (array_reserve(&profiles->links, &profiles->room_links, (uint64_t)profiles->nr_links + 1,
			  sizeof(*profiles->links)))
		return NULL;
	struct node_link *link = &profiles->links[profiles->nr_links++];
	*link = (struct node_link){0};
	return link;
}

/* Links of the earlier aggregator are awaited. */
static int load(struct node_profiles *profiles)
{
	int error = page_set_load(profiles->path, &profiles->set);

	if (error == -ENOENT)
		profiles->set = page_set_create();
	else if (error)
		return error;
	if (!profiles->set)
		return -ENOMEM;
	for (uint32_t i = 0; i < page_set_writers(profiles->set); i++) {
		struct node_link *link = add_link(profiles);

		if (!link)
			return -ENOMEM;
		memcpy(link->writer, page_set_writer(profiles->set, i), WIRE_EPOCH_SIZE);
		link->has_writer = true;
		link->ended = page_set_ended(profiles->set, i);
	}
	return 0;
}

int node_profiles_open(const char *path, struct node_profiles **profiles)
{
	*profiles = calloc(1, sizeof(**profiles));
	if (!*profiles)
		return -ENOMEM;
	(*profiles)->path = strdup(path);
	if (asprintf(&(*profiles)->wanted_path, "%s" PAGE_SET_WANTED, path) < 0)
		(*profiles)->wanted_path = NULL;
	int error = (*profiles)->path && (*profiles)->wanted_path ? load(*profiles) : -ENOMEM;
	(*profiles)->saver =
		(struct page_saver){.set = (*profiles)->set, .path = (*profiles)->path};
	if (error) {
		node_profiles_close(*profiles);
		*profiles = NULL;
	}
	return error;
}

void node_profiles_close(struct node_profiles *profiles)
{
	int result;

	if (!profiles)
		return;
	page_saver_end(&profiles->saver, true, &result);
	page_set_destroy(profiles->set);
	for (uint32_t i = 0; i < profiles->nr_links; i++)
		agent_session_destroy(profiles->links[i].session);
	free(profiles->links);
	if (profiles->wanted_path)
		unlink(profiles->wanted_path);
	free(profiles->wanted_path);
	free(profiles->path);
	free(profiles);
}

/* ---- links */

struct agent_session *node_profiles_session(struct node_profiles *profiles,
					    const uint8_t epoch[WIRE_EPOCH_SIZE], bool *is_full)
{
	*is_full = false;
	for (uint32_t i = 0; i < profiles->nr_links; i++) {
		struct agent_session *session = profiles->links[i].session;

		if (session && memcmp(session->epoch, epoch, WIRE_EPOCH_SIZE) == 0)
			return session;
	}
	*is_full = profiles->nr_links >= NODE_PROFILES_LINKS_MAX;
	if (*is_full)
		return NULL;
	struct agent_session *session = agent_session_create(epoch, profiles->nr_links + 1);
	struct node_link *link = session ? add_link(profiles) : NULL;
	if (!link) {
		agent_session_destroy(session);
		return NULL;
	}
	session->folds = true;
	link->session = session;
	return session;
}

/* Returns whether no later link has taken this one's place. */
static bool is_current(const struct node_link *link)
{
	return link->session ? !link->session->superseded : link->has_writer;
}

struct agent_session *node_profiles_unused(const struct node_profiles *profiles,
					   const struct agent_session *session)
{
	for (uint32_t i = 0; i < profiles->nr_links; i++) {
		struct agent_session *other = profiles->links[i].session;

		if (other && other != session && other->host == session->host &&
		    other->received_seq == 0 && !other->superseded)
			return other;
	}
	return NULL;
}

/* Returns the link of this writer other than the given one; NULL: there is none. */
static struct node_link *find_other(struct node_profiles *profiles, const struct node_link *link,
				    const uint8_t writer[WIRE_EPOCH_SIZE])
{
	for (uint32_t i = 0; i < profiles->nr_links; i++) {
		struct node_link *other = &profiles->links[i];

		if (other != link && other->has_writer &&
		    memcmp(other->writer, writer, WIRE_EPOCH_SIZE) == 0)
			return other;
	}
	return NULL;
}

/* The link names its writer, and takes the place of an earlier one. */
static void bind(struct node_profiles *profiles, struct node_link *link,
		 const uint8_t writer[WIRE_EPOCH_SIZE], const struct agent_session **superseded)
{
	struct node_link *other = find_other(profiles, link, writer);

	memcpy(link->writer, writer, WIRE_EPOCH_SIZE);
	link->has_writer = true;
	page_set_begin(profiles->set, writer);
	if (!other)
		return;
	other->has_writer = false;
	*superseded = other->session;
	if (other->session)
		other->session->superseded = true;
}

/* ---- messages */

static int take_pages(struct node_profiles *profiles, struct node_link *link,
		      const struct message_pages *pages, uint64_t now_ns, const char **reason,
		      const struct agent_session **superseded)
{
	if (!link->has_writer) {
		bind(profiles, link, pages->writer, superseded);
		if (!profiles->new_ns)
			profiles->new_ns = later(now_ns + NODE_PROFILES_NEW_NS, profiles->rest_ns);
	}
	if (memcmp(link->writer, pages->writer, WIRE_EPOCH_SIZE) != 0) {
		*reason = "the link of another profile";
		return REFUSE_MALFORMED;
	}
	int error = page_set_take(profiles->set, pages, reason);
	if (error)
		return error == -EPROTO ? REFUSE_MALFORMED : error;
	if (!profiles->first_ns) {
		profiles->first_ns = now_ns;
		profiles->has_begun = true;
		profiles->save_ns = now_ns + NODE_PROFILES_SAVE_NS;
	}
	return 0;
}

int node_profiles_apply(struct node_profiles *profiles, struct agent_session *session,
			const struct message *message, uint64_t now_ns, const char **reason,
			const struct agent_session **superseded)
{
	struct node_link *link = &profiles->links[session->id - 1];
	int error = 0;

	assert(message_seq_get(message) == session->received_seq + 1);
	*reason = "";
	*superseded = NULL;
	if (session->ended) {
		*reason = "data after the goodbye";
		return REFUSE_MALFORMED;
	}
	if (message->type == MESSAGE_PAGES) {
		error = take_pages(profiles, link, &message->pages, now_ns, reason, superseded);
	} else if (message->type == MESSAGE_BYE) {
		session->ended = link->ended = true;
		if (link->has_writer) {
			page_set_end(profiles->set, link->writer);
			link->bye_waits = true;
			link->bye_ns = profiles->new_ns = now_ns;
		}
	} else {
		*reason = "a link sends pages alone";
		error = REFUSE_MALFORMED;
	}
	if (!error)
		session->received_seq++;
	if (!error && !link->bye_waits)
		session->durable_seq = session->received_seq;
	return error;
}

/* ---- the file */

/* A file that is written from now on has the goodbyes that have come. */
static void begin_byes(struct node_profiles *profiles)
{
	for (uint32_t i = 0; i < profiles->nr_links; i++)
		profiles->links[i].bye_is_saved = profiles->links[i].bye_waits;
}

static void end_byes(struct node_profiles *profiles, bool saved)
{
	for (uint32_t i = 0; i < profiles->nr_links; i++) {
		struct node_link *link = &profiles->links[i];

		if (!link->bye_is_saved)
			continue;
		link->bye_is_saved = false;
		link->bye_waits = !saved;
		if (saved && link->session)
			link->session->durable_seq = link->session->received_seq;
	}
}

static void note_result(struct node_profiles *profiles, int result)
{
	end_byes(profiles, result == 0);
	if (result && !profiles->has_failed)
		log_error("cannot write %s: %s; the nodes keep their profiles, and we keep trying",
			  profiles->path, strerror(-result));
	else if (!result && profiles->has_failed)
		log_notice("%s can be written again", profiles->path);
	profiles->has_failed = result != 0;
}

static void end_save(struct node_profiles *profiles, bool wait, uint64_t now_ns)
{
	int result;

	if (!page_saver_end(&profiles->saver, wait, &result))
		return;
	note_result(profiles, result);
	if (!wait)
		profiles->rest_ns =
			now_ns + NODE_PROFILES_REST_TIMES * (now_ns - profiles->began_ns);
	if (profiles->wish_is_saved)
		unlink(profiles->wanted_path);
	for (uint32_t i = 0; i < profiles->nr_links && !profiles->new_ns; i++)
		if (profiles->links[i].bye_waits)
			profiles->new_ns = now_ns + (result ? NODE_PROFILES_NEW_NS : 0);
}

/* Whether a reader waits for a new file. */
static bool is_wanted(struct node_profiles *profiles, uint64_t now_ns)
{
	if (now_ns < profiles->look_ns)
		return false;
	profiles->look_ns = now_ns + NODE_PROFILES_LOOK_NS;
	if (access(profiles->wanted_path, F_OK))
		return false;
	const bool was_watched = now_ns < profiles->watched_ns;
	profiles->watched_ns = now_ns + NODE_PROFILES_WATCHED_NS;
	if (!was_watched) {
		profiles->look_ns = now_ns + NODE_PROFILES_FRESH_NS;
		return false;
	}
	if (!page_set_changed(profiles->set))
		unlink(profiles->wanted_path); /* the file is as new as can be */
	return true;
}

static uint32_t choose_round_ms(const struct node_profiles *profiles)
{
	const uint64_t ms = 1000 * page_set_bytes(profiles->set) / NODE_PROFILES_ROUND_BYTES;

	return ms < NODE_PROFILES_ROUND_MS       ? NODE_PROFILES_ROUND_MS
	       : ms > NODE_PROFILES_ROUND_MS_MAX ? NODE_PROFILES_ROUND_MS_MAX
						 : (uint32_t)ms;
}

static bool is_new(const struct node_profiles *profiles, uint64_t now_ns)
{
	return profiles->new_ns && now_ns >= profiles->new_ns;
}

static int start_save(struct node_profiles *profiles, bool wanted, uint64_t now_ns)
{
	profiles->began_ns = now_ns;
	profiles->new_ns = 0;
	profiles->has_begun = false;
	profiles->wish_is_saved = wanted || access(profiles->wanted_path, F_OK) == 0;
	begin_byes(profiles);
	return page_saver_start(&profiles->saver);
}

void node_profiles_step(struct node_profiles *profiles, uint64_t now_ns)
{
	int result;

	end_save(profiles, false, now_ns);
	profiles->end_ns = now_ns + NODE_PROFILES_END_NS;
	if (!profiles->first_ns || profiles->saver.snapshot)
		return;
	const bool wanted = is_wanted(profiles, now_ns);
	profiles->round_ms = now_ns < profiles->watched_ns ? choose_round_ms(profiles) : 0;
	if (now_ns < profiles->save_ns && !profiles->has_begun && !is_new(profiles, now_ns) &&
	    !wanted)
		return;
	/* A node's first round may not be complete yet. */
	if (!page_set_changed(profiles->set)) {
		if (is_new(profiles, now_ns))
			profiles->new_ns = now_ns + NODE_PROFILES_NEW_NS;
	} else if ((result = start_save(profiles, wanted, now_ns)) != 0) {
		note_result(profiles, result);
		profiles->new_ns = now_ns + NODE_PROFILES_NEW_NS;
	}
	while (profiles->save_ns <= now_ns)
		profiles->save_ns += profiles->save_ns - profiles->first_ns;
}

uint64_t node_profiles_until(const struct node_profiles *profiles, uint64_t until_ns)
{
	if (!profiles->first_ns)
		return until_ns;
	/* While one is written, the next one waits, and so may goodbyes. */
	if (profiles->saver.snapshot)
		return profiles->end_ns < until_ns ? profiles->end_ns : until_ns;
	until_ns = profiles->save_ns < until_ns ? profiles->save_ns : until_ns;
	if (profiles->new_ns && profiles->new_ns < until_ns)
		until_ns = profiles->new_ns;
	return profiles->look_ns < until_ns ? profiles->look_ns : until_ns;
}

uint32_t node_profiles_round_ms(const struct node_profiles *profiles)
{
	return profiles->round_ms;
}

uint64_t node_profiles_round_bytes(uint64_t nr_links)
{
	const uint64_t bytes = NODE_PROFILES_ROUND_BYTES / 1000ull * NODE_PROFILES_ROUND_MS_MAX;
	const uint64_t share = bytes / (nr_links ? nr_links : 1);

	return share > NODE_PROFILES_LINK_MIN ? share : NODE_PROFILES_LINK_MIN;
}

int node_profiles_save(struct node_profiles *profiles)
{
	int result;

	end_save(profiles, true, 0);
	if (!page_set_changed(profiles->set))
		return 0;
	begin_byes(profiles);
	result = page_set_save(profiles->set, profiles->path);
	note_result(profiles, result);
	return result;
}

/* ---- who is there */

/* A link that has named no profile may be one of those that are awaited. Each of them is counted once. */
uint64_t node_profiles_links(const struct node_profiles *profiles)
{
	uint64_t count = 0, nameless = 0, awaited = 0;

	for (uint32_t i = 0; i < profiles->nr_links; i++) {
		const struct node_link *link = &profiles->links[i];

		if (!is_current(link))
			continue;
		count++;
		nameless += !link->has_writer;
		awaited += !link->session && !link->ended;
	}
	return count - (nameless < awaited ? nameless : awaited);
}

static uint64_t heard_ns(const struct node_link *link)
{
	if (link->ended)
		return link->bye_ns;
	return link->session ? link->session->heard_ns : 0;
}

uint64_t node_profiles_heard(const struct node_profiles *profiles, uint64_t since_ns,
			     uint64_t *open)
{
	uint64_t heard = 0;

	*open = 0;
	for (uint32_t i = 0; i < profiles->nr_links; i++) {
		const struct node_link *link = &profiles->links[i];

		if (!is_current(link) || (link->ended && !link->bye_waits))
			continue;
		++*open;
		heard += heard_ns(link) >= since_ns;
	}
	return heard;
}

uint64_t node_profiles_bytes(const struct node_profiles *profiles)
{
	return page_set_bytes(profiles->set);
}

const struct page_set *node_profiles_pages(const struct node_profiles *profiles)
{
	return profiles->set;
}

uint32_t node_profiles_count(const struct node_profiles *profiles)
{
	return profiles->nr_links;
}

struct agent_session *node_profiles_at(const struct node_profiles *profiles, uint32_t i)
{
	return is_current(&profiles->links[i]) ? profiles->links[i].session : NULL;
}
