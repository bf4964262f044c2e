#include "batch_list.h"

#include <errno.h>
#include <string.h>

static uint32_t *number_at(const struct message *message, size_t at)
{
	return (uint32_t *)(void *)((uint8_t *)message + at);
}

/* Returns the index of the first row that has 0 where no row may have it, or count. */
static uint32_t find_zero(const struct message_list *list, const void *rows, uint32_t count)
{
	const uint8_t *at = rows;
	uint32_t i = 0;

	if (!list->never_zero || count == 0)
		return count;
	at += list->never_zero->offset_bytes;
	if (list->never_zero->width_bytes == sizeof(uint64_t))
		while (i < count && *(const uint64_t *)(const void *)at)
			i++, at += list->row_bytes;
	else
		while (i < count && *(const uint32_t *)(const void *)at)
			i++, at += list->row_bytes;
	return i;
}

/* Returns whether rows have bytes that do not travel. */
static bool has_gaps(const struct message_list *list)
{
	size_t sent_bytes = 0;

	for (uint32_t i = 0; i < list->nr_fields; i++)
		sent_bytes += list->fields[i].width_bytes;
	return sent_bytes < list->row_bytes;
}

bool batch_list_is_left_out(const struct message_list *list, const struct message *message)
{
	return list->empty_is_left_out && *number_at(message, list->count_at) == 0;
}

void batch_list_put(struct batch_writer *writer, const struct message_list *list,
		    const struct message *message)
{
	uint32_t count = *number_at(message, list->count_at);
	const void *rows;

	memcpy(&rows, (const uint8_t *)message + list->rows_at, sizeof(rows));
	if (list->base_at)
		batch_writer_base(writer, *number_at(message, list->base_at), count);
	batch_writer_count(writer, count, list->max);
	if (writer->err)
		return;
	batch_writer_require(writer, find_zero(list, rows, count) == count);
	if (count == 0 && list->empty_without_columns) {
		batch_writer_array(writer, 0);
		return;
	}
	if (list->nr_elements == 0)
		batch_writer_array(writer, list->nr_fields);
	batch_writer_rows(writer, list->fields, list->nr_fields, rows, list->row_bytes, count);
}

void *batch_list_get(struct batch_rooms *rooms, uint32_t room, struct batch_reader *reader,
		     const struct message_list *list, struct message *message)
{
	if (list->empty_is_left_out && reader->nr_left == 0)
		return NULL;

	uint32_t base = list->base_at ? batch_reader_u32(reader, list->base_name) : 0;
	uint32_t count = batch_reader_limited(reader, list->count_name, list->max), zero;
	uint32_t nr_fields = list->nr_fields;
	struct batch_reader columns = {0};
	void *rows;

	*number_at(message, list->count_at) = count;
	if (list->base_at) {
		*number_at(message, list->base_at) = base;
		batch_reader_check_base(reader, list->base_name, base, count);
	}
	if (list->nr_elements == 0)
		columns = batch_reader_array(reader, "columns");
	rows = batch_rooms_get(rooms, reader->fault, room, count, list->row_bytes);
	memcpy((uint8_t *)message + list->rows_at, &rows, sizeof(rows));
	if (!rows && list->empty_without_columns)
		return NULL;
	for (uint32_t i = 2; i-- > 0;)
		if (list->nr_older_fields[i] && columns.nr_left <= list->nr_older_fields[i])
			nr_fields = list->nr_older_fields[i];
	if (rows && (nr_fields < list->nr_fields || has_gaps(list)))
		memset(rows, 0, count * list->row_bytes);
	batch_reader_rows(list->nr_elements ? reader : &columns, list->fields, nr_fields, rows,
			  list->row_bytes, count);
	if (reader->fault->err)
		return NULL;
	zero = find_zero(list, rows, count);
	if (zero < count)
		batch_fault_set(reader->fault, -EBADMSG, "%s is 0 in row %u",
				list->never_zero->name, zero);
	return reader->fault->err ? NULL : rows;
}
