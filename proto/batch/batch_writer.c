#include "batch_writer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

bool batch_writer_grow(void **memory, size_t *capacity, size_t size)
{
	size_t new_capacity = *capacity ? *capacity : 4096;
	void *grown;

	if (size <= *capacity)
		return true;
	while (new_capacity < size)
		new_capacity *= 2;
	grown = realloc(*memory, new_capacity);
	if (!grown)
		return false;
	*memory = grown;
	*capacity = new_capacity;
	return true;
}

void batch_writer_fail(struct batch_writer *writer, int err)
{
	if (!writer->err)
		writer->err = err;
}

static int append(void *data, const char *bytes, size_t size)
{
	struct batch_writer *writer = data;
	void *frame = writer->frame;

	if (size == 0)
		return 0;
	if (writer->err)
		return -1;
	if (size > WIRE_FRAME_MAX - writer->size) {
		batch_writer_fail(writer, -EMSGSIZE);
		return -1;
	}
	if (!batch_writer_grow(&frame, &writer->capacity, writer->size + size)) {
		batch_writer_fail(writer, -ENOMEM);
		return -1;
	}
	writer->frame = frame;
	memcpy(writer->frame + writer->size, bytes, size);
	writer->size += size;
	return 0;
}

void batch_writer_init(struct batch_writer *writer)
{
	*writer = (struct batch_writer){0};
	msgpack_packer_init(&writer->packer, writer, append);
}

void batch_writer_fini(struct batch_writer *writer)
{
	free(writer->frame);
	free(writer->packed);
}

void batch_writer_restart(struct batch_writer *writer)
{
	writer->size = 0;
	writer->nr_elements = 0;
	writer->err = 0;
}

void batch_writer_require(struct batch_writer *writer, bool allowed)
{
	if (!allowed)
		batch_writer_fail(writer, -EINVAL);
}

void batch_writer_array(struct batch_writer *writer, uint32_t nr_elements)
{
	writer->nr_elements += nr_elements;
	if (nr_elements > WIRE_ITEMS_MAX || writer->nr_elements > WIRE_ELEMENTS_MAX)
		batch_writer_fail(writer, -EMSGSIZE);
	msgpack_pack_array(&writer->packer, nr_elements);
}

void batch_writer_uint(struct batch_writer *writer, uint64_t value)
{
	msgpack_pack_uint64(&writer->packer, value);
}

void batch_writer_int(struct batch_writer *writer, int64_t value)
{
	msgpack_pack_int64(&writer->packer, value);
}

void batch_writer_bin(struct batch_writer *writer, const void *bytes, size_t size)
{
	msgpack_pack_bin(&writer->packer, size);
	msgpack_pack_bin_body(&writer->packer, bytes, size);
}

void batch_writer_text(struct batch_writer *writer, const struct message_text *text)
{
	if (text->size > WIRE_STRING_MAX) {
		batch_writer_fail(writer, -EMSGSIZE);
		return;
	}
	msgpack_pack_str(&writer->packer, text->size);
	msgpack_pack_str_body(&writer->packer, text->data, text->size);
}

static void put_packed(struct batch_writer *writer, const struct column_source *source,
		       size_t (*pack)(const struct column_source *, uint8_t *))
{
	void *packed = writer->packed;

	if (!batch_writer_grow(&packed, &writer->packed_capacity,
			       source->count * (size_t)COLUMN_VALUE_BYTES_MAX)) {
		batch_writer_fail(writer, -ENOMEM);
		return;
	}
	writer->packed = packed;
	batch_writer_bin(writer, packed, pack(source, packed));
}

void batch_writer_column(struct batch_writer *writer, const struct column_source *source)
{
	struct column_shape shape;

	if (writer->err)
		return;
	shape = column_survey(source);
	switch (shape.form) {
	case COLUMN_CONSTANT:
		batch_writer_uint(writer, shape.first);
		break;
	case COLUMN_STEPS:
		batch_writer_array(writer, 2);
		batch_writer_uint(writer, shape.first);
		batch_writer_int(writer, (int64_t)shape.step);
		break;
	case COLUMN_RUNS:
		batch_writer_array(writer, 1);
		put_packed(writer, source, column_encode_runs);
		break;
	case COLUMN_DELTAS:
		put_packed(writer, source, column_encode_deltas);
		break;
	}
}

void batch_writer_id(struct batch_writer *writer, uint32_t id)
{
	if (id > WIRE_ID_MAX)
		batch_writer_fail(writer, -EMSGSIZE);
	batch_writer_uint(writer, id);
}

void batch_writer_base(struct batch_writer *writer, uint32_t base, uint32_t count)
{
	if (count > WIRE_ITEMS_MAX || (uint64_t)base + count > WIRE_ID_MAX + 1ull)
		batch_writer_fail(writer, -EMSGSIZE);
	batch_writer_require(writer, base > 0 || count == 0);
	batch_writer_uint(writer, base);
}

void batch_writer_count(struct batch_writer *writer, uint32_t count, uint32_t max)
{
	if (count > max)
		batch_writer_fail(writer, -EMSGSIZE);
	batch_writer_uint(writer, count);
}

void batch_writer_seq(struct batch_writer *writer, uint64_t seq)
{
	batch_writer_require(writer, seq > 0);
	batch_writer_uint(writer, seq);
}

void batch_writer_fail_field(struct batch_writer *writer, const struct event_field *field)
{
	batch_writer_fail(writer, field->max == WIRE_ID_MAX ? -EMSGSIZE : -EINVAL);
}

void batch_writer_rows(struct batch_writer *writer, const struct event_field *fields,
		       uint32_t nr_fields, const void *rows, size_t row_bytes, uint32_t count)
{
	for (uint32_t i = 0; i < nr_fields && !writer->err; i++) {
		struct column_source source = {
			count ? (const uint8_t *)rows + fields[i].offset_bytes : NULL, row_bytes,
			fields[i].width_bytes, count};

		if (column_exceeds(&source, fields[i].max))
			batch_writer_fail_field(writer, &fields[i]);
		batch_writer_column(writer, &source);
	}
}
