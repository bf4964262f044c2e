#include "job_download.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/error_text.h"

#define IN_FLIGHT  4u /* blocks; the aggregator takes no more of a connection (job_fetch.h) */
#define AGAIN_NS   1000000000u  /* a question without an answer comes again */
#define REACH_NS   10000000000u /* to connect, for the first time or again */
#define SILENCE_NS 30000000000u
#define WAIT_MS    100
#define JOBS_MAX   1048576u /* of a user; an aggregator that lists more does not mean it */

struct conversation;

struct slot {
	struct message_fetch question; /* token 0: free */
	uint64_t asked_ns;             /* 0: not yet */
};

struct conversation {
	const struct job_download *download;
	struct slot slots[IN_FLIGHT];
	uint64_t heard_ns; /* time of the last answer, or of the start */
	uint64_t lost_ns;  /* time when the connection was missed; 0: it is there */
	bool has_begun;    /* an answer has come */
	const char *name;  /* of the job; NULL: none */
	/* Takes an answer, and may fill free slots. 0 or -errno, with *error as the functions of job_download.h. */
	int (*take)(struct conversation *conversation, const struct message_fetch *answer,
		    char **error);
	void *context;
};

static struct message_text text_of(const char *text)
{
	return (struct message_text){text, (uint32_t)strlen(text)};
}

static bool same_text(const struct message_text *left, const struct message_text *right)
{
	return left->size == right->size &&
	       (left->size == 0 || memcmp(left->data, right->data, left->size) == 0);
}

/* Fills a free slot, if there is one. */
static bool add_question(struct conversation *conversation, struct message_fetch question)
{
	const struct job_download *download = conversation->download;

	for (uint32_t i = 0; i < IN_FLIGHT; i++) {
		struct slot *slot = &conversation->slots[i];

		if (slot->question.token)
			continue;
		question.token = download->client->token;
		question.user = text_of(download->user);
		*slot = (struct slot){.question = question};
		return true;
	}
	return false;
}

static bool has_questions(const struct conversation *conversation)
{
	for (uint32_t i = 0; i < IN_FLIGHT; i++)
		if (conversation->slots[i].question.token)
			return true;
	return false;
}

static int ask(struct conversation *conversation, uint64_t now_ns)
{
	int r = 1;

	for (uint32_t i = 0; i < IN_FLIGHT && r > 0; i++) {
		struct slot *slot = &conversation->slots[i];
		const struct message message = {.type = MESSAGE_FETCH, .fetch = slot->question};

		if (!slot->question.token || (slot->asked_ns && now_ns - slot->asked_ns < AGAIN_NS))
			continue;
		r = aggregator_client_send(conversation->download->client, &message);
		if (r > 0)
			slot->asked_ns = now_ns;
	}
	return r < 0 ? r : 0;
}

static struct slot *find_slot(struct conversation *conversation, const struct message_fetch *answer)
{
	for (uint32_t i = 0; i < IN_FLIGHT; i++) {
		struct slot *slot = &conversation->slots[i];
		const struct message_fetch *question = &slot->question;
		const uint32_t kind = question->kind == FETCH_LIST ? FETCH_JOBS : FETCH_BYTES;

		if (question->token && question->token == answer->token && kind == answer->kind &&
		    question->file == answer->file && question->offset == answer->offset &&
		    same_text(&question->name, &answer->name))
			return slot;
	}
	return NULL;
}

/* A complete job stays so. If it is not there any more, it was deleted, whatever is left of it yet. */
static int take_refusal(const struct conversation *conversation,
			const struct message_refuse *refuse, char **error)
{
	const char *name = conversation->name;
	const bool in_middle = name && conversation->has_begun;

	if (in_middle && refuse->code == REFUSE_UNDEFINED)
		return error_text_set(error, -EPERM,
				      "%s: the profile was deleted there while it was fetched",
				      name);
	return error_text_set(error, -EPERM, "%s%s%s%.*s", name ? name : "", name ? ": " : "",
			      in_middle ? "only a part of it came: " : "", (int)refuse->reason.size,
			      refuse->reason.data);
}

