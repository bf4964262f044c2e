#include "batch_reader.h"

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

void batch_fault_set(struct batch_fault *fault, int err, const char *format, ...)
{
	int length;
	va_list args;

	if (fault->err)
		return;
	fault->err = err;
	length = snprintf(fault->text, sizeof(fault->text), "%s: ", fault->message_name);
	va_start(args, format);
	vsnprintf(fault->text + length, sizeof(fault->text) - (size_t)length, format, args);
	va_end(args);
}

/* Returns the next element if it is of this type, else NULL. */
static const msgpack_object *next_of_type(struct batch_reader *reader, const char *name,
					  msgpack_object_type type)
{
	const msgpack_object *object;

	if (reader->fault->err)
		return NULL;
	if (reader->nr_left == 0) {
		batch_fault_set(reader->fault, -EBADMSG, "%s is missing", name);
		return NULL;
	}
	object = reader->next++;
	reader->nr_left--;
	if (object->type != type) {
		batch_fault_set(reader->fault, -EBADMSG, "%s is of the wrong type", name);
		return NULL;
	}
	return object;
}

uint64_t batch_reader_uint(struct batch_reader *reader, const char *name, uint64_t min,
			   uint64_t max)
{
	const msgpack_object *object = next_of_type(reader, name, MSGPACK_OBJECT_POSITIVE_INTEGER);

	if (!object)
		return 0;
	if (object->via.u64 < min || object->via.u64 > max) {
		batch_fault_set(reader->fault, -EBADMSG, "%s is out of range", name);
		return 0;
	}
	return object->via.u64;
}

uint32_t batch_reader_u32(struct batch_reader *reader, const char *name)
{
	return (uint32_t)batch_reader_uint(reader, name, 0, UINT32_MAX);
}

uint64_t batch_reader_u64(struct batch_reader *reader, const char *name)
{
	return batch_reader_uint(reader, name, 0, UINT64_MAX);
}

uint32_t batch_reader_limited(struct batch_reader *reader, const char *name, uint32_t max)
{
	uint32_t value = batch_reader_u32(reader, name);

	if (value > max) {
		batch_fault_set(reader->fault, -EMSGSIZE, "%s is above %u", name, max);
		return 0;
	}
	return value;
}

uint32_t batch_reader_id(struct batch_reader *reader, const char *name)
{
	return batch_reader_limited(reader, name, WIRE_ID_MAX);
}

uint32_t batch_reader_process_id(struct batch_reader *reader)
{
	uint32_t process_id = batch_reader_id(reader, "process_id");

	if (process_id == 0)
		batch_fault_set(reader->fault, -EBADMSG, "process_id is 0");
	return process_id;
}

uint64_t batch_reader_seq(struct batch_reader *reader)
{
	return batch_reader_uint(reader, "seq", 1, UINT64_MAX);
}

int32_t batch_reader_rank(struct batch_reader *reader, const char *name)
{
	return (int32_t)batch_reader_int(reader, name, -1, INT32_MAX);
}

void batch_reader_check_base(struct batch_reader *reader, const char *name, uint32_t base,
			     uint32_t count)
{
	if (count > 0 && base == 0)
		batch_fault_set(reader->fault, -EBADMSG, "%s is 0", name);
	if ((uint64_t)base + count > WIRE_ID_MAX + 1ull)
		batch_fault_set(reader->fault, -EMSGSIZE, "ids from %s on pass %u", name,
				WIRE_ID_MAX);
}

int64_t batch_reader_int(struct batch_reader *reader, const char *name, int64_t min, int64_t max)
{
	bool negative =
		reader->nr_left > 0 && reader->next->type == MSGPACK_OBJECT_NEGATIVE_INTEGER;
	const msgpack_object *object = next_of_type(reader, name,
						    negative ? MSGPACK_OBJECT_NEGATIVE_INTEGER
							     : MSGPACK_OBJECT_POSITIVE_INTEGER);

	if (!object)
		return 0;
	if (negative ? object->via.i64 < min : object->via.u64 > (uint64_t)max) {
		batch_fault_set(reader->fault, -EBADMSG, "%s is out of range", name);
		return 0;
	}
	return object->via.i64;
}

void batch_reader_bytes(struct batch_reader *reader, const char *name, uint8_t *out, uint32_t size)
{
	const msgpack_object *object = next_of_type(reader, name, MSGPACK_OBJECT_BIN);

	if (!object)
		return;
	if (object->via.bin.size != size)
		batch_fault_set(reader->fault, -EBADMSG, "%s has %u bytes", name,
				object->via.bin.size);
	else
		memcpy(out, object->via.bin.ptr, size);
}

