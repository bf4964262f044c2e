/* Writes the guest's definitions and notices. It holds the lock that record_ring_define() asks for. Any thread may
 * call, but not inside a launch callback. */
#ifndef DEFINITION_WRITER_H
#define DEFINITION_WRITER_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "proto/definition.h"

struct record_ring;

struct definition_writer {
	struct record_ring *ring; /* borrowed for good */
	pthread_mutex_t lock;
};

#define DEFINITION_WRITER_INIT(record_ring)                                                        \
	((struct definition_writer){.ring = (record_ring), .lock = PTHREAD_MUTEX_INITIALIZER})

/* Appends a definition: head, then tail. Waits for the lock. Returns false if the ring has no room. */
bool definition_writer_put(struct definition_writer *writer, uint32_t type, const void *head,
			   uint32_t head_size, const void *tail, uint32_t tail_size);

/* The same for definitions that come in masses: they leave a quarter of the room to others. */
bool definition_writer_put_bulk(struct definition_writer *writer, uint32_t type, const void *head,
				uint32_t head_size, const void *tail, uint32_t tail_size);

/* Appends a definition that is only a head, and does not wait. Returns 0, -ENOSPC if the ring has no room, or -EAGAIN
 * if another thread holds the lock. */
int definition_writer_try(struct definition_writer *writer, uint32_t type, const void *head,
			  uint32_t head_size);

/* Appends a DEFINITION_NOTICE with a line of text, which is cut at 1,500 bytes. Do not call it from CUPTI's callbacks,
 * because it formats text. */
void definition_writer_notice(struct definition_writer *writer, enum definition_notice_code code,
			      int32_t value, const char *format, ...)
	__attribute__((format(printf, 4, 5)));

#endif
