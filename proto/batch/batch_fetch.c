#include "batch_fetch.h"

#include <errno.h>

#define JOB_ELEMENTS 5u

/* Returns whether the bytes lie in the file. */
static bool is_within(const struct message_fetch *fetch)
{
	return fetch->nr_bytes == 0 || (fetch->nr_bytes <= fetch->total_bytes &&
					fetch->offset <= fetch->total_bytes - fetch->nr_bytes);
}

static void put_job(struct batch_writer *writer, const struct message_fetch_job *job)
{
	batch_writer_require(writer, job->state < FETCH_STATES);
	batch_writer_array(writer, JOB_ELEMENTS);
	batch_writer_text(writer, &job->name);
	batch_writer_text(writer, &job->key);
	batch_writer_uint(writer, job->state);
	batch_writer_uint(writer, job->size_bytes);
	batch_writer_uint(writer, job->written_ns);
}

void batch_encode_fetch(struct batch_writer *writer, const struct message_fetch *fetch)
{
	batch_writer_require(writer, fetch->kind < FETCH_KINDS && fetch->token != 0 &&
					     fetch->file < FETCH_FILES && is_within(fetch));
	if (fetch->user.size > MESSAGE_JOB_NAME_MAX || fetch->name.size > MESSAGE_JOB_NAME_MAX ||
	    fetch->nr_bytes > WIRE_FETCH_BYTES_MAX || fetch->nr_jobs > WIRE_FETCH_JOBS_MAX)
		batch_writer_fail(writer, -EMSGSIZE);
	batch_writer_uint(writer, fetch->kind);
	batch_writer_uint(writer, fetch->token);
	batch_writer_text(writer, &fetch->user);
	batch_writer_text(writer, &fetch->name);
	batch_writer_uint(writer, fetch->file);
	batch_writer_uint(writer, fetch->offset);
	batch_writer_uint(writer, fetch->total_bytes);
	batch_writer_bin(writer, fetch->identity, sizeof(fetch->identity));
	batch_writer_bin(writer, fetch->bytes, fetch->nr_bytes);
	batch_writer_array(writer, fetch->nr_jobs);
	for (uint32_t i = 0; i < fetch->nr_jobs && !writer->err; i++)
		put_job(writer, &fetch->jobs[i]);
}

/* Reads a text of a bounded size. */
static struct message_text read_name(struct batch_reader *reader, const char *name)
{
	const struct message_text text = batch_reader_text(reader, name);

	if (text.size > MESSAGE_JOB_NAME_MAX)
		batch_fault_set(reader->fault, -EMSGSIZE, "%s is too long", name);
	return text;
}

static void read_job(struct batch_reader *parent, struct message_fetch_job *job)
{
	struct batch_reader reader = batch_reader_array(parent, "a job");

	job->name = read_name(&reader, "a job's name");
	job->key = read_name(&reader, "key");
	job->state = (uint32_t)batch_reader_uint(&reader, "state", 0, FETCH_STATES - 1);
	job->size_bytes = batch_reader_u64(&reader, "size_bytes");
	job->written_ns = batch_reader_u64(&reader, "written_ns");
}

static void read_jobs(struct batch_rooms *rooms, struct batch_reader *reader,
		      struct message_fetch *fetch)
{
	struct batch_reader list = batch_reader_array(reader, "jobs");
	struct message_fetch_job *jobs;

	if (list.nr_left > WIRE_FETCH_JOBS_MAX)
		batch_fault_set(reader->fault, -EMSGSIZE, "too many jobs");
	fetch->nr_jobs = list.nr_left;
	jobs = batch_rooms_get(rooms, reader->fault, 0, fetch->nr_jobs, sizeof(*jobs));
	for (uint32_t i = 0; jobs && i < fetch->nr_jobs; i++)
		read_job(&list, &jobs[i]);
	fetch->jobs = jobs;
}

void batch_decode_fetch(struct batch_rooms *rooms, struct batch_reader *reader,
			struct message_fetch *fetch)
{
	fetch->kind = (uint32_t)batch_reader_uint(reader, "kind", 0, FETCH_KINDS - 1);
	fetch->token = batch_reader_uint(reader, "token", 1, UINT64_MAX);
	fetch->user = read_name(reader, "user");
	fetch->name = read_name(reader, "name");
	fetch->file = (uint32_t)batch_reader_uint(reader, "file", 0, FETCH_FILES - 1);
	fetch->offset = batch_reader_u64(reader, "offset");
	fetch->total_bytes = batch_reader_u64(reader, "total_bytes");
	batch_reader_bytes(reader, "identity", fetch->identity, sizeof(fetch->identity));
	fetch->nr_bytes = batch_reader_borrow(reader, "bytes", &fetch->bytes);
	if (fetch->nr_bytes > WIRE_FETCH_BYTES_MAX)
		batch_fault_set(reader->fault, -EMSGSIZE, "too many bytes");
	if (!is_within(fetch))
		batch_fault_set(reader->fault, -EBADMSG, "bytes behind the file's end");
	read_jobs(rooms, reader, fetch);
}