static int take_message(struct conversation *conversation, const struct message *message,
			char **error)
{
	struct slot *slot;

	if (message->type == MESSAGE_REFUSE)
		return take_refusal(conversation, &message->refuse, error);
	slot = message->type == MESSAGE_FETCH ? find_slot(conversation, &message->fetch) : NULL;
	if (!slot)
		return 0;
	slot->question.token = 0;
	conversation->heard_ns = clock_now_ns();
	conversation->has_begun = true;
	return conversation->take(conversation, &message->fetch, error);
}

/* 0: the conversation may go on; or -errno, with *error. */
static int check_time(struct conversation *conversation, uint64_t now_ns, char **error)
{
	const struct job_download *download = conversation->download;
	bool is_there =
		aggregator_client_has_reached(download->client) && !download->client->is_lost;

	if (*download->stopped)
		return error_text_set(error, -EINTR, "ended by a signal");
	if (is_there)
		conversation->lost_ns = 0;
	else if (!conversation->lost_ns)
		conversation->lost_ns = now_ns;
	if (!is_there && now_ns - conversation->lost_ns >= REACH_NS)
		return error_text_set(error, -ETIMEDOUT, "%s: the aggregator cannot be reached%s",
				      download->endpoint,
				      conversation->has_begun ? " any more" : "");
	if (now_ns - conversation->heard_ns >= SILENCE_NS)
		return error_text_set(error, -ETIMEDOUT,
				      "the aggregator has not answered for %u s (one of an older "
				      "version never does)",
				      (unsigned int)(SILENCE_NS / 1000000000u));
	return 0;
}

/* Asks until every question has its answer. 0 or -errno, with *error. */
static int converse(struct conversation *conversation, char **error)
{
	struct aggregator_client *client = conversation->download->client;
	struct message message;
	int r = 0;

	*error = NULL;
	conversation->heard_ns = clock_now_ns();
	while (r == 0 && has_questions(conversation)) {
		r = ask(conversation, clock_now_ns());
		if (r == 0)
			aggregator_client_wait(client, WAIT_MS);
		while (r == 0 && (r = aggregator_client_receive(client, &message)) > 0)
			r = take_message(conversation, &message, error);
		if (r == 0)
			r = check_time(conversation, clock_now_ns(), error);
	}
	client->token +=
		2; /* so that late answers are not taken for those of the next conversation */
	return r == 0 ? 0
		      : error_text_set(error, r, "%s",
				       aggregator_client_explain(client, r,
								 conversation->download->endpoint));
}

/* ---- lists */

static bool take_text(char to[static MESSAGE_JOB_NAME_MAX + 1], const struct message_text *text)
{
	if (text->size == 0 || memchr(text->data, 0, text->size))
		return false;
	memcpy(to, text->data, text->size);
	to[text->size] = '\0';
	return true;
}

static int take_job(struct job_list *list, const struct message_fetch_job *job)
{
	struct job_entry *entry;

	if (list->nr_jobs >= JOBS_MAX)
		return -EPROTO;
	if (array_reserve(&list->jobs, &list->room, (uint64_t)list->nr_jobs + 1,
			  sizeof(*list->jobs)))
		return -ENOMEM;
	entry = &list->jobs[list->nr_jobs];
	*entry = (struct job_entry){
		.state = job->state, .size_bytes = job->size_bytes, .written_ns = job->written_ns};
	if (!take_text(entry->name, &job->name) || !take_text(entry->key, &job->key) ||
	    *entry->name == '.' || strchr(entry->name, '/') ||
	    (list->nr_jobs && strcmp(entry[-1].name, entry->name) >= 0))
		return -EPROTO;
	list->nr_jobs++;
	return 0;
}

static int take_jobs(struct conversation *conversation, const struct message_fetch *answer,
		     char **error)
{
	struct job_list *list = conversation->context;
	int r = 0;

	(void)error;
	for (uint32_t i = 0; i < answer->nr_jobs && r == 0; i++)
		r = take_job(list, &answer->jobs[i]);
	if (r == 0 && answer->nr_jobs == WIRE_FETCH_JOBS_MAX)
		add_question(conversation,
			     (struct message_fetch){
				     .kind = FETCH_LIST,
				     .name = text_of(list->jobs[list->nr_jobs - 1].name)});
	return r;
}

