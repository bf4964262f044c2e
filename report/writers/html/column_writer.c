#include "column_writer.h"

static void put_varint(struct column_writer *writer, uint64_t value)
{
	for (; value >= 0x80; value >>= 7)
		putc((int)(value & 0x7f) | 0x80, writer->out);
	putc((int)value, writer->out);
}

void column_writer_end(struct column_writer *writer)
{
	if (writer->zeros == 0)
		return;
	put_varint(writer, 0);
	put_varint(writer, writer->zeros - 1);
	writer->zeros = 0;
}

void column_writer_put(struct column_writer *writer, uint64_t value)
{
	if (value == 0) {
		writer->zeros++;
		return;
	}
	column_writer_end(writer);
	put_varint(writer, value);
}

void column_writer_signed(struct column_writer *writer, int64_t value)
{
	column_writer_put(writer, (uint64_t)value << 1 ^ (uint64_t)(value >> 63));
}