struct message_text batch_reader_text(struct batch_reader *reader, const char *name)
{
	const msgpack_object *object = next_of_type(reader, name, MSGPACK_OBJECT_STR);

	if (!object)
		return (struct message_text){.data = ""};
	return (struct message_text){object->via.str.ptr, object->via.str.size};
}

uint32_t batch_reader_borrow(struct batch_reader *reader, const char *name, const uint8_t **bytes)
{
	const msgpack_object *object = next_of_type(reader, name, MSGPACK_OBJECT_BIN);

	*bytes = object && object->via.bin.size ? (const uint8_t *)object->via.bin.ptr : NULL;
	return object ? object->via.bin.size : 0;
}

struct batch_reader batch_reader_array(struct batch_reader *reader, const char *name)
{
	const msgpack_object *object = next_of_type(reader, name, MSGPACK_OBJECT_ARRAY);

	if (!object)
		return (struct batch_reader){.fault = reader->fault};
	return (struct batch_reader){reader->fault, object->via.array.ptr, object->via.array.size};
}

uint32_t batch_reader_bin(struct batch_reader *reader, const char *name, uint8_t *out, uint32_t max)
{
	const msgpack_object *object = next_of_type(reader, name, MSGPACK_OBJECT_BIN);

	if (!object)
		return 0;
	if (object->via.bin.size > max) {
		batch_fault_set(reader->fault, -EMSGSIZE, "%s has %u bytes", name,
				object->via.bin.size);
		return 0;
	}
	memcpy(out, object->via.bin.ptr, object->via.bin.size);
	return object->via.bin.size;
}

static int decode_column(const msgpack_object *object, const struct column_target *target)
{
	const msgpack_object *parts = object->via.array.ptr;

	if (object->type == MSGPACK_OBJECT_POSITIVE_INTEGER)
		return column_fill(object->via.u64, 0, target);
	if (object->type == MSGPACK_OBJECT_BIN)
		return column_decode_deltas((const uint8_t *)object->via.bin.ptr,
					    object->via.bin.size, target);
	if (object->type != MSGPACK_OBJECT_ARRAY)
		return -EBADMSG;
	if (object->via.array.size == 1 && parts[0].type == MSGPACK_OBJECT_BIN)
		return column_decode_runs((const uint8_t *)parts[0].via.bin.ptr,
					  parts[0].via.bin.size, target);
	if (object->via.array.size == 2 && parts[0].type == MSGPACK_OBJECT_POSITIVE_INTEGER &&
	    (parts[1].type == MSGPACK_OBJECT_POSITIVE_INTEGER ||
	     parts[1].type == MSGPACK_OBJECT_NEGATIVE_INTEGER))
		return column_fill(parts[0].via.u64, parts[1].via.u64, target);
	return -EBADMSG;
}

static void fail_column(struct batch_fault *fault, int err, const char *name, uint64_t max)
{
	if (err == -ERANGE && max == WIRE_ID_MAX)
		batch_fault_set(fault, -EMSGSIZE, "%s has a value above %u", name, WIRE_ID_MAX);
	else if (err == -ERANGE)
		batch_fault_set(fault, -EBADMSG, "%s has a value out of range", name);
	else
		batch_fault_set(fault, -EBADMSG, "%s is not a column of that many values", name);
}

void batch_reader_column(struct batch_reader *reader, const char *name,
			 const struct column_target *target)
{
	struct batch_fault *fault = reader->fault;
	int err;

	if (!fault->err && reader->nr_left == 0)
		batch_fault_set(fault, -EBADMSG, "%s is missing", name);
	if (fault->err)
		return;
	reader->nr_left--;
	err = decode_column(reader->next++, target);
	if (err)
		fail_column(fault, err, name, target->max);
}

void batch_reader_rows(struct batch_reader *reader, const struct event_field *fields,
		       uint32_t nr_fields, void *rows, size_t row_bytes, uint32_t count)
{
	for (uint32_t i = 0; i < nr_fields; i++)
		batch_reader_column(reader, fields[i].name,
				    &(struct column_target){
					    rows ? (uint8_t *)rows + fields[i].offset_bytes : NULL,
					    row_bytes, fields[i].width_bytes, count,
					    fields[i].max});
}
