#include "definition_writer.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

#include "proto/ring/record_ring.h"

bool definition_writer_put(struct definition_writer *writer, uint32_t type, const void *head,
			   uint32_t head_size, const void *tail, uint32_t tail_size)
{
	bool put;

	pthread_mutex_lock(&writer->lock);
	put = record_ring_define(writer->ring, type, head, head_size, tail, tail_size);
	pthread_mutex_unlock(&writer->lock);
	return put;
}

bool definition_writer_put_bulk(struct definition_writer *writer, uint32_t type, const void *head,
				uint32_t head_size, const void *tail, uint32_t tail_size)
{
	bool put;

	pthread_mutex_lock(&writer->lock);
	put = record_ring_spares(writer->ring, head_size + tail_size) &&
	      record_ring_define(writer->ring, type, head, head_size, tail, tail_size);
	pthread_mutex_unlock(&writer->lock);
	return put;
}

int definition_writer_try(struct definition_writer *writer, uint32_t type, const void *head,
			  uint32_t head_size)
{
	bool put;

	if (pthread_mutex_trylock(&writer->lock) != 0)
		return -EAGAIN;
	put = record_ring_define(writer->ring, type, head, head_size, NULL, 0);
	pthread_mutex_unlock(&writer->lock);
	return put ? 0 : -ENOSPC;
}

void definition_writer_notice(struct definition_writer *writer, enum definition_notice_code code,
			      int32_t value, const char *format, ...)
{
	const struct definition_notice head = {.code = code, .value = value};
	char text[1500];
	va_list arguments;
	int size;

	va_start(arguments, format);
	size = vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	if (size < 0)
		size = 0;
	if (size >= (int)sizeof(text))
		size = (int)sizeof(text) - 1;
	definition_writer_put(writer, DEFINITION_NOTICE, &head, sizeof(head), text, (uint32_t)size);
}