int job_download_list(const struct job_download *download, struct job_list *list, char **error)
{
	struct conversation conversation = {
		.download = download, .take = take_jobs, .context = list};

	add_question(&conversation,
		     (struct message_fetch){.kind = FETCH_LIST, .name = text_of("")});
	return converse(&conversation, error);
}

const struct job_entry *job_list_find(const struct job_list *list, const char *text, bool *several)
{
	const struct job_entry *found[2] = {NULL, NULL}; /* by the whole key, and by its begin */
	uint32_t count[2] = {0, 0};
	const size_t size = strlen(text);

	*several = false;
	for (uint32_t i = 0; i < list->nr_jobs; i++) {
		const struct job_entry *job = &list->jobs[i];
		bool begins = strncmp(job->key, text, size) == 0;

		if (strcmp(job->name, text) == 0)
			return job;
		if (!begins || (job->key[size] && job->key[size] != '.'))
			continue;
		found[job->key[size] != '\0'] = job;
		count[job->key[size] != '\0']++;
	}
	const uint32_t which = count[0] == 0;
	*several = count[which] > 1;
	return count[which] == 1 ? found[which] : NULL;
}

/* ---- files */

struct copy {
	const char *name;
	enum fetch_file file;
	int fd;
	uint64_t next;  /* offset of the first byte that was not asked for */
	uint64_t total; /* bytes of the file, once an answer has come */
	uint8_t identity[WIRE_FETCH_IDENTITY_SIZE];
};

static void ask_for_more(struct conversation *conversation, struct copy *copy)
{
	while (copy->next < copy->total &&
	       add_question(conversation, (struct message_fetch){.kind = FETCH_READ,
								 .name = text_of(copy->name),
								 .file = copy->file,
								 .offset = copy->next}))
		copy->next += WIRE_FETCH_BYTES_MAX;
}

static int write_all(int fd, const uint8_t *bytes, size_t size, uint64_t offset)
{
	while (size) {
		ssize_t done = pwrite(fd, bytes, size, (off_t)offset);

		if (done < 0 && errno != EINTR)
			return -errno;
		if (done > 0) {
			bytes += done;
			offset += (uint64_t)done;
			size -= (size_t)done;
		}
	}
	return 0;
}

static int take_bytes(struct conversation *conversation, const struct message_fetch *answer,
		      char **error)
{
	struct copy *copy = conversation->context;
	uint64_t left = answer->total_bytes - answer->offset;

	if (copy->next == 0) { /* the first answer, to the only question */
		copy->next = WIRE_FETCH_BYTES_MAX;
		copy->total = answer->total_bytes;
		memcpy(copy->identity, answer->identity, sizeof(copy->identity));
	}
	if (answer->total_bytes != copy->total ||
	    memcmp(answer->identity, copy->identity, sizeof(copy->identity)) != 0)
		return error_text_set(
			error, -ESTALE,
			"%s: the profile changed while it was fetched: fetch it again", copy->name);
	if (answer->offset > answer->total_bytes ||
	    answer->nr_bytes != (left < WIRE_FETCH_BYTES_MAX ? left : WIRE_FETCH_BYTES_MAX))
		return -EPROTO;
	int r = write_all(copy->fd, answer->bytes, answer->nr_bytes, answer->offset);
	if (r)
		return error_text_set(error, r, "the profile cannot be written: %s", strerror(-r));
	ask_for_more(conversation, copy);
	return 0;
}

int job_download_file(const struct job_download *download, const char *name, enum fetch_file file,
		      int fd, uint64_t *bytes, char **error)
{
	struct copy copy = {.name = name, .file = file, .fd = fd};
	struct conversation conversation = {
		.download = download, .name = name, .take = take_bytes, .context = &copy};

	add_question(
		&conversation,
		(struct message_fetch){.kind = FETCH_READ, .name = text_of(name), .file = file});
	int r = converse(&conversation, error);
	*bytes = copy.total;
	return r;
}
